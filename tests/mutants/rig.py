"""Wrong rigs: a right simulated system, measured by the real sender, receiver and recorder, one function of them wrong.

Nothing here is a broker or a clock: frames and alerts come when the simulation says. All else is the product, from the
load that is sent to the verdict.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from unittest.mock import patch

import numpy as np

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.kafka.client import Consumer, Done, Headers, KafkaBroker, Partition, Record
from market_spread.common.telemetry.metrics import MESSAGES_DUE
from market_spread.common.telemetry.pusher import PushDelivery, PushStream, StreamEndedError
from market_spread.common.telemetry.recorder import Recorder, pushes_missing
from market_spread.common.wire.codec import encode
from market_spread.common.wire.layout import ALERT, ORDER, SENT_HEADER
from market_spread.controller.analysis.evidence import Criterion, Verdict
from market_spread.controller.analysis.observed import Observed, alerts_of, judge
from market_spread.controller.analysis.result import Result
from market_spread.controller.analysis.validity import Seen
from market_spread.controller.analysis.verdict import result_of
from market_spread.controller.host.timeline import Series, Timeline
from market_spread.controller.plan.plan import RunPlan, orders_of, plan_of_workload, quotes_of
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.loadgen.columns import Alerts, Orders, Quotes
from market_spread.receiver.ledger import ALERTS, Ledger, ledger_path
from market_spread.receiver.receiving import Receiving
from market_spread.receiver.tally import Tally
from market_spread.sender import counts
from market_spread.sender.counts import SendCounts
from market_spread.sender.publisher import Publisher
from market_spread.sender.service import SenderService
from market_spread.v1.control_pb2 import (
    JobStatusResponse,
    SenderStatusResponse,
    StartReceivingRequest,
    StartSendingRequest,
)
from market_spread.v1.metrics_pb2 import PushRequest, PushResponse
from tests.mutants.inputs import BEGIN_US, Input
from tests.mutants.system import System
from tests.support.clock import ManualClock
from tests.support.paths import QUICK

SECONDS = 6
_STARTS_NS = {"initial": (BEGIN_US - 10_000_000) * 1000, "measured": BEGIN_US * 1000}
_RECEIVER_S = 0.05


@dataclass(frozen=True, slots=True)
class Conditions:
    """In what the rig has to work.

    late_frame_ns: for how long, in each second, the sender does not get to run; lost: of so many frames the broker
    loses one; repeated: so many orders have three alerts, the later ones with another quote; pushes_lost: at the end of
    the run before, the aggregator takes no push; behind_us: the receiver's clock.
    """

    late_frame_ns: int = 0
    lost: int = 0
    repeated: int = 0
    pushes_lost: bool = False
    behind_us: int = 0


@dataclass(frozen=True, slots=True)
class WrongRig:
    """A function of the product (of, named `what`) that is exchanged.

    wrong: made from the right one. criterion: what must be among the decisive ones, or fail to hold.
    """

    name: str
    sentence: str
    of: Any
    what: str
    wrong: Callable[[Any], Any]
    criterion: Criterion
    conditions: Conditions = Conditions()

    def install(self) -> None:
        """Make this process a wrong one."""
        setattr(self.of, self.what, self.wrong(getattr(self.of, self.what)))

    def result(self) -> Result:
        """Of a right system under the wrong rig."""
        with patch.object(self.of, self.what, self.wrong(getattr(self.of, self.what))):
            return measured(self.conditions)

    def is_found(self, result: Result) -> bool:
        """Whether the run is called failed or void, and by what is wrong."""
        return result.verdict is not Verdict.PASSED and self.criterion in result.decisive


@cache
def plan() -> RunPlan:
    """Six seconds of the market that ships."""
    workload = read_workload(QUICK, Overrides(rate_per_s=2_000, duration_s=SECONDS))
    return plan_of_workload(
        workload.changed(
            frames={"linger_ms": 8.0},
            warm_up={"settle_s": 1.0},
            limits={"late_ms": 250, "late_share": 0.9},
        )
    )


@cache
def _right() -> tuple[Input, Alerts]:
    quotes = [part for phase, ns in _STARTS_NS.items() for part in quotes_of(getattr(plan(), phase).open(ns))]
    orders = Orders.concatenate(orders_of(plan().measured.open(_STARTS_NS["measured"])))
    given = Input(Quotes.concatenate(quotes), orders)
    return given, System(hiccup_us=1_000).run(given)


def measured(conditions: Conditions = Conditions()) -> Result:
    """The result of a run of the right system, as sender, receiver and recorder have measured it."""
    _, alerts = _right()
    sent, sent_us = _sent(conditions)
    alerts = _as_sent(alerts, sent_us, conditions)
    ledger, received = _received(alerts)
    initial = plan().initial.open(0).messages
    processed = initial + sent.messages_sent - sent.messages_failed
    observed = Observed(
        started=datetime(2026, 11, 21, tzinfo=UTC),
        sent=sent,
        received=received,
        job=JobStatusResponse(messages_committed=processed, messages_processed=processed),
        starts_unix_ns=dict(_STARTS_NS),
        sent_before=initial,
        ledger=ledger,
        alerts=alerts_of(ledger),
        drained=True,
    )
    judge(plan(), observed)
    return result_of(plan(), observed, "a-run", seen=_seen(conditions))


# The sender


class Producing:
    """Acknowledges what it is given, in pairs and the later one first; keeps when each order was sent."""

    def __init__(self, lost: int) -> None:
        self.sent_us: dict[int, int] = {}
        self._lost, self._number = lost, 0
        self._ends: dict[Partition, int] = {}
        self._waiting: list[Callable[[], None]] = []

    def send(
        self, topic: str, partition: int, value: bytes, headers: Headers, done: Done, key: bytes | None = None
    ) -> None:
        self._number += 1
        if self._lost and self._number % self._lost == 0:
            self._waiting.append(lambda: done(-1, OSError("lost")))
            return
        offset = self._ends.get((topic, partition), 0)
        self._ends[topic, partition] = offset + 1
        self._waiting.append(lambda: done(offset, None))
        if topic == "orders":
            sent_us = int(dict(headers)[SENT_HEADER])
            rows = np.frombuffer(value, np.uint8).reshape(-1, ORDER.width)
            self.sent_us |= dict.fromkeys(Orders.from_rows(rows).order_id.tolist(), sent_us)
        if len(self._waiting) == 4:
            self.close()

    def close(self, timeout_s: float = 0.0) -> None:
        """A load's last frames wait for this."""
        waiting, self._waiting = self._waiting, []
        for answer in reversed(waiting):
            answer()


@dataclass(frozen=True, slots=True)
class _Broker:
    made: Producing

    def partition_counts(self, topics: list[str]) -> dict[str, int]:
        return dict.fromkeys(topics, 2)

    def producer(self, topics: list[str]) -> Producing:
        return self.made

    def consumer(self) -> Any:
        raise NotImplementedError


class _Interrupted(ManualClock):
    """A clock of a process that does not get to run for a while at the begin of each second."""

    def __init__(self, unix_ns: int, silent_ns: int) -> None:
        super().__init__(unix_ns)
        self._silent_ns = silent_ns

    def sleep_ns(self, duration_ns: int) -> None:
        super().sleep_ns(duration_ns)
        self.advance_ns(max(0, self._silent_ns - self.unix_ns() % 1_000_000_000))


def _sent(conditions: Conditions) -> tuple[SenderStatusResponse, dict[int, int]]:
    """The sender's status in the end, and when each order was sent that the broker has."""
    clock = _Interrupted(_STARTS_NS["measured"] - 500_000_000, conditions.late_frame_ns)
    producer = Producing(conditions.lost)
    service: Any = SenderService(
        broker=cast(KafkaBroker, _Broker(producer)), recorder=Recorder(source="sender", clock=clock), clock=clock
    )
    load, workload = plan().measured, plan().workload
    request = StartSendingRequest(
        run_id="a-run", source=load.source, parameters_json=load.parameters_json,
        start_unix_ns=_STARTS_NS["measured"], linger_us=round(workload.frames.linger_ms * 1000),
        frame_messages=workload.frames.messages, nbbo_topic="nbbo", orders_topic="orders",
    )  # fmt: skip

    def closed(counts: SendCounts, timeout_s: float) -> bool:
        producer.close()
        return True

    # Acknowledgements that are waited for come at once: there is no other thread.
    with (
        patch.object(SendCounts, "wait_until_closed", closed),
        patch.object(Publisher, "start", Publisher.run),
    ):
        service.Start(request, None)
    return service.Status(None, None), producer.sent_us


def _as_sent(alerts: Alerts, sent_us: Mapping[int, int], conditions: Conditions) -> Alerts:
    """The alerts of orders that were sent then: all stages come as much later."""
    alerts = alerts[np.isin(alerts.order_id, list(sent_us))]
    stamped = np.array([sent_us[order_id] for order_id in alerts.order_id.tolist()], np.int64)
    later_us = np.maximum(stamped - alerts.sent_us, 0)
    moved = {name: getattr(alerts, name) + later_us for name in ("read_us", "emitted_us", "received_us")}
    alerts = replace(alerts, sent_us=stamped, **moved)
    alerts = replace(alerts, received_us=alerts.received_us - conditions.behind_us)
    again = alerts[: conditions.repeated]
    again = replace(again, quote_sequence=again.quote_sequence + 1, received_us=again.received_us + 400_000)
    last = replace(again, received_us=again.received_us + 400_000)
    alerts = Alerts.concatenate([alerts, again, last])
    return alerts[np.argsort(alerts.received_us, kind="stable")]


# The receiver


class _Consumer:
    """Gives out alerts when they come; its polls take the time until then."""

    def __init__(self, alerts: Alerts, clock: ManualClock) -> None:
        names = (each.name for each in ALERT.fields[1:])
        rows = encode(ALERT, {name: getattr(alerts, name) for name in names})
        self._records = [Record(offset, row.tobytes()) for offset, row in enumerate(rows)]
        self._times_ns = (alerts.received_us * 1000).tolist()
        self._clock, self._next = clock, 0

    @property
    def left(self) -> bool:
        return self._next < len(self._records)

    def assign(self, positions: Mapping[Partition, int]) -> None: ...

    def poll(self, timeout_s: float) -> dict[Partition, list[Record]]:
        now_ns = self._clock.unix_ns()
        due_ns = self._times_ns[self._next] if self.left else now_ns + round(timeout_s * 1e9)
        self._clock.sleep_ns(min(due_ns - now_ns, round(timeout_s * 1e9)))
        first, now_ns = self._next, self._clock.unix_ns()
        while self.left and self._times_ns[self._next] <= now_ns:
            self._next += 1
        found = self._records[first : self._next]
        return {("alerts", 0): found} if found else {}

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return {}

    def close(self) -> None: ...


def _received(alerts: Alerts) -> tuple[bytes, Any]:
    """The ledger, and the receiver's status."""
    clock = ManualClock(int(alerts.received_us[0]) * 1000 - 1_000_000)
    consumer = _Consumer(alerts, clock)
    with TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder), "a-run")
        receiving = Receiving(
            StartReceivingRequest(alerts_topic="alerts", invalid_topic="invalid", warm_up_order_id_min=10**9),
            partitions={"alerts": 1, "invalid": 1},
            consumer=cast(Consumer, consumer),
            ledger=ledger, recovered=ledger.open(),
            recorder=Recorder(source="receiver", clock=clock), clock=clock,
        )  # fmt: skip
        while consumer.left:
            receiving.receive_once()
        receiving._take_held()
        ledger.close()
        return ledger_path(Path(folder), "a-run", ALERTS).read_bytes(), receiving.status()


# The metrics


class _Stream:
    """An aggregator that answers, or one that is away."""

    def __init__(self, taken: list[PushRequest], is_there: Callable[[], bool]) -> None:
        self._taken, self._is_there, self._owed = taken, is_there, 0

    def send(self, push: PushRequest) -> None:
        if self._is_there():
            copy = PushRequest()
            copy.CopyFrom(push)
            self._taken.append(copy)
            self._owed += 1

    def answer(self, timeout_s: float) -> PushResponse | None:
        if not self._is_there():
            raise StreamEndedError("away")
        if not self._owed:
            return None
        self._owed -= 1
        return PushResponse()

    def close(self) -> None: ...


def _seen(conditions: Conditions) -> Seen:
    """What was captured: a machine that does nothing else, and the pushes of this run and of the one before."""
    clock, taken, away = ManualClock(_STARTS_NS["initial"]), list[PushRequest](), [False]
    recorder = Recorder(source="sender", clock=clock)
    delivery = PushDelivery(lambda: cast(PushStream, _Stream(taken, lambda: not away[0])), clock=clock, pending_max=3)
    for run_id, lasts_s in (("before", 12), ("a-run", SECONDS)):
        recorder.run_id = run_id
        for second in range(lasts_s):
            away[0] = conditions.pushes_lost and run_id == "before" and second > 5
            recorder.counter(MESSAGES_DUE).add(1)
            clock.advance_ns(1_000_000_000)
            for push in recorder.take():
                delivery.keep(push)
            delivery.deliver_until(clock.monotonic_ns() + 1)
    own = [push for push in taken if push.run_id == "a-run"]
    missing = pushes_missing(
        last=max(push.sequence for push in own), seen=len(own), dropped=max(push.pushes_dropped for push in own)
    )
    begin_s = BEGIN_US // 1_000_000
    seconds = np.arange(begin_s, begin_s + SECONDS)
    cpus = Series(seconds, np.full(SECONDS, 1.0))
    timeline = Timeline({("machine", "cpus"): cpus, ("sender", "cpus"): cpus, ("controller", "cpus"): cpus})
    return Seen(timeline, ("sender",), 2, begin_s, begin_s + SECONDS, pushes=len(own), pushes_missing=missing)


# What is wrong


def _before_the_poll(right: Any) -> Any:
    def receive_once(self: Receiving) -> None:
        received_us = self._clock.unix_ns() // 1000
        for partition, found in self._consumer.poll(_RECEIVER_S).items():
            self._held.setdefault(partition, []).extend((record, received_us) for record in found)
        if self._clock.monotonic_ns() >= self._take_at_ns:
            self._take_held()

    return receive_once


def _from_the_plan(right: Any) -> Any:
    return lambda pending: (
        np.repeat(np.array(pending.sent_ns) - np.array(pending.planned_ns), pending.messages).astype(np.int64) // 1000
    )


def _newest_offset(right: Any) -> Any:
    def acknowledged(self: SendCounts, where: Partition, size: int, offset: int, sent_ns: int, now_ns: int) -> None:
        right(self, where, size, offset, sent_ns, now_ns)
        self._partitions[where].next_offset = offset + 1

    return acknowledged


def _half(right: Any) -> Any:
    """Values beyond the first half of each batch are forgotten."""
    return lambda self, values_us: right(self, values_us[: (len(values_us) + 1) // 2])


def _without_negatives(right: Any) -> Any:
    return lambda self, values_us: right(self, np.maximum(values_us, 0))


def _last_quote_stands(right: Any) -> Any:
    def sort_out(self: Tally, order_ids: Any, sequences: Any) -> Any:
        found = right(self, order_ids, sequences)
        self._quote_by_order.update(zip(order_ids.tolist(), sequences.tolist(), strict=True))
        return found

    return sort_out


def _every_alert(right: Any) -> Any:
    def sort_out(self: Tally, order_ids: Any, sequences: Any) -> Any:
        right(self, order_ids, sequences)
        return np.ones(len(order_ids), np.bool_), 0

    return sort_out


def _to_the_next_epoch(right: Any) -> Any:
    """Drops are told with whatever push is sent next."""

    def sending(self: PushDelivery) -> Any:
        own: Any = self._dropped
        self._dropped = Counter(dict.fromkeys((push.epoch_unix_ns for push in self._waiting), own.total()))
        try:
            return right(self)
        finally:
            self._dropped = own

    return sending


def _each_30th_write(right: Any) -> Any:
    numbers = itertools.count(1)
    return lambda self, name, lines: right(self, name, b"" if name == ALERTS and next(numbers) % 30 == 0 else lines)


def _not_counted(right: Any) -> Any:
    """The frame is closed, and nothing says that it was lost."""

    def failed(self: SendCounts, messages: int, size: int, reason: str, sent_ns: int, now_ns: int) -> None:
        with self._lock:
            self._close_frame(size, sent_ns, now_ns)

    return failed


def _zeros(right: Any) -> Any:
    return lambda pending: np.zeros(len(pending.sent_ns), np.int64)


def _as_planned(right: Any) -> Any:
    """A frame is stamped with its plan, however late it goes out."""

    def send(self: Publisher, frame: Any) -> None:
        now_ns = self._clock.unix_ns()
        with patch.object(
            self._clock, "unix_ns", side_effect=itertools.chain([frame.planned_ns], itertools.repeat(now_ns))
        ):
            right(self, frame)

    return send


WRONG_RIGS = (
    WrongRig(
        "receipt_before_poll", "the receipt is stamped before the poll, not after it",
        Receiving, "receive_once", _before_the_poll, Criterion.STAMPS,
    ),
    WrongRig(
        "lag_from_plan", "the sender's lag counts from the frame's plan, not from the intended time",
        counts, "_lags_us", _from_the_plan, Criterion.RIG_DISAGREES,
    ),
    WrongRig(
        "stamped_as_planned", "a frame that goes out late is stamped with its plan",
        Publisher, "_send", _as_planned, Criterion.GENERATOR_QUEUE, Conditions(late_frame_ns=700_000_000),
    ),
    WrongRig(
        "delays_of_0", "frames that go out late have no delay",
        counts, "_delays_us", _zeros, Criterion.RIG_DISAGREES, Conditions(late_frame_ns=300_000_000),
    ),
    WrongRig(
        "offset_goes_back", "the end of a partition is the last acknowledged offset, not the highest",
        SendCounts, "acknowledged", _newest_offset, Criterion.RIG_DISAGREES,
    ),
    WrongRig(
        "lost_not_counted", "frames that the broker lost are not counted",
        SendCounts, "failed", _not_counted, Criterion.RIG_DISAGREES, Conditions(lost=500),
    ),
    WrongRig(
        "half_recorded", "histograms forget half of what is recorded at once",
        HdrCounts, "record", _half, Criterion.RIG_DISAGREES,
    ),
    WrongRig(
        "negatives_forgotten", "histograms forget that latencies were negative, and the receiver's clock is behind",
        HdrCounts, "record", _without_negatives, Criterion.STAMPS, Conditions(behind_us=50_000),
    ),
    WrongRig(
        "duplicates_counted", "the receiver counts each alert of an order",
        Tally, "_sort_out", _every_alert, Criterion.RIG_DISAGREES, Conditions(repeated=5),
    ),
    WrongRig(
        "last_quote_stands", "a later duplicate replaces the quote of an order's first alert",
        Tally, "_sort_out", _last_quote_stands, Criterion.RIG_DISAGREES, Conditions(repeated=5),
    ),
    WrongRig(
        "ledger_loses", "each 30th write of the ledger is lost, and counted",
        Ledger, "append", _each_30th_write, Criterion.RIG_DISAGREES,
    ),
    WrongRig(
        "drops_on_next_epoch", "pushes that one run dropped are booked on the next one",
        PushDelivery, "_sending", _to_the_next_epoch, Criterion.MISSING_INTERVALS, Conditions(pushes_lost=True),
    ),
)  # fmt: skip


def named(name: str) -> WrongRig:
    """The wrong rig of that name."""
    (found,) = (rig for rig in WRONG_RIGS if rig.name == name)
    return found
