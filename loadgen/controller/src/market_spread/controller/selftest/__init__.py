"""Measuring the rig itself: a system without Spark, watched by a witness."""
