"""The host tuner: applies, verifies and on removal restores the settings of a latency node."""

__all__ = ["config"]
