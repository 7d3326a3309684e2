"""The applications, one file each: what is computed, and nothing of Kafka, modes or checkpoints."""

__all__ = ["registry"]
