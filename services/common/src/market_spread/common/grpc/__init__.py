"""gRPC servers, and errors across a call."""
