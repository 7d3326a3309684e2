"""The controller's side of gRPC: job, senders, receivers, probes."""
