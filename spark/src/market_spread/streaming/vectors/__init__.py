"""Computations on arrays: what micro-batch mode runs in its Python workers."""
