"""What `market-spread init` writes, and the files that it writes."""

__all__ = ["write"]
