"""Decides what a run is worth: passed, failed or void, with each check's cause. Everything else only reads it."""
