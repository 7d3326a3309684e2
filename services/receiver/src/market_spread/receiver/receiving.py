"""Receives a run's alerts, decisions and invalid records: reads, writes the ledger, then counts."""

import logging
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future
from itertools import compress

import numpy as np

from market_spread.common.clock import Clock
from market_spread.common.documents import json_object
from market_spread.common.errors import DeadlineError, MarketSpreadError, WrongStateError
from market_spread.common.grpc.calls import partition_offsets
from market_spread.common.kafka.client import Consumer, Partition, Record
from market_spread.common.telemetry import metrics as metric_names
from market_spread.common.telemetry.recorder import Recorder, partition_label
from market_spread.common.wire.codec import Bytes2D, Int64s, LedgerColumns, encode_ledger
from market_spread.common.wire.columns import Fields
from market_spread.common.wire.layout import ALERT, BUCKETS_MAX, DECISION, OUTPUTS_OF_TOPIC, InvalidReason, Layout
from market_spread.receiver.ledger import ALERTS, DECISIONS, INVALID, InvalidLine, Ledger, Recovered
from market_spread.receiver.matching import Matcher, Receipt
from market_spread.receiver.tally import UNREADABLE, AlertLatencies, DecisionTally, Place, RunPhase, Tally
from market_spread.v1.control_pb2 import InvalidCount, Phase, ReceiverStatusResponse, StartReceivingRequest

_POLL_S = 0.05
_TAKE_EVERY_NS = 20_000_000
_TEXT_CHARACTERS_MAX = 1024
_REASONS = frozenset(reason.name.lower() for reason in InvalidReason)
_LAYOUTS: Mapping[str, Layout] = {ALERTS: ALERT, DECISIONS: DECISION}

# A receipt behind its partition, where those of several are together.
PlacedReceipt = tuple[int, Record, int]

_log = logging.getLogger(__name__)


class _Drain(Future[dict[Partition, int]]):
    """The positions when they are at the ends that the topics have when it is first looked at."""

    ends: dict[Partition, int] | None = None


class Receiving:
    """Receives one run. `start`, then `stop`. Owns the consumer and the opened ledger from then on.

    phase: RUNNING, FINISHED or FAILED; detail: why it failed, empty otherwise.
    """

    def __init__(
        self, request: StartReceivingRequest, *, partitions: Mapping[str, int], consumer: Consumer, ledger: Ledger,
        recovered: Recovered, recorder: Recorder, clock: Clock, matcher: Matcher | None = None,
    ) -> None:  # fmt: skip
        """`partitions`: how many each topic has. What was recovered is counted here, but not in the metrics again.

        matcher: if outputs come in place of alerts; then the topic of malformed messages may be empty.
        """
        outputs = (*matcher.outputs,) if matcher else (request.alerts_topic,)
        self._ledgers = dict.fromkeys(outputs, ALERTS)
        # Of several topics in one ledger each has partitions of its own there.
        self._partitions_before = {topic: number * BUCKETS_MAX for number, topic in enumerate(outputs)}
        if request.decisions_topic:
            self._ledgers[request.decisions_topic] = DECISIONS
        self._invalid_topic, self._matcher = request.invalid_topic, matcher
        read = (*self._ledgers, *(matcher.inputs if matcher else ()), *filter(None, [request.invalid_topic]))
        self._consumer, self._ledger = consumer, ledger
        self._recorder, self._clock = recorder, clock
        self._tally = Tally(warm_up_order_id_min=request.warm_up_order_id_min)
        self._decisions = DecisionTally(warm_up_order_id_min=request.warm_up_order_id_min)
        self._positions = {(topic, partition): 0 for topic in read for partition in range(partitions[topic])}
        for begin in request.begin:
            if (begin.topic, begin.partition) in self._positions:
                self._positions[begin.topic, begin.partition] = begin.offset
        self._recover(recovered)
        self._lock = threading.Lock()
        self._drains: set[_Drain] = set()
        self._held: dict[Partition, list[Receipt]] = {}
        self._take_at_ns = 0
        self._stopping = threading.Event()
        self.phase: Phase.ValueType = Phase.PHASE_RUNNING
        self.detail = ""
        self._thread = threading.Thread(target=self.run, name="receiving", daemon=True)

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
            self._drains.add(drain)
        try:
            return drain.result(timeout_s)
        except TimeoutError:
            behind = self._behind(drain.ends or {})
            raise DeadlineError(f"the receiver did not catch up within {timeout_s:.1f} s; {behind}") from None
        finally:
            with self._lock:
                self._drains.remove(drain)

    def status(self) -> ReceiverStatusResponse:
        """What was received so far, with the final counts if it has ended."""
        phase, detail = self.phase, self.detail  # read first: what is FINISHED has its final counts
        with self._lock:
            tally, decisions = self._tally, self._decisions
            status = ReceiverStatusResponse(
                phase=phase, detail=detail, alerts=tally.alerts[RunPhase.MEASURED],
                warm_up_alerts=tally.alerts[RunPhase.WARM_UP], alerts_duplicated=tally.duplicated,
                alerts_disagreeing=tally.disagreeing, alerts_unreadable=len(tally.unreadable),
                invalid_records=len(tally.invalid),
                invalid_by_reason=[
                    InvalidCount(reason=reason, count=count)
                    for reason, count in sorted(tally.invalid_by_reason.items())
                ],
                positions=partition_offsets(self._positions), warm_up_symbols=sorted(tally.warm_up_symbols),
                decisions=decisions.decisions[RunPhase.MEASURED],
                warm_up_decisions=decisions.decisions[RunPhase.WARM_UP], decisions_duplicated=decisions.duplicated,
                decisions_unreadable=len(decisions.unreadable),
            )  # fmt: skip
            histograms = {
                "latency_histogram": tally.end_to_end[RunPhase.MEASURED].copy(),
                "append_histogram": tally.append.copy(),
                "fetch_histogram": tally.fetch.copy(),
                "decision_latency_histogram": decisions.end_to_end.copy(),
            }
        for name, histogram in histograms.items():  # outside of the lock, which receiving waits for
            setattr(status, name, histogram.encode())
        return status

    def run(self) -> None:
        try:
            self._consumer.assign(self._positions)
            while not self._stopping.is_set():
                self.receive_once()
            self._take_held()
        except Exception as error:  # ends this run, not the process; the ledger allows to go on
            self.detail = str(error) if isinstance(error, MarketSpreadError) else f"{type(error).__name__}: {error}"
            _log.exception("receiving.failed")
        finally:
            self._consumer.close()
            self._ledger.close()
            self.phase = Phase.PHASE_FAILED if self.detail else Phase.PHASE_FINISHED
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
        """Write the records that are held to the ledger, then count them.

        Non-alerts are written first. Positions are recovered from the alert ledger, so after a crash between the two
        writes they are re-read and deduplicated by offset.
        """
        held, self._held = self._held, {}
        positions = {where: of_partition[-1][0].offset + 1 for where, of_partition in held.items()}
        if self._matcher is not None:
            held = self._matcher.alerts(held)
        if not held:
            self._positions |= positions
            return
        receipts: dict[str, list[PlacedReceipt]] = {name: [] for name in (INVALID, *self._ledgers.values())}
        for (topic, partition), of_partition in held.items():
            place = self._partitions_before.get(topic, 0) + partition
            receipts[self._ledgers.get(topic, INVALID)] += [(place, *receipt) for receipt in of_partition]
        invalid_lines = [_invalid_line(*receipt) for receipt in receipts.pop(INVALID)]
        taken: dict[str, tuple[LedgerColumns, Int64s]] = {}
        for name, of_ledger in receipts.items():
            found, appended_ms, unreadable = _readable(_LAYOUTS[name], of_ledger)
            taken[name] = found, appended_ms
            invalid_lines += [_unreadable_line(name, *receipt) for receipt in unreadable]
        self._ledger.append(INVALID, b"".join(line.encode() for line in invalid_lines))
        for name, (found, _) in taken.items():
            self._ledger.append(name, encode_ledger(found.rows, found.partitions, found.offsets, found.received_us))
        alerts, appended_ms = taken[ALERTS]
        decided: tuple[Mapping[RunPhase, Int64s], int] = {}, 0
        with self._lock:
            alerted = self._tally.add_alerts(alerts.rows, alerts.received_us, appended_ms)
            if DECISIONS in taken:
                decisions, _ = taken[DECISIONS]
                decided = self._decisions.add(decisions.rows, decisions.received_us)
            before = len(self._tally.unreadable), len(self._decisions.unreadable)
            reasons = self._count_lines(invalid_lines)
            after = len(self._tally.unreadable), len(self._decisions.unreadable)
            self._positions |= positions
        self._record(*alerted, after[0] - before[0], reasons)
        if self._matcher is not None and (measured := alerted[0].get(RunPhase.MEASURED)) is not None:
            self._record_partitions(self._matcher, alerts.rows[measured.chosen], measured.end_to_end)
        self._record_decisions(*decided, after[1] - before[1])
        self._take_at_ns = self._clock.monotonic_ns() + _TAKE_EVERY_NS

    def _recover(self, recovered: Recovered) -> None:
        alerts = recovered.alerts
        unreadable = Fields.of_rows(ALERT, alerts.rows).unreadable()
        whole = slice(None) if unreadable is None else ~unreadable
        self._tally.add_alerts(alerts.rows[whole], alerts.received_us[whole])
        self._decisions.add(recovered.decisions.rows, recovered.decisions.received_us)
        self._count_lines(recovered.invalid)
        by_name = {ALERTS: recovered.alerts, DECISIONS: recovered.decisions}
        for topic, name in self._ledgers.items():
            lines, before = by_name[name], self._partitions_before.get(topic, 0)
            for partition in np.unique(lines.partitions).tolist():
                if before <= partition < before + BUCKETS_MAX:
                    last = lines.offsets[lines.partitions == partition].max()
                    self._positions[topic, partition - before] = int(last) + 1
        for line in recovered.invalid:
            if line.unreadable_alert is None and line.unreadable_decision is None:
                self._positions[self._invalid_topic, line.partition] = line.offset + 1

    def _count_lines(self, lines: list[InvalidLine]) -> Counter[str]:
        """Count what was no alert and no decision; how many new malformed messages that was, by reason."""
        reasons: Counter[str] = Counter()
        for line in lines:
            where = line.partition, line.offset
            if line.unreadable_alert is not None:
                self._tally.unreadable.add(where)
            elif line.unreadable_decision is not None:
                self._decisions.unreadable.add(where)
            else:
                reason, place = _report(line.invalid) or (UNREADABLE, (self._invalid_topic, *where, 0))
                reasons.update([reason] if self._tally.add_invalid(reason, place) else [])
        return reasons

    def _record(
        self, firsts: Mapping[RunPhase, AlertLatencies], duplicated: int, unreadable: int, reasons: Counter[str]
    ) -> None:
        record = self._recorder
        for phase, latencies in firsts.items():
            label = phase.value
            record.counter(metric_names.ALERTS, phase=label).add(len(latencies.end_to_end))
            record.histogram(metric_names.END_TO_END, phase=label).record_us(latencies.end_to_end)
            record.histogram(metric_names.SERVICE, phase=label).record_us(latencies.service)
            for stage, values_us in latencies.stages.items():
                record.histogram(metric_names.STAGE, phase=label, stage=stage).record_us(values_us)
        record.counter(metric_names.ALERTS_DUPLICATED).add(duplicated)
        record.counter(metric_names.ALERTS_UNREADABLE).add(unreadable)
        for reason, count in reasons.items():
            record.counter(metric_names.INVALID_RECORDS, reason=reason).add(count)

    def _record_partitions(self, matcher: Matcher, rows: Bytes2D, latencies_us: Int64s) -> None:
        """Of the measured outputs alone, as there may be many partitions."""
        fields, inputs, outputs = Fields.of_rows(ALERT, rows), (*matcher.inputs,), (*matcher.outputs,)
        order_id, topic, partition = (fields.number(name) for name in ("order_id", "account", "price"))
        places, of_place = np.unique([order_id // OUTPUTS_OF_TOPIC, topic, partition], axis=1, return_inverse=True)
        for number, (output, of, at) in enumerate(places.T.tolist()):
            self._recorder.histogram(
                metric_names.PARTITION_LATENCY, phase=RunPhase.MEASURED.value, topic=inputs[of],
                partition=partition_label(at, len(inputs) * len(outputs)), output=outputs[output],
            ).record_us(latencies_us[of_place == number])  # fmt: skip

    def _record_decisions(self, firsts: Mapping[RunPhase, Int64s], duplicated: int, unreadable: int) -> None:
        """Only what there is, so that a run without decisions does not show any."""
        record = self._recorder
        for phase, latencies in firsts.items():
            if len(latencies):
                record.counter(metric_names.DECISIONS, phase=phase.value).add(len(latencies))
                record.histogram(metric_names.DECISION_END_TO_END, phase=phase.value).record_us(latencies)
        if duplicated:
            record.counter(metric_names.DECISIONS_DUPLICATED).add(duplicated)
        if unreadable:
            record.counter(metric_names.DECISIONS_UNREADABLE).add(unreadable)

    def _answer_drains(self) -> None:
        with self._lock:
            waiting = [drain for drain in self._drains if not drain.done()]
        for drain in waiting:
            try:
                if drain.ends is None:
                    drain.ends = self._consumer.end_offsets(self._positions)
                waits = self._held or (self._matcher is not None and self._matcher.waits)
                at, ends = self._positions, drain.ends.items()
                # What is last before an end may be a transaction's marker, and no record: Kafka's client passes it.
                if not waits and all(at[it] >= end or self._consumer.position(it) >= end for it, end in ends):
                    drain.set_result(dict(self._positions))
            except MarketSpreadError as error:
                drain.set_exception(error)

    def _give_up_drains(self) -> None:
        reason = f"the receiver has stopped before it caught up; {self.detail}".strip("; ")
        with self._lock:
            for drain in self._drains:
                if not drain.done():
                    drain.set_exception(WrongStateError(reason))

    def _behind(self, ends: Mapping[Partition, int]) -> str:
        with self._lock:
            behind = [
                f"{topic}/{partition} is at {self._positions[topic, partition]} of {end}"
                for (topic, partition), end in sorted(ends.items())
                if self._positions[topic, partition] < end
            ]
        return ", ".join(behind) or "the broker has not said where the topics end"


def _readable(layout: Layout, receipts: list[PlacedReceipt]) -> tuple[LedgerColumns, Int64s, list[PlacedReceipt]]:
    """The messages of a layout among records, when the broker appended them, -1 if untold (n,), and what is none."""
    right = [receipt for receipt in receipts if len(receipt[1].value) == layout.width]
    fields = Fields(layout, [record.value for _, record, _ in right])
    rows, unreadable = fields.rows, fields.unreadable()
    if unreadable is not None:
        rows, right = rows[~unreadable], list(compress(right, ~unreadable))
    numbers = [
        (partition, record.offset, time_us, -1 if record.appended_ms is None else record.appended_ms)
        for partition, record, time_us in right
    ]
    partitions, offsets, received_us, appended_ms = np.array(numbers, np.int64).reshape(-1, 4).T
    messages = LedgerColumns(rows, partitions, offsets, received_us)
    if len(right) == len(receipts):
        return messages, appended_ms, []
    known = {(partition, record.offset) for partition, record, _ in right}
    return messages, appended_ms, [each for each in receipts if (each[0], each[1].offset) not in known]


def _unreadable_line(name: str, partition: int, record: Record, received_us: int) -> InvalidLine:
    text = _text(record.value)
    if name == DECISIONS:
        return InvalidLine(partition, record.offset, received_us, unreadable_decision=text)
    return InvalidLine(partition, record.offset, received_us, unreadable_alert=text)


def _invalid_line(partition: int, record: Record, received_us: int) -> InvalidLine:
    try:
        report = json_object(record.value)
    except ValueError:
        report = None
    if _report(report) is not None:
        return InvalidLine(partition, record.offset, received_us, invalid=report)
    return InvalidLine(partition, record.offset, received_us, unreadable_invalid=_text(record.value))


def _report(report: dict[str, object] | None) -> tuple[str, Place] | None:
    """The reason of the job's report, and where the message stands; None if it is no report."""
    match report:
        case {
            "reason": str(reason),
            "topic": str(topic),
            "partition": int(partition),
            "offset": int(offset),
            "position": int(position),
        } if reason in _REASONS:
            return reason, (topic, partition, offset, position)
    return None


def _text(value: bytes) -> str:
    return value[:_TEXT_CHARACTERS_MAX].decode("latin-1")
