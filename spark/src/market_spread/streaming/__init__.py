"""The stream-processing job: pipelines, their modes and the applications."""
