"""Metrics-aggregators as processes, and what pushes to them."""

import json
import signal
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from market_spread.common.clock import SystemClock
from market_spread.common.config import inherited_environment, to_environment
from market_spread.common.grpc.calls import channel_to
from market_spread.common.grpc.identity import OPEN, Identity
from market_spread.common.hdr.codec import encoded_of
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import SEND_LAG
from market_spread.common.telemetry.pusher import Pusher
from market_spread.common.telemetry.recorder import Recorder
from market_spread.metrics_aggregator.service import AggregatorConfig
from market_spread.v1.metrics_pb2 import PushRequest, PushResponse
from market_spread.v1.metrics_pb2_grpc import MetricsStub
from tests.support.waiting import eventually

DEADLINE_S = 20.0


@dataclass
class Aggregator:
    """A running metrics-aggregator and where it listens."""

    process: subprocess.Popen[str]
    grpc_port: int
    http_port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.grpc_port}"

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"http://127.0.0.1:{self.http_port}{path}", timeout=DEADLINE_S)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def json(self, path: str) -> Any:
        return self.get(path).raise_for_status().json()


Launch = Callable[..., Aggregator]


def spawn(config: AggregatorConfig, identity: Identity = OPEN) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "market_spread.metrics_aggregator"],
        env={**inherited_environment(), **to_environment(config), **to_environment(identity)},
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def launcher(folder: Path) -> Iterator[Launch]:
    """Starts aggregators with the settings that it is called with, and ends them all."""
    processes: list[subprocess.Popen[str]] = []

    def launched(grpc_port: int = 0, http_port: int = 0, *, identity: Identity = OPEN, **settings: Any) -> Aggregator:
        ports_file = folder / f"ports-{len(processes)}.json"
        config = AggregatorConfig(grpc_port=grpc_port, http_port=http_port, ports_file=ports_file, **settings)
        process = spawn(config, identity)
        processes.append(process)
        eventually("the aggregator listens", lambda: ports_file.exists() or process.poll() is not None)
        ports = json.loads(ports_file.read_text())
        return Aggregator(process, ports["grpc"], ports["http"])

    try:
        yield launched
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def recorder_of(source: str) -> Recorder:
    return Recorder(source=source, clock=SystemClock(), run_id="r1")


def pusher_of(recorder: Recorder, aggregator: Aggregator) -> Pusher:
    return Pusher(recorder, aggregator.address, clock=SystemClock(), interval_s=0.05)


def taken(recorder: Recorder) -> PushRequest:
    (push,) = recorder.take()
    return push


def push_to(address: str, *pushes: PushRequest) -> list[PushResponse]:
    """Push over a stream of their own; the answers. grpc.RpcError with the status that the stream ends with."""
    with channel_to(address) as channel:
        return list(MetricsStub(channel).Push(iter(pushes), timeout=DEADLINE_S))


def data_of(aggregator: Aggregator, run_id: str = "r1") -> Any:
    """The run's data; nothing as long as it has none."""
    answer = aggregator.get(f"/api/v1/runs/{run_id}/data?points=3000")
    return {"series": [], "sources": []} if answer.status_code == 404 else answer.raise_for_status().json()


def histogram_of(total: list[Any]) -> HdrCounts:
    """What a histogram's total in the data says."""
    count, sum_us, min_us, max_us, overflow, negative, counts = total
    histogram = HdrCounts.decode(encoded_of(b64decode(counts)))
    histogram.sum_us, histogram.min_us, histogram.max_us = sum_us, min_us, max_us
    histogram.overflow, histogram.negative = overflow, negative
    assert histogram.count == count
    return histogram


def lag_count(aggregator: Aggregator) -> int:
    return sum(series["total"][0] for series in data_of(aggregator)["series"] if series["name"] == SEND_LAG.name)
