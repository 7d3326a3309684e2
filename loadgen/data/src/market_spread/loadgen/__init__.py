"""Data of the load: symbols, quotes, orders, recorded files, and the oracle that judges alerts."""

__all__ = ["columns", "market", "message_files", "messages", "oracle", "recorded", "sources"]
