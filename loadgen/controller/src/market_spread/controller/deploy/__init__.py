"""What a run runs on: the environments, and the topics that they need."""

__all__ = ["base", "kubernetes", "local", "topics"]
