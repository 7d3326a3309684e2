"""From a workload to what is sent, asked for and tolerated."""

__all__ = ["objectives", "plan", "reading", "system", "workload"]
