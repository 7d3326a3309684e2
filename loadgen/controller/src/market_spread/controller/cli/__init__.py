"""The command line: options in, exit codes out."""

__all__ = ["main"]
