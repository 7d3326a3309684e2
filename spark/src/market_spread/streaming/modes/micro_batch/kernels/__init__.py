"""Vectorised kernels of micro-batch mode."""

__all__ = ["frame_join", "frames"]
