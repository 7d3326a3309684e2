"""The aggregator over HTTP: pages, API, server-sent events."""
