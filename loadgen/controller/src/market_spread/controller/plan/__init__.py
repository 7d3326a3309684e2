"""From a workload to what is sent, asked for and tolerated."""

__all__ = ["limits", "objectives", "plan", "reading", "state_partitions", "system", "workload"]
