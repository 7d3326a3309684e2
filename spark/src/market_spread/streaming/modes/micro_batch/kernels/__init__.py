"""Vectorised kernels of micro-batch mode."""

__all__ = ["frames", "joining"]
