"""The steps of a pipeline, without and with state."""
