"""The messages' layouts, as bytes and as columns, and ledgers of them."""

__all__ = ["codec", "columns", "layout"]
