"""Offers load on a fixed open-loop schedule."""
