"""How Spark runs an application: a module a mode."""

__all__ = ["kafka_io", "mode", "registry", "rows", "support"]
