"""Java and its jars."""

__all__ = ["archives", "jars"]
