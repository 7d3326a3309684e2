"""A run from its start to its verdict: steps, resume, replay, pipelines."""
