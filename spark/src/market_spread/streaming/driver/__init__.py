"""The driver: reads its configuration, keeps the query running and answers control calls."""

__all__ = ["checkpoint", "config", "kubernetes"]
