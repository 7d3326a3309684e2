"""How Spark runs an application: a module a mode."""

__all__ = ["kafka_io", "registry", "rows", "support"]
