"""The steps of a pipeline, without and with state."""

__all__ = ["stateful", "stateless"]
