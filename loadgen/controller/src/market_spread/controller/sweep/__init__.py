"""The search for the highest rate that meets objectives."""

__all__ = ["search", "session"]
