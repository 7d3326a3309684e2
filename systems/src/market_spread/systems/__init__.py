"""The shipped systems, as files that `market-spread init` copies; nothing here is imported."""

__all__: list[str] = []
