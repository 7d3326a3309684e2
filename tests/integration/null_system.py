"""A system under test that does nothing wrong but what it is told to: for a look at what the rig makes of that."""

import heapq
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from market_spread.common import kafka
from market_spread.common.clock import SystemClock
from market_spread.common.codec import Columns, decode, encode
from market_spread.common.layout import ALERT, NBBO, ORDER
from market_spread.runs.environment import TOPICS

CLOCK = SystemClock()
# Whole milliseconds: a shorter one is none, and a loop that never waits keeps the interpreter from the clients' threads,
# by milliseconds that are then taken for those of the way to the receiver.
_POLL_S = 0.001


@dataclass(frozen=True)
class Fault:
    """What is done to the alert of an order, by its id; stall_s: at an order, once, nothing is done for so long."""

    delay_us: Callable[[int], int] = lambda order_id: 0
    is_lost: Callable[[int], bool] = lambda order_id: False
    is_doubled: Callable[[int], bool] = lambda order_id: False
    stall_s: float = 0.0
    stall_after_alerts: int = 0


@dataclass
class Truth:
    """What was really done. held_us: from the read of an order to its alert's emission; latency_us: to there from its
    intended send.
    """

    held_us: dict[int, int] = field(default_factory=dict)
    latency_us: dict[int, int] = field(default_factory=dict)
    lost: int = 0
    doubled: int = 0
    stalled_us: int = 0
    messages: int = 0


class NullSystem:
    """Answers orders on symbols whose newest quote is too wide, each after its delay. `start`, then `stop`."""

    def __init__(self, servers: str, partitions: int, fault: Fault) -> None:
        self.truth = Truth()
        self._servers = servers
        self._partitions = partitions
        self._fault = fault
        self._newest: dict[bytes, tuple[int, int, int]] = {}
        self._waiting: list[tuple[int, int, Columns]] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with (
            closing(kafka.Consumer(self._servers, client_id="null")) as consumer,
            closing(kafka.Producer(self._servers, client_id="null")) as self._producer,
        ):
            consumer.assign({(t, p): 0 for t in (TOPICS.nbbo, TOPICS.orders) for p in range(self._partitions)})
            while not self._stopping.is_set():
                for (topic, _), records in sorted(consumer.poll(_POLL_S).items()):
                    for record in records:
                        self._take(record.value, is_quotes=topic == TOPICS.nbbo)
                self._emit_due()

    def _take(self, frame: bytes, *, is_quotes: bool) -> None:
        if is_quotes:
            quotes = decode(NBBO, frame)
            values = zip(*(quotes.ints(name).tolist() for name in ("bid", "offer", "sequence")), strict=True)
            self._newest |= dict(zip(quotes.columns["symbol"].tolist(), values, strict=True))
            self.truth.messages += len(quotes.columns["symbol"])
            return
        read_us = CLOCK.unix_ns() // 1000
        columns = decode(ORDER, frame).columns
        self.truth.messages += len(columns["symbol"])
        for place, symbol in enumerate(columns["symbol"].tolist()):
            bid, offer, sequence = self._newest.get(symbol, (0, 0, 0))
            if offer - bid >= 500 or 40 * (offer - bid) >= bid + offer or sequence == 0:
                self._answer(columns, place, (bid, offer, sequence), read_us)

    def _answer(self, columns: Columns, place: int, quote: tuple[int, int, int], read_us: int) -> None:
        order = {name: column[place : place + 1] for name, column in columns.items()}
        order_id = int(order["order_id"][0])
        if self._fault.is_lost(order_id):
            self.truth.lost += 1
            return
        fields = {"bid": quote[0], "offer": quote[1], "quote_sequence": quote[2], "read_us": read_us}
        alert = {**order, **{name: np.array([value], np.int64) for name, value in fields.items()}}
        heapq.heappush(self._waiting, (read_us + self._fault.delay_us(order_id), order_id, alert))

    def _emit_due(self) -> None:
        while self._waiting and self._waiting[0][0] <= CLOCK.unix_ns() // 1000:
            _, order_id, alert = heapq.heappop(self._waiting)
            if self._fault.stall_s and len(self.truth.held_us) == self._fault.stall_after_alerts:
                begin_ns = CLOCK.monotonic_ns()
                CLOCK.sleep_ns(round(self._fault.stall_s * 1e9))
                self.truth.stalled_us = (CLOCK.monotonic_ns() - begin_ns) // 1000
            self._emit(order_id, alert)
            if self._fault.is_doubled(order_id):
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
        self.truth.held_us.setdefault(order_id, int(now[0]) - int(alert["read_us"][0]))
        self.truth.latency_us.setdefault(order_id, int(now[0]) - int(alert["intended_us"][0]))
