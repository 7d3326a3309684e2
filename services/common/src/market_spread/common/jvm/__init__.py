"""Java, its jars and the log of its garbage collector."""

__all__ = ["gc_log", "jars", "java"]
