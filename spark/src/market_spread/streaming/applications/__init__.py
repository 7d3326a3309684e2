"""The applications, one file each: what it computes, and nothing about Kafka, modes or checkpoints."""

__all__ = ["registry"]
