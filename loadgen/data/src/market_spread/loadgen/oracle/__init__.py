"""What is right: which orders must be rejected, and what in a run's alerts and decisions is wrong."""

__all__ = ["decisions", "oracle", "quote_book"]
