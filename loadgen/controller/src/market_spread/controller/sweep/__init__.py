"""Many runs of one workload: the search for the highest rate that meets objectives, and random faults."""

__all__ = ["search", "session", "torture"]
