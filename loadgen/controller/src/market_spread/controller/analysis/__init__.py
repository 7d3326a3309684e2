"""The one owner of the verdict: passed, failed or void, and why."""

__all__ = ["evidence", "latency", "observed", "outputs", "result", "validity", "verdict"]
