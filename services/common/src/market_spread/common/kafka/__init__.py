"""Kafka clients and their security settings."""

__all__ = ["client", "security"]
