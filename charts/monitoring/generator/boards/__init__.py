"""The boards, one a module."""
