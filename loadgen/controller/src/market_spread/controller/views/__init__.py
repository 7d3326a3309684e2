"""What a person reads: pages, the report, progress in the terminal."""

__all__ = ["output", "progress", "report"]
