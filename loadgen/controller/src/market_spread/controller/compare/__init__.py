"""Comparing runs: two groups, pairs in turn, and a history."""

__all__ = ["ab_session", "comparison", "figures", "groups", "history", "page", "runs"]
