"""Confidence intervals, rank tests and change points."""

__all__ = ["change_points", "inference", "intervals"]
