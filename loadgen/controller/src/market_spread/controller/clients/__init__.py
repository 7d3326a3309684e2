"""The controller's side of gRPC: job, senders, receivers, probes."""

__all__ = ["probe", "services"]
