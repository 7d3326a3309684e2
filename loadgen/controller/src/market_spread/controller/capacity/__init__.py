"""A capacity plan from measured costs."""

__all__ = ["plan"]
