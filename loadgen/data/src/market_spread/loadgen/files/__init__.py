"""Recorded loads: the native file format, and FIX-like files converted to it."""

__all__ = ["fixish", "native"]
