"""The machine: what it is, whether it will do, what it was busy with."""

__all__ = ["counters", "facts", "timeline"]
