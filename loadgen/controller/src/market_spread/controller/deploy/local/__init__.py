"""The processes of a run on this machine."""

__all__ = ["broker", "command", "jvms", "services", "small_stack", "stack", "system_stack"]
