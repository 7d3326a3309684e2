"""The search for the highest rate that meets objectives."""
