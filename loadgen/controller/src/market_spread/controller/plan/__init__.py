"""From a workload to what is sent, asked for and tolerated."""

__all__ = ["faults", "objectives", "plan", "reading", "system", "workload"]
