"""The metrics-aggregator's configuration, from its environment."""

from dataclasses import dataclass
from pathlib import Path

from market_spread.metrics_aggregator.model.store import HISTORY_BYTES_MAX


@dataclass(frozen=True, slots=True)
class AggregatorConfig:
    """Where the aggregator listens and keeps what it takes. Port 0 takes a free one.

    ports_file: where to say which ports, once both are bound; runs_folder: where each run has a folder with its log,
    nothing is written if absent; history_bytes_max: memory for the intervals of runs that are pushed for, and a quarter
    of it for each finished run that is looked at; takes_pushes: false if it only shows the runs of its folder;
    allowed_hosts: names, joined by commas, that requests may be for where it does not listen on loopback alone; any if
    empty.
    """

    host: str = "127.0.0.1"
    grpc_port: int = 0
    http_port: int = 0
    ports_file: Path | None = None
    runs_folder: Path | None = None
    history_bytes_max: int = HISTORY_BYTES_MAX
    takes_pushes: bool = True
    allowed_hosts: str = ""

    def __post_init__(self) -> None:
        if self.history_bytes_max < 1_000_000:
            raise ValueError(f"history_bytes_max={self.history_bytes_max}; use at least 1000000")
