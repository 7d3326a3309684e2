"""Confidence intervals, rank tests and change points."""
