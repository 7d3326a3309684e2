"""Measuring the rig itself: a system without Spark, watched by a witness."""

__all__ = ["null_system", "session"]
