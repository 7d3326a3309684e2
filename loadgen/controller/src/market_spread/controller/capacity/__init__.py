"""A capacity plan from measured costs."""

__all__ = ["costs", "plan"]
