"""The metrics-aggregator's configuration, from its environment."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from market_spread.metrics_aggregator.model.store import HISTORY_BYTES_MAX


@dataclass(frozen=True, slots=True)
class AggregatorConfig:
    """Where the aggregator listens and keeps what it takes."""

    host: Annotated[str, "Address to listen on."] = "127.0.0.1"
    grpc_port: Annotated[int, "Port of what is pushed; 0 takes a free one."] = 0
    http_port: Annotated[int, "Port of the metrics page; 0 takes a free one."] = 0
    ports_file: Annotated[Path | None, "Where to say which ports, as JSON, once both are bound."] = None
    runs_folder: Annotated[Path | None, "Where each run's folder with its log is; unset: nothing is written."] = None
    history_bytes_max: Annotated[int, "Memory for what is pushed, and a quarter of it for each finished run."] = (
        HISTORY_BYTES_MAX
    )
    takes_pushes: Annotated[bool, "Whether it does more than show the runs of its folder."] = True
    allowed_hosts: Annotated[str, "Hosts of requests, with commas; empty: any, or on loopback its own names."] = ""

    def __post_init__(self) -> None:
        if self.history_bytes_max < 1_000_000:
            raise ValueError(f"history_bytes_max={self.history_bytes_max}; use at least 1000000")
