"""Kafka clients and their security settings."""

__all__ = ["access", "client", "finding", "security"]
