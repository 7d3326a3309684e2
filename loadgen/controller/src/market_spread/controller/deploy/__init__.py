"""What a run runs on: the environments, and the topics that they need."""
