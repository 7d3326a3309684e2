"""A run from its start to its verdict: steps, resume, replay, pipelines."""

__all__ = ["capture", "execute", "metrics_page", "pipeline", "run", "subprocess"]
