"""Jobs that are no Spark: one loop over the real topics, in which each has a state of its own, right or wrong.

Of a wrong key, or of a state that goes back, Spark's aggregate can only be given the fault by a job for each.
Here all read what the loop reads, when it does, and write their alerts to topics of their own.
"""

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from market_spread.common.clock import SystemClock
from market_spread.common.errors import MarketSpreadError
from market_spread.common.job_contract import TOPICS
from market_spread.common.kafka.client import KafkaBroker, Partition, Record
from market_spread.common.wire.codec import Bytes2D, Int64s
from market_spread.common.wire.layout import ALERT, NBBO, ORDER, WARM_UP_ORDER_ID_MIN, Layout
from market_spread.loadgen.columns import Alerts, Orders, Quotes
from tests.mutants.on_the_way import encoded
from tests.mutants.system import rejected

_CLOCK = SystemClock()
_POLL_S = 0.02
_CHANGE_S = 6.0
# Bid, offer and sequence; zeros where a symbol has no quote.
Quote = tuple[int, int, int]
_NONE: Quote = (0, 0, 0)


class Job:
    """The newest quote of each symbol, and what each order meets. Times are seconds of the load, below 0 before it."""

    name: ClassVar[str] = "right_loop"
    sentence: ClassVar[str] = "the newest quote of each symbol decides"

    def __init__(self) -> None:
        self.state: dict[bytes, Quote] = {}

    @classmethod
    def topic(cls) -> str:
        """Where its alerts go."""
        return f"alerts-loop-{cls.name}"

    def tell_time(self, now_s: float) -> None:
        """It is so late; told before what was read then."""

    def take(self, symbol: bytes, quote: Quote, now_s: float) -> None:
        """A quote is read."""
        self.state[symbol] = quote

    def asked(self, symbol: bytes, now_s: float) -> Quote:
        """What an order of the symbol meets."""
        return self.state.get(symbol, _NONE)


class _OfSomeSymbols(Job):
    """The fault is in the first `count` symbols that have an order in the load which is rejected."""

    count: ClassVar[int]

    def __init__(self) -> None:
        super().__init__()
        self.symbols: list[bytes] = []

    def asked(self, symbol: bytes, now_s: float) -> Quote:
        right = super().asked(symbol, now_s)
        if now_s >= 0 and len(self.symbols) < self.count and symbol not in self.symbols and rejected(*right[:2]):  # type: ignore[arg-type]
            self.symbols.append(symbol)
        return right


class _OneKeyFrozen(_OfSomeSymbols):
    name, sentence, count = "one_key_frozen", "one symbol's quote is used for ever", 1

    def take(self, symbol: bytes, quote: Quote, now_s: float) -> None:
        if symbol not in self.symbols:
            super().take(symbol, quote, now_s)


class _Swapped(_OfSomeSymbols):
    name, sentence, count = "swapped", "two symbols are exchanged", 2

    def asked(self, symbol: bytes, now_s: float) -> Quote:
        right = super().asked(symbol, now_s)
        if len(self.symbols) < self.count or symbol not in self.symbols:
            return right
        return self.state.get(self.symbols[1 - self.symbols.index(symbol)], _NONE)


class _WrongKey(_OfSomeSymbols):
    name, sentence, count = "wrong_key", "orders of one symbol are looked up under another", 2

    def asked(self, symbol: bytes, now_s: float) -> Quote:
        right = super().asked(symbol, now_s)
        return self.state.get(self.symbols[-1], _NONE) if symbol in self.symbols[:1] else right


class _PrefixKey(Job):
    name, sentence = "prefix_key", "orders are looked up under the first two letters of their symbol"

    def asked(self, symbol: bytes, now_s: float) -> Quote:
        return super().asked(symbol[:2].ljust(len(symbol)), now_s)


class _InitialLost(Job):
    name, sentence = "initial_lost", "initial quotes are lost"

    def take(self, symbol: bytes, quote: Quote, now_s: float) -> None:
        if now_s >= 0:
            super().take(symbol, quote, now_s)


class _Late(Job):
    name, sentence = "all_late_by_1_s", "quotes are applied 1 s late"
    late_s: ClassVar[float] = 1.0

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[tuple[float, bytes, Quote]] = deque()

    def tell_time(self, now_s: float) -> None:
        while self._waiting and self._waiting[0][0] <= now_s:
            _, symbol, quote = self._waiting.popleft()
            super().take(symbol, quote, now_s)

    def take(self, symbol: bytes, quote: Quote, now_s: float) -> None:
        if now_s >= 0 and self.is_late(symbol):
            self._waiting.append((now_s + self.late_s, symbol, quote))
        else:
            super().take(symbol, quote, now_s)

    def is_late(self, symbol: bytes) -> bool:
        """Whether quotes of the symbol are late."""
        return True


class _SomeLate(_Late):
    name, sentence = "some_late_by_1_s", "quotes of a quarter of the symbols are applied 1 s late"

    def is_late(self, symbol: bytes) -> bool:
        return sum(symbol) % 4 == 1


class _OneBehind(Job):
    name, sentence = "one_behind", "the last quote but one is used"

    def __init__(self) -> None:
        super().__init__()
        self._newest: dict[bytes, Quote] = {}

    def take(self, symbol: bytes, quote: Quote, now_s: float) -> None:
        super().take(symbol, quote if now_s < 0 else self._newest.get(symbol, quote), now_s)
        self._newest[symbol] = quote


class _LostAtBoundary(Job):
    name, sentence = "lost_at_boundary", "the state is empty after a batch"

    def __init__(self) -> None:
        super().__init__()
        self._is_lost = False

    def tell_time(self, now_s: float) -> None:
        if now_s >= _CHANGE_S and not self._is_lost:
            self.state.clear()
            self._is_lost = True


class _BackAtBoundary(Job):
    name, sentence = "back_at_boundary", "the state of 1 s ago comes back"

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[bytes, Quote] | None = None
        self._is_back = False

    def tell_time(self, now_s: float) -> None:
        if now_s >= _CHANGE_S - 1 and self._kept is None:
            self._kept = dict(self.state)
        if now_s >= _CHANGE_S and not self._is_back and self._kept is not None:
            self.state, self._is_back = self._kept, True


JOBS: tuple[type[Job], ...] = (
    Job, _OneKeyFrozen, _Swapped, _WrongKey, _PrefixKey, _InitialLost, _Late, _SomeLate, _OneBehind, _LostAtBoundary,
    _BackAtBoundary,
)  # fmt: skip


class Loop:
    """Reads quotes and orders from their beginning, and sends the alerts of each job to its topic. Owns a thread."""

    def __init__(self, bootstrap_servers: str, jobs: Sequence[type[Job]]) -> None:
        self._jobs = [job() for job in jobs]
        counts = KafkaBroker(bootstrap_servers).partition_counts([TOPICS.nbbo, TOPICS.orders])
        self._positions = {(topic, number): 0 for topic, count in counts.items() for number in range(count)}
        self._consumer = KafkaBroker(bootstrap_servers, "loop").consumer()
        self._producer = KafkaBroker(bootstrap_servers, "loop").producer()
        self._begun_us: int | None = None
        self._stopping, self._draining, self._drained = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="loop", daemon=True)
        self._thread.start()

    def drain(self) -> None:
        """Wait until all that was sent is answered."""
        self._draining.set()
        if not self._drained.wait(60):
            raise MarketSpreadError("the loop has not read everything after 60 s")

    def close(self) -> None:
        """End it."""
        self._stopping.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        self._consumer.assign(self._positions)
        while not self._stopping.is_set():
            is_last = self._draining.is_set()
            found = self._consumer.poll(_POLL_S)
            self._process(found, _CLOCK.unix_ns() // 1000)
            for partition, records in found.items():
                self._positions[partition] = records[-1].offset + 1
            if is_last and self._positions == self._consumer.end_offsets(self._positions):
                self._producer.close(30)
                self._drained.set()
                return

    def _process(self, found: Mapping[Partition, Sequence[Record]], read_us: int) -> None:
        """Quotes first: an order may meet each that came by the same moment."""
        quotes = Quotes.from_rows(_rows(NBBO, TOPICS.nbbo, found))
        orders = Orders.from_rows(_rows(ORDER, TOPICS.orders, found))
        measured = orders.intended_us[orders.order_id < WARM_UP_ORDER_ID_MIN]
        if self._begun_us is None and len(measured):
            self._begun_us = int(measured.min())
        begun_us = self._begun_us
        times_s = [-1.0 if begun_us is None else (us - begun_us) / 1e6 for us in quotes.intended_us.tolist()]
        now_s = -1.0 if begun_us is None else (read_us - begun_us) / 1e6
        taken = list(
            zip(
                quotes.symbol.tolist(),
                zip(quotes.bid.tolist(), quotes.offer.tolist(), quotes.sequence.tolist(), strict=True),
                times_s,
                strict=True,
            )
        )
        symbols = orders.symbol.tolist()
        for job in self._jobs:
            job.tell_time(now_s)
            for symbol, quote, time_s in taken:
                job.take(symbol, quote, time_s)
            met = np.array([job.asked(symbol, now_s) for symbol in symbols], np.int64).reshape(-1, 3)
            self._alert(job, orders, met, read_us)

    def _alert(self, job: Job, orders: Orders, met: Int64s, read_us: int) -> None:
        leaves = np.flatnonzero(rejected(met[:, 0], met[:, 1]))
        theirs, (bid, offer, sequence) = orders[leaves], met[leaves].T
        times = (np.full(len(leaves), us, np.int64) for us in (read_us, _CLOCK.unix_ns() // 1000, 0))
        alerts = Alerts(
            theirs.order_id, theirs.symbol, theirs.side, theirs.account, theirs.quantity, theirs.price,
            theirs.intended_us, bid, offer, sequence, theirs.intended_us, *times,
        )  # fmt: skip
        for record in encoded(ALERT, alerts):
            self._producer.send(job.topic(), 0, record, (), lambda offset, error: None)


def _rows(layout: Layout, topic: str, found: Mapping[Partition, Sequence[Record]]) -> Bytes2D:
    values = [record.value for (of, _), records in found.items() if of == topic for record in records]
    return np.frombuffer(b"".join(values), np.uint8).reshape(-1, layout.width)
