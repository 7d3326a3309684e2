"""Java and its jars."""

__all__ = ["jars"]
