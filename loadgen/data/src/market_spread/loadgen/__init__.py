"""Data of the load: symbols, quotes, orders, recorded files, and the oracle that judges alerts."""

__all__ = ["columns", "fixish", "market", "message_files", "messages", "oracle", "recorded", "sources"]
