"""Kafka clients, their security settings, and the keys of workloads about both."""

__all__ = ["access", "client", "security"]
