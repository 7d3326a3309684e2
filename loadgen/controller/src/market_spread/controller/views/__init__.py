"""What a person reads: pages, charts, the report, progress in the terminal."""

__all__ = ["charts", "output", "progress", "report"]
