"""From a workload to what is sent, asked for and tolerated."""

__all__ = ["defaults", "limits", "objectives", "plan", "state_partitions", "workload"]
