"""The processes of a run on this machine."""

__all__ = ["broker", "command", "job_jvm", "process", "services", "stack"]
