"""A system under test that does nothing wrong but what it is told to: for a look at what the rig makes of that."""

import heapq
import multiprocessing
import sys
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from market_spread.common import kafka
from market_spread.common.clock import SystemClock
from market_spread.common.codec import Columns, decode, encode
from market_spread.common.layout import ALERT, NBBO, ORDER, WARM_UP_ORDER_ID_MIN
from market_spread.runs.environment import TOPICS

CLOCK = SystemClock()
# Whole milliseconds: a shorter one is none, and a loop that never waits takes the processor from those it talks to.
_POLL_S = 0.001
# The clients' threads answer the broker; with Python's 5 ms they would wait that long for a loop that computes.
_SWITCH_S = 0.000_1
_STOP_S = 10
_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class OneIn:
    """Of every `count` consecutive order ids, that which leaves `rest`; none of the warm-up's."""

    count: int
    rest: int

    def has(self, order_id: int) -> bool:
        return order_id % self.count == self.rest and order_id < WARM_UP_ORDER_ID_MIN


NONE = OneIn(1, 1)


@dataclass(frozen=True)
class Fault:
    """What is done to the alerts of orders; stall_s: at an order, once, nothing is done for so long."""

    delay_us: int = 0
    delayed: OneIn = NONE
    lost: OneIn = NONE
    doubled: OneIn = NONE
    stall_s: float = 0.0
    stall_after_alerts: int = 0


@dataclass
class Truth:
    """What was really done, to measured orders alone.

    held_us: from the read of an order to its alert's emission; latency_us: to there from its intended send.
    """

    held_us: dict[int, int] = field(default_factory=dict)
    latency_us: dict[int, int] = field(default_factory=dict)
    lost: int = 0
    doubled: int = 0
    stalled_us: int = 0


class NullSystem:
    """Answers orders on symbols whose newest quote is too wide, each after its delay, in a process of its own.

    `start`; `stop` returns what was really done.
    """

    def __init__(self, servers: str, partitions: int, fault: Fault) -> None:
        self._messages = _SPAWN.Value("q", 0)
        self._stopping = _SPAWN.Event()
        self._truths, theirs = _SPAWN.Pipe(duplex=False)
        arguments = (servers, partitions, fault, self._messages, self._stopping, theirs)
        self._process = _SPAWN.Process(target=_serve, args=arguments)

    @property
    def messages(self) -> int:
        """Read so far."""
        return int(self._messages.value)

    def start(self) -> None:
        self._process.start()

    def stop(self) -> Truth:
        self._stopping.set()
        truth: Truth = self._truths.recv() if self._truths.poll(_STOP_S) else Truth()
        self._process.join(_STOP_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()
        return truth


def _serve(servers: str, partitions: int, fault: Fault, messages: Any, stopping: Any, truths: Any) -> None:
    sys.setswitchinterval(_SWITCH_S)
    with (
        closing(kafka.Consumer(servers, client_id="null")) as consumer,
        closing(kafka.Producer(servers, client_id="null")) as producer,
    ):
        answers = _Answers(producer, fault)
        consumer.assign({(t, p): 0 for t in (TOPICS.nbbo, TOPICS.orders) for p in range(partitions)})
        while not stopping.is_set():
            for (topic, _), records in sorted(consumer.poll(_POLL_S).items()):
                for record in records:
                    answers.take(record.value, is_quotes=topic == TOPICS.nbbo)
            answers.emit_due()
            messages.value = answers.messages
    truths.send(answers.truth)


class _Answers:
    def __init__(self, producer: kafka.Producer, fault: Fault) -> None:
        self.truth = Truth()
        self.messages = 0
        self._producer = producer
        self._fault = fault
        self._newest: dict[bytes, tuple[int, int, int]] = {}
        self._waiting: list[tuple[int, int, Columns]] = []

    def take(self, frame: bytes, *, is_quotes: bool) -> None:
        if is_quotes:
            quotes = decode(NBBO, frame)
            values = zip(*(quotes.ints(name).tolist() for name in ("bid", "offer", "sequence")), strict=True)
            self._newest |= dict(zip(quotes.columns["symbol"].tolist(), values, strict=True))
            self.messages += len(quotes.columns["symbol"])
            return
        read_us = CLOCK.unix_ns() // 1000
        columns = decode(ORDER, frame).columns
        self.messages += len(columns["symbol"])
        for place, symbol in enumerate(columns["symbol"].tolist()):
            bid, offer, sequence = self._newest.get(symbol, (0, 0, 0))
            if offer - bid >= 500 or 40 * (offer - bid) >= bid + offer or sequence == 0:
                self._answer(columns, place, (bid, offer, sequence), read_us)

    def _answer(self, columns: Columns, place: int, quote: tuple[int, int, int], read_us: int) -> None:
        order = {name: column[place : place + 1] for name, column in columns.items()}
        order_id = int(order["order_id"][0])
        if self._fault.lost.has(order_id):
            self.truth.lost += 1
            return
        fields = {"bid": quote[0], "offer": quote[1], "quote_sequence": quote[2], "read_us": read_us}
        alert = {**order, **{name: np.array([value], np.int64) for name, value in fields.items()}}
        delay_us = self._fault.delay_us if self._fault.delayed.has(order_id) else 0
        heapq.heappush(self._waiting, (read_us + delay_us, order_id, alert))

    def emit_due(self) -> None:
        while self._waiting and self._waiting[0][0] <= CLOCK.unix_ns() // 1000:
            _, order_id, alert = heapq.heappop(self._waiting)
            if self._fault.stall_s and len(self.truth.held_us) == self._fault.stall_after_alerts:
                begin_ns = CLOCK.monotonic_ns()
                CLOCK.sleep_ns(round(self._fault.stall_s * 1e9))
                self.truth.stalled_us = (CLOCK.monotonic_ns() - begin_ns) // 1000
            self._emit(order_id, alert)
            if self._fault.doubled.has(order_id):
                self.truth.doubled += 1
                self._emit(order_id, alert)

    def _emit(self, order_id: int, alert: Columns) -> None:
        now = np.array([CLOCK.unix_ns() // 1000], np.int64)
        columns = {
            **alert, "kind": np.array([ord("A")], np.uint8), "sent_us": alert["intended_us"], "emitted_us": now,
            "symbol": np.array([alert["symbol"][0].ljust(6)], "S6"),
        }  # fmt: skip
        row = encode(ALERT, columns)[0].tobytes()
        self._producer.send(TOPICS.alerts, 0, row, (), lambda _offset, _error: None)
        if order_id >= WARM_UP_ORDER_ID_MIN:
            return
        self.truth.held_us.setdefault(order_id, int(now[0]) - int(alert["read_us"][0]))
        self.truth.latency_us.setdefault(order_id, int(now[0]) - int(alert["intended_us"][0]))
