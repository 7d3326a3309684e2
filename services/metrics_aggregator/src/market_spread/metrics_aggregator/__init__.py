"""Merges what the processes measure, without loss, and serves it."""
