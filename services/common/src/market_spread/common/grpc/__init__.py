"""gRPC servers, and errors across a call."""

__all__ = ["calls", "identity"]
