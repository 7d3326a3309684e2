"""The null system with faults that are told to it, and a receiver with one: `python -m`, in place of the right ones."""

import json
import os
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.config import from_environment
from market_spread.common.kafka import client as kafka
from market_spread.common.process.service import run_main
from market_spread.common.wire.layout import WARM_UP_ORDER_ID_MIN
from market_spread.controller.selftest.null_system import NullConfig, NullSystem, serve
from market_spread.receiver.__main__ import main as receive


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is done to the alerts of measured orders. Of every `one_in`, that whose id leaves the rest.

    stall_s: nothing is done for so long, once, after so many alerts; told: where to write what was done.
    """

    told: Path
    held_us: int = 0
    held_one_in: int = 50
    lost_one_in: int = 0
    doubled_one_in: int = 0
    stall_s: float = 0.0
    stall_after: int = 400


@dataclass(frozen=True, kw_only=True)
class FaultyConfig(Fault, NullConfig):
    """Of both."""


@dataclass
class Done:
    """What was really done."""

    held: int = 0
    lost: int = 0
    doubled: int = 0
    stalled_us: int = 0
    emitted: int = 0


class FaultySystem(NullSystem):
    def __init__(self, send: Any, *, clock: Clock, delay_us: int, fault: Fault, done: Done) -> None:
        super().__init__(send, clock=clock)
        self._fault, self._done, self._now = fault, done, clock

    def hold_us(self, order_id: int) -> int:
        if not _is_one(order_id, self._fault.held_one_in, 7):
            return 0
        self._done.held += 1
        return self._fault.held_us

    def emit(self, order_id: int, row: bytes) -> None:
        if order_id < WARM_UP_ORDER_ID_MIN:
            if self._fault.stall_s and self._done.emitted == self._fault.stall_after:
                begin_ns = self._now.monotonic_ns()
                self._now.sleep_ns(round(self._fault.stall_s * 1e9))
                self._done.stalled_us = (self._now.monotonic_ns() - begin_ns) // 1000
            self._done.emitted += 1
        if _is_one(order_id, self._fault.lost_one_in, 13):
            self._done.lost += 1
            return
        super().emit(order_id, row)
        if _is_one(order_id, self._fault.doubled_one_in, 29):
            self._done.doubled += 1
            super().emit(order_id, row)


def _is_one(order_id: int, one_in: int, rest: int) -> bool:
    return one_in > 0 and order_id % one_in == rest and order_id < WARM_UP_ORDER_ID_MIN


def body() -> None:
    config = from_environment(FaultyConfig)
    fault = Fault(**{field.name: getattr(config, field.name) for field in fields(Fault)})
    done = Done()
    serve(config, lambda send, **given: FaultySystem(send, **given, fault=fault, done=done))
    fault.told.write_text(json.dumps(asdict(done)))


def receive_late() -> int:
    """A receiver that does something between the arrival of an alert and its stamp."""
    poll = kafka.Consumer.poll

    def late(self: kafka.Consumer, timeout_s: float) -> Any:
        if found := poll(self, timeout_s):
            SystemClock().sleep_ns(5_000_000)
        return found

    kafka.Consumer.poll = late  # type: ignore[method-assign]
    return receive()


if __name__ == "__main__":
    sys.exit(receive_late() if "MARKET_SPREAD_TOLD" not in os.environ else run_main(body))
