"""Vectorised kernels of micro-batch mode."""

__all__ = ["as_of"]
