"""A process's entry point, service frame and CPU pinning."""
