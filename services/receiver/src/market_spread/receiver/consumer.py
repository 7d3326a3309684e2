"""Receives a run's alerts and invalid records: reads, writes the ledger, then counts."""

import json
import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from market_spread.common import metric_names
from market_spread.common.clock import Clock
from market_spread.common.codec import Bytes2D, Int64s
from market_spread.common.errors import DeadlineError, MarketSpreadError, WrongStateError
from market_spread.common.histogram import HdrCounts
from market_spread.common.kafka import Partition, Record
from market_spread.common.layout import ALERT, InvalidReason
from market_spread.common.ledger import encode_ledger
from market_spread.common.recording import Recorder
from market_spread.receiver.ledger import ALERTS, INVALID, InvalidLine, Ledger, Recovered
from market_spread.receiver.tally import UNREADABLE, Added, InvalidReport, RunPhase, Tally, readable_alerts
from market_spread.v1.control_pb2 import Phase

_POLL_S = 0.05
_TAKE_EVERY_NS = 20_000_000
_TEXT_CHARACTERS_MAX = 1024
_REASONS = frozenset(reason.name.lower() for reason in InvalidReason)

# A record and when it was received, Unix microseconds.
Receipt = tuple[Record, int]

_log = logging.getLogger(__name__)


class RecordConsumer(Protocol):
    """Where records come from: `common.kafka.Consumer`."""

    def assign(self, positions: Mapping[Partition, int]) -> None:
        """Read these partitions from these offsets."""

    def poll(self, timeout_s: float) -> dict[Partition, list[Record]]:
        """What has arrived."""

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The offset after the last record of each."""

    def close(self) -> None:
        """Disconnect."""


@dataclass(frozen=True, slots=True)
class Received:
    """Counts of a run so far; see ReceiverStatusResponse."""

    alerts: int
    warm_up_alerts: int
    duplicated: int
    disagreeing: int
    unreadable: int
    invalid: int
    invalid_by_reason: dict[str, int]
    positions: dict[Partition, int]
    latency: HdrCounts
    warm_up_symbols: list[str]


@dataclass(slots=True)
class _Drain:
    """Someone waits until the positions are at the ends that the topics have when it is first looked at."""

    answered: threading.Event = field(default_factory=threading.Event)
    ends: dict[Partition, int] | None = None
    error: Exception | None = None


class Receiving:
    """Receives one run. `start`, then `stop`. Owns the consumer and the opened ledger from then on."""

    def __init__(
        self,
        *,
        alerts_topic: str,
        invalid_topic: str,
        partitions: Mapping[str, int],
        consumer: RecordConsumer,
        ledger: Ledger,
        recovered: Recovered,
        warm_up_order_id_min: int,
        recorder: Recorder,
        clock: Clock,
        begin: Mapping[Partition, int] | None = None,
    ) -> None:
        """`partitions`: how many each topic has. What was recovered is counted here, but not in the metrics again.

        begin: where to begin in partitions of which nothing was recovered; at their beginning if not told.
        """
        self._alerts_topic = alerts_topic
        self._invalid_topic = invalid_topic
        self._consumer = consumer
        self._ledger = ledger
        self._recorder = recorder
        self._clock = clock
        self._tally = Tally(warm_up_order_id_min=warm_up_order_id_min)
        self._positions = {
            (topic, partition): (begin or {}).get((topic, partition), 0)
            for topic in (alerts_topic, invalid_topic)
            for partition in range(partitions[topic])
        }
        self._recover(recovered)
        self._lock = threading.Lock()
        self._drains: list[_Drain] = []
        self._held: dict[Partition, list[Receipt]] = {}
        self._take_at_ns = 0
        self._stopping = threading.Event()
        self._phase: Phase.ValueType = Phase.PHASE_RUNNING
        self._detail = ""
        self._thread = threading.Thread(target=self.run, name="receiving", daemon=True)

    @property
    def phase(self) -> Phase.ValueType:
        """RUNNING, FINISHED or FAILED."""
        return self._phase

    @property
    def detail(self) -> str:
        """Why it failed; empty otherwise."""
        return self._detail

    def start(self) -> None:
        """Begin to receive, from where the ledger ends."""
        self._thread.start()

    def stop(self) -> None:
        """End after the batch in hand."""
        self._stopping.set()
        self._thread.join()

    def drain(self, timeout_s: float) -> dict[Partition, int]:
        """Wait until all that the topics hold now is received; the positions then. DeadlineError if not in time."""
        drain = _Drain()
        with self._lock:
            self._drains.append(drain)
        answered = drain.answered.wait(timeout_s)
        with self._lock:
            if drain in self._drains:
                self._drains.remove(drain)
            positions = dict(self._positions)
        if drain.error is not None:
            raise drain.error
        if not answered:
            raise DeadlineError(f"the receiver did not catch up within {timeout_s:.1f} s; {_behind(drain, positions)}")
        return positions

    def received(self) -> Received:
        """The counts now."""
        with self._lock:
            tally = self._tally
            return Received(
                alerts=tally.alerts[RunPhase.MEASURED],
                warm_up_alerts=tally.alerts[RunPhase.WARM_UP],
                duplicated=tally.duplicated,
                disagreeing=tally.disagreeing,
                unreadable=tally.unreadable,
                invalid=tally.invalid,
                invalid_by_reason=dict(tally.invalid_by_reason),
                positions=dict(self._positions),
                latency=tally.end_to_end[RunPhase.MEASURED].copy(),
                warm_up_symbols=sorted(tally.warm_up_symbols),
            )

    def run(self) -> None:
        """Receive until stopped, on this thread."""
        try:
            self._consumer.assign(self._positions)
            while not self._stopping.is_set():
                self.receive_once()
            self._take_held()
        except Exception as error:  # ends this run, not the process; the ledger allows to go on
            self._detail = str(error) if isinstance(error, MarketSpreadError) else f"{type(error).__name__}: {error}"
            _log.exception("receiving.failed")
        finally:
            self._consumer.close()
            self._ledger.close()
            self._phase = Phase.PHASE_FAILED if self._detail else Phase.PHASE_FINISHED
            self._give_up_drains()

    def receive_once(self) -> None:
        """One poll; what it brought is taken at once, or with what comes in the next milliseconds.

        The time of receipt is the poll's. Taking costs much the same for one alert and for a hundred.
        """
        records = self._consumer.poll(_POLL_S)
        received_us = self._clock.unix_ns() // 1000
        for partition, found in records.items():
            self._held.setdefault(partition, []).extend((record, received_us) for record in found)
        if not records or self._clock.monotonic_ns() >= self._take_at_ns:
            self._take_held()
        self._answer_drains()

    def _take_held(self) -> None:
        held, self._held = self._held, {}
        if held:
            self._take(held)
            self._take_at_ns = self._clock.monotonic_ns() + _TAKE_EVERY_NS

    def _take(self, held: Mapping[Partition, list[Receipt]]) -> None:
        """Write the records to the ledger, then count them.

        What is no alert is written before the alerts: positions are recovered from the alerts, so a kill between the
        two writes makes it read again, and it is known by its offset.
        """
        alert_lines: list[bytes] = []
        alert_rows: list[Bytes2D] = [np.empty((0, ALERT.width), np.uint8)]
        times_us: list[Int64s] = [np.empty(0, np.int64)]
        invalid_lines: list[InvalidLine] = []
        for (topic, partition), receipts in held.items():
            if topic == self._invalid_topic:
                invalid_lines += [_invalid_line(partition, record, received_us) for record, received_us in receipts]
                continue
            rows, offsets, received_us, unreadable = _alerts(receipts)
            alert_rows.append(rows)
            times_us.append(received_us)
            alert_lines.append(encode_ledger(rows, partition, offsets, received_us))
            invalid_lines += [_unreadable_line(partition, record, time_us) for record, time_us in unreadable]
        self._ledger.append(INVALID, b"".join(line.encode() for line in invalid_lines))
        self._ledger.append(ALERTS, b"".join(alert_lines))
        alerts, _ = readable_alerts(np.concatenate(alert_rows), np.concatenate(times_us))
        with self._lock:
            added = self._tally.add_alerts(alerts)
            unreadable_before = self._tally.unreadable
            reasons = self._count_lines(invalid_lines)
            unreadable_new = self._tally.unreadable - unreadable_before
            self._positions |= {partition: receipts[-1][0].offset + 1 for partition, receipts in held.items()}
        self._record(added, reasons, unreadable_new)

    def _recover(self, recovered: Recovered) -> None:
        alerts, _ = readable_alerts(recovered.alerts.alert_rows, recovered.alerts.received_us)
        self._tally.add_alerts(alerts)
        self._count_lines(recovered.invalid)
        for partition in np.unique(recovered.alerts.partitions).tolist():
            last = recovered.alerts.offsets[recovered.alerts.partitions == partition].max()
            self._positions[self._alerts_topic, partition] = int(last) + 1
        for line in recovered.invalid:
            if line.unreadable_alert is None:
                self._positions[self._invalid_topic, line.partition] = line.offset + 1

    def _count_lines(self, lines: list[InvalidLine]) -> Counter[str]:
        """Count what was no alert; how many new malformed messages that was, by reason."""
        reasons: Counter[str] = Counter()
        for line in lines:
            if line.unreadable_alert is not None:
                self._tally.add_unreadable(line.partition, line.offset)
                continue
            report = _report(line.invalid) or InvalidReport(
                UNREADABLE, self._invalid_topic, line.partition, line.offset, position=0
            )
            if self._tally.add_invalid(report):
                reasons[report.reason] += 1
        return reasons

    def _record(self, added: Added, reasons: Counter[str], unreadable: int) -> None:
        record = self._recorder
        for phase, latencies in added.firsts.items():
            label = phase.value
            record.counter(metric_names.ALERTS, phase=label).add(len(latencies.end_to_end))
            record.histogram(metric_names.END_TO_END, phase=label).record_us(latencies.end_to_end)
            record.histogram(metric_names.SERVICE, phase=label).record_us(latencies.service)
            for stage, values_us in latencies.stages.items():
                record.histogram(metric_names.STAGE, phase=label, stage=stage).record_us(values_us)
        record.counter(metric_names.ALERTS_DUPLICATED).add(added.duplicated)
        record.counter(metric_names.ALERTS_UNREADABLE).add(unreadable)
        for reason, count in reasons.items():
            record.counter(metric_names.INVALID_RECORDS, reason=reason).add(count)

    def _answer_drains(self) -> None:
        with self._lock:
            waiting = list(self._drains)
        for drain in waiting:
            try:
                if drain.ends is None:
                    drain.ends = self._consumer.end_offsets(self._positions)
                if all(self._positions[partition] >= end for partition, end in drain.ends.items()):
                    drain.answered.set()
            except MarketSpreadError as error:
                drain.error = error
                drain.answered.set()

    def _give_up_drains(self) -> None:
        with self._lock:
            for drain in self._drains:
                drain.error = WrongStateError(
                    f"the receiver has stopped before it caught up; {self._detail}".strip("; ")
                )
                drain.answered.set()


def _alerts(receipts: list[Receipt]) -> tuple[Bytes2D, Int64s, Int64s, list[Receipt]]:
    """The alerts among a partition's records (n, ALERT.width), their offsets and times (n,), and what is no alert."""
    right = [receipt for receipt in receipts if len(receipt[0].value) == ALERT.width]
    rows = np.frombuffer(b"".join(record.value for record, _ in right), np.uint8).reshape(-1, ALERT.width)
    offsets = np.array([record.offset for record, _ in right], np.int64)
    received_us = np.array([time_us for _, time_us in right], np.int64)
    _, readable = readable_alerts(rows, received_us)
    alert_offsets = set(offsets[readable].tolist())
    others = [receipt for receipt in receipts if receipt[0].offset not in alert_offsets]
    return rows[readable], offsets[readable], received_us[readable], others


def _unreadable_line(partition: int, record: Record, received_us: int) -> InvalidLine:
    return InvalidLine(partition, record.offset, received_us, unreadable_alert=_text(record.value))


def _invalid_line(partition: int, record: Record, received_us: int) -> InvalidLine:
    try:
        report = json.loads(record.value)
    except ValueError:
        report = None
    if isinstance(report, dict) and _report(report) is not None:
        return InvalidLine(partition, record.offset, received_us, invalid=report)
    return InvalidLine(partition, record.offset, received_us, unreadable_invalid=_text(record.value))


def _report(report: dict[str, object] | None) -> InvalidReport | None:
    """The job's report, None if it is not one."""
    match report:
        case {
            "reason": str(reason),
            "topic": str(topic),
            "partition": int(partition),
            "offset": int(offset),
            "position": int(position),
        } if reason in _REASONS:
            return InvalidReport(reason, topic, partition, offset, position)
    return None


def _text(value: bytes) -> str:
    return value[:_TEXT_CHARACTERS_MAX].decode("latin-1")


def _behind(drain: _Drain, positions: dict[Partition, int]) -> str:
    ends = drain.ends or {}
    behind = [
        f"{topic}/{partition} is at {positions[topic, partition]} of {end}"
        for (topic, partition), end in sorted(ends.items())
        if positions[topic, partition] < end
    ]
    return ", ".join(behind) or "the broker has not said where the topics end"
