"""Offers load on a fixed open-loop schedule."""

__all__ = ["service"]
