"""What the aggregator holds: runs, their series and events, in memory and on disk."""
