"""Vectorised kernels of micro-batch mode."""
