"""What the aggregator holds: runs, their series and events, in memory and on disk."""

__all__ = ["history", "hlog", "intervals", "push_validation", "run", "run_files", "series", "store"]
