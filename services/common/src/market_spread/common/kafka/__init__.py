"""Kafka clients and their security settings."""
