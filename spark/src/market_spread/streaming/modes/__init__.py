"""How Spark runs an application: a module a mode."""

__all__ = ["registry", "rows", "support"]
