"""What a sender offers: sources of load, and the schedule."""

__all__ = ["schedule", "source"]
