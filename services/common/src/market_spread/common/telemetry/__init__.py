"""Metrics: recorded in the process, pushed to the aggregator, exposed to Prometheus."""

__all__ = ["exposition", "families", "metrics", "pusher", "recorder"]
