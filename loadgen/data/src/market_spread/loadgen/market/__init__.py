"""The market that the load shows: symbols, quotes and orders, drawn from a seed."""

__all__ = ["generator", "parameters", "symbols"]
