"""Comparing runs: two groups, pairs in turn, and a history."""
