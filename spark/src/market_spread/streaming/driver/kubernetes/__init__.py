"""The job in a cluster: its entry point, executors as pods, and the lease of one driver."""

__all__ = ["entrypoint", "lease"]
