"""Confidence intervals, rank tests and change points."""

__all__ = ["inference", "intervals"]
