"""Wrong parts of the rig whose fault no simulated run would meet: each with the check of that part which finds it."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import numpy as np

from market_spread.common import documents
from market_spread.common.errors import UsageError
from market_spread.common.hdr.codec import HIGHEST_US
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.kafka.client import Consumer, Partition, Producer, Record
from market_spread.common.load.source import Block
from market_spread.common.telemetry.recorder import Recorder
from market_spread.common.wire.codec import encode
from market_spread.common.wire.layout import ALERT
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle import oracle
from market_spread.metrics_aggregator.http.security import Hosts
from market_spread.receiver.ledger import INVALID, Ledger
from market_spread.receiver.receiving import Receiving
from market_spread.sender.framing import FramePlan
from market_spread.sender.publisher import Publisher
from market_spread.v1.control_pb2 import ReceiverStatusResponse, StartReceivingRequest
from tests.mutants.inputs import hand_made
from tests.mutants.rig import Producing
from tests.mutants.system import System
from tests.support.clock import ManualClock
from tests.support.judging import judge


@dataclass(frozen=True, slots=True)
class WrongPart:
    """A function of the product (of, named `what`) that is exchanged. holds: what must be so, and is not with it."""

    name: str
    sentence: str
    of: Any
    what: str
    wrong: Callable[[Any], Any]
    holds: Callable[[], bool]

    def is_found(self) -> bool:
        """Whether what holds of the right part does not hold of the wrong one."""
        with patch.object(self.of, self.what, self.wrong(getattr(self.of, self.what))):
            return not self.holds()


# Merged histograms


def _overflow_forgotten(right: Any) -> Any:
    def merge(self: HdrCounts, other: HdrCounts) -> None:
        before = self.overflow
        right(self, other)
        self.overflow = before

    return merge


def _merging_loses_nothing() -> bool:
    values_us = np.array([-7, 5, HIGHEST_US + 11] * 10)
    one, whole, merged = HdrCounts(), HdrCounts(), HdrCounts()
    one.record(values_us)
    whole.record(np.concatenate([values_us, values_us]))
    merged.merge(one)
    merged.merge(one)
    names = ("count", "sum_us", "min_us", "max_us", "overflow", "negative")
    return all(getattr(merged, name) == getattr(whole, name) for name in names)


# A load that fails


class _Failing:
    """A load that is due once a millisecond, and cannot be read."""

    messages = 10_000

    def messages_due(self, unix_ns: int) -> int:
        return unix_ns // 1_000_000

    def blocks(self) -> Iterator[Block]:
        raise UsageError("the file is gone")


def _due_for_ever(right: Any) -> Any:
    return lambda self: self._load.messages_due(self._clock.unix_ns())


def _failed_load_is_due_no_longer() -> bool:
    clock = ManualClock(1_000_000_000)
    publisher = Publisher(
        _Failing(), FramePlan(nbbo_topic="nbbo", orders_topic="orders", partitions=1, linger_ns=1, frame_messages=1),
        producer=cast(Producer, Producing(0)), recorder=Recorder(source="sender", clock=clock), clock=clock,
        unacknowledged_bytes_max=1_000_000,
    )  # fmt: skip
    publisher.run()
    due = publisher.messages_due()
    clock.advance_ns(1_000_000_000)
    return publisher.messages_due() == due


# The bound of the delays


def _of_what_alerts_say(right: Any) -> Any:
    def of(alerts: Alerts, *given: Any) -> Any:
        known = right(alerts, *given)
        return replace(known, orders=replace(known.orders, intended_us=alerts.intended_us))

    return staticmethod(of)


def _alerts_cannot_widen_the_bound() -> bool:
    given = hand_made(1)
    alerts = System().run(given)
    early = replace(alerts, intended_us=alerts.intended_us - np.where(np.arange(len(alerts)) == 99, 3_600_000_000, 0))
    judgements = [judge(given.quotes, given.orders, each) for each in (alerts, early)]
    return judgements[0].delay_us == judgements[1].delay_us


# The ledger


class _Consumer:
    """One poll brings all records from the position on."""

    def __init__(self, records: list[Record]) -> None:
        self._records = records
        self._from = 0

    def assign(self, positions: Mapping[Partition, int]) -> None:
        self._from = positions["alerts", 0]

    def poll(self, timeout_s: float) -> dict[Partition, list[Record]]:
        found, self._records = self._records[self._from :], []
        return {("alerts", 0): found} if found else {}

    def end_offsets(self, partitions: Any) -> dict[Partition, int]:
        return {}

    def close(self) -> None: ...


class _KilledError(Exception):
    """The process ends here."""


class _OneWrite:
    """The operating system, until the process is killed at its second write."""

    _writes = 0

    def write(self, file: int, data: bytes) -> int:
        self._writes += 1
        if self._writes > 1:
            raise _KilledError
        return os.write(file, data)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def recorded(alerts: Alerts) -> list[Record]:
    """The records of these alerts."""
    rows = encode(ALERT, {each.name: getattr(alerts, each.name) for each in ALERT.fields[1:]})
    return [Record(offset, row.tobytes()) for offset, row in enumerate(rows)]


def received(
    folder: Path, records: list[Record], spoil: Callable[[Receiving], None] = lambda receiving: None
) -> ReceiverStatusResponse:
    """What a receiver counts of them. spoil: makes it a wrong one."""
    written, clock = Ledger(folder, "a-run"), ManualClock(1_000_000_000)
    consumer = _Consumer(records)
    receiving = Receiving(
        StartReceivingRequest(alerts_topic="alerts", invalid_topic="invalid", warm_up_order_id_min=10**9),
        partitions={"alerts": 1, "invalid": 1},
        consumer=cast(Consumer, consumer),
        ledger=written, recovered=written.open(),
        recorder=Recorder(source="receiver", clock=clock), clock=clock,
    )  # fmt: skip
    spoil(receiving)
    try:
        consumer.assign(receiving._positions)
        receiving.receive_once()
        receiving._take_held()
        return receiving.status()
    finally:
        written.close()


def _alerts_first(right: Any) -> Any:
    """What is no alert is written after the alerts of the same poll."""
    waiting: list[bytes] = []

    def append(self: Ledger, name: str, lines: bytes) -> None:
        if name == INVALID:
            waiting.append(lines)
            return
        right(self, name, lines)
        while waiting:
            right(self, INVALID, waiting.pop())

    return append


def _kill_between_two_writes_loses_nothing() -> bool:
    (alert,) = recorded(System().run(hand_made(1))[:1])
    records = [Record(0, b"no alert"), Record(1, alert.value)]
    with tempfile.TemporaryDirectory() as folder:
        with suppress(_KilledError), patch.object(documents, "os", _OneWrite()):
            received(Path(folder), records)
        found = received(Path(folder), records)
    return (found.alerts, found.alerts_unreadable) == (1, 1)


# Hosts


def _any_of_them(right: Any) -> Any:
    return lambda self, headers: any(right(self, [header]) for header in headers)


def _two_hosts_are_refused() -> bool:
    hosts, ours, theirs = Hosts("127.0.0.1"), (b"host", b"localhost"), (b"host", b"evil.example")
    return hosts.accept([ours]) and not any(map(hosts.accept, ([ours, theirs], [theirs, ours], [ours, ours], [])))


WRONG_PARTS = (
    WrongPart(
        "merge_forgets_overflow", "merged histograms forget how many values were beyond an hour",
        HdrCounts, "merge", _overflow_forgotten, _merging_loses_nothing,
    ),
    WrongPart(
        "failed_load_due", "more and more messages of a load are due after it has failed",
        Publisher, "messages_due", _due_for_ever, _failed_load_is_due_no_longer,
    ),
    WrongPart(
        "bound_from_alerts", "the bound of the delays is taken from the intended times that alerts tell",
        oracle._KnownAlerts, "of", _of_what_alerts_say, _alerts_cannot_widen_the_bound,
    ),
    WrongPart(
        "alerts_written_first", "the ledger has alerts before what came before them and is none",
        Ledger, "append", _alerts_first, _kill_between_two_writes_loses_nothing,
    ),
    WrongPart(
        "two_hosts_accepted", "a request that names two hosts is served if one of them is ours",
        Hosts, "accept", _any_of_them, _two_hosts_are_refused,
    ),
)  # fmt: skip
