"""What the processes of Market Spread share. Importing this package imports nothing else."""

__all__ = [
    "clock", "config", "documents", "errors", "grpc", "hdr", "job_contract", "jvm", "kafka", "kubernetes", "load",
    "logs", "process", "processes", "schema", "telemetry", "user_functions", "wire", "words",
]  # fmt: skip
