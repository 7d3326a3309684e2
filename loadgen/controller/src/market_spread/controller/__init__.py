"""Carries a run from its workload file to its run document; the command line."""

__all__ = ["cli", "plan", "selftest", "views"]
