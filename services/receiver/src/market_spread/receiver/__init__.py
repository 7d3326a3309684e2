"""Takes alerts and malformed messages, removes duplicates, keeps the ledger."""

__all__ = ["service"]
