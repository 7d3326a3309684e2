"""Real-Time Mode: how a pipeline becomes a query of it."""

__all__ = ["compile"]
