"""How Spark runs an application: a module a mode."""
