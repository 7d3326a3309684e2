"""Micro-batch mode: how a pipeline becomes a query of it."""

__all__ = ["compile"]
