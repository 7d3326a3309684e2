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
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.process.entry import run_main
from market_spread.common.processes import stop_event_on_signals
from market_spread.common.wire.codec import encode_ledger
from market_spread.common.wire.layout import ALERT

_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessConfig:
    """ledger: where to write, in the end, what the receiver's ledger should be."""

    bootstrap_servers: str
    ledger: Path


def serve(config: WitnessConfig) -> None:
    """Read until a signal. It shares no code with the receiver's stamps, nor a process with the null system."""
    stop, clock = stop_event_on_signals(), SystemClock()
    seen: list[tuple[bytes, int, int]] = []
    with closing(KafkaBroker(config.bootstrap_servers, "witness").consumer()) as consumer:
        consumer.assign({(TOPICS.alerts, 0): 0})
        while not stop.is_set():
            found = consumer.poll(_POLL_S)
            now_us = clock.unix_ns() // 1000
            seen += [(record.value, record.offset, now_us) for records in found.values() for record in records]
    rows = np.frombuffer(b"".join(value for value, _, _ in seen), np.uint8).reshape(-1, ALERT.width)
    offsets, received_us = np.array([numbers for _, *numbers in seen], np.int64).reshape(-1, 2).T
    write_whole(config.ledger, encode_ledger(rows, 0, offsets, received_us))


if __name__ == "__main__":
    sys.exit(run_main(lambda: serve(from_environment(WitnessConfig))))
