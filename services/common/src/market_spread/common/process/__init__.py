"""A process's entry point, service frame and CPU pinning."""

__all__ = ["entry", "pinning", "service"]
