"""Pipelines as plans of Spark: a module a mode."""
