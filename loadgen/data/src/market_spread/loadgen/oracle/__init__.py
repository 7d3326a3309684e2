"""What is right: which orders must be rejected, and what in a run's alerts and decisions is wrong."""

__all__ = ["decisions", "files", "judgement", "oracle", "quote_book"]
