"""Reads the alerts beside the receiver and writes down when they came: what the receiver says is held against it."""

import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from market_spread.common.clock import SystemClock
from market_spread.common.config import from_environment
from market_spread.common.documents import write_whole
from market_spread.common.job_contract import TOPICS
from market_spread.common.kafka.client import Consumer
from market_spread.common.process.entry import run_main
from market_spread.common.processes import stop_event_on_signals
from market_spread.common.wire.layout import ALERT
from market_spread.common.wire.ledger import encode_ledger

_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessConfig:
    """ledger: where to write, in the end, what the receiver's ledger should be."""

    bootstrap_servers: str
    ledger: Path


def serve(config: WitnessConfig) -> None:
    """Read until a signal. It shares no code with the receiver's stamps, nor a process with the null system."""
    stop, clock = stop_event_on_signals(), SystemClock()
    values: list[bytes] = []
    offsets: list[int] = []
    received_us: list[int] = []
    with closing(Consumer(config.bootstrap_servers, client_id="witness")) as consumer:
        consumer.assign({(TOPICS.alerts, 0): 0})
        while not stop.is_set():
            found = consumer.poll(_POLL_S)
            now_us = clock.unix_ns() // 1000
            for record in (record for records in found.values() for record in records):
                values.append(record.value)
                offsets.append(record.offset)
                received_us.append(now_us)
    rows = np.frombuffer(b"".join(values), np.uint8).reshape(-1, ALERT.width)
    write_whole(config.ledger, encode_ledger(rows, 0, np.array(offsets, np.int64), np.array(received_us, np.int64)))


if __name__ == "__main__":
    sys.exit(run_main(lambda: serve(from_environment(WitnessConfig))))
