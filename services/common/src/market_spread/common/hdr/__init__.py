"""HDR histograms and their encoding."""

__all__ = ["codec", "histogram"]
