"""How Spark runs an application: a module a mode."""

__all__ = ["mode", "registry", "rows", "support"]
