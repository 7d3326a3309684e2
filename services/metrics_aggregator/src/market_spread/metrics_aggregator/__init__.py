"""Merges what the processes measure, without loss, and serves it."""

__all__ = ["http", "model", "page", "prometheus_view", "service"]
