"""The aggregator over HTTP: pages, API, server-sent events."""

__all__ = ["app", "archive", "run_json", "security", "updates"]
