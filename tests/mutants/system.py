"""A simulated job: no broker, no Spark, only when each message comes, which quote each order meets, and its alert."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from market_spread.common.wire.codec import Int64s
from market_spread.common.wire.layout import ACCEPTED, REJECTED
from market_spread.loadgen.columns import Alerts, Decisions, Orders, Quotes, symbol_codes
from market_spread.loadgen.market.symbols import buckets_of
from market_spread.loadgen.oracle.oracle import WHOLE_RUN
from tests.mutants.inputs import BEGIN_US, SECONDS, Input

Bools = npt.NDArray[np.bool_]
Heard = tuple[Quotes, Int64s]

REAL_TIME, MICRO_BATCH = "real-time", "micro-batch"
PARTITIONS = 4
BATCH_US = 5_000_000
_LINGER_US = 10_000
_SEQUENCES = 10**12
_TIMES = 10**12


def rejected(bid: Int64s, offer: Int64s) -> Bools:
    """The rule, as README.md has it."""
    wide: Bools = (offer - bid >= 500) | (40 * (offer - bid) >= bid + offer)
    return wide


@dataclass(frozen=True, slots=True)
class Restart:
    """The job is killed, and comes back so much later from its newest checkpoint.

    share: of the time in which it came, what is read again and what has piled up takes; drawn for each topic if None.
    quotes_share: the same of the quotes, if it is another.
    """

    killed_us: int
    down_us: int
    share: float | None = None
    quotes_share: float | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing is read for so long of what is about some symbols; `of` says which these are."""

    from_us: int
    length_us: int
    of: Callable[[npt.NDArray[np.bytes_]], Bools] = lambda symbols: np.ones(len(symbols), np.bool_)


@dataclass(frozen=True, slots=True)
class System:
    """A right system, unless one of its hooks makes it a wrong one.

    standstill_us: how long nothing is read at the end of a batch, of batch_us, in Real-Time Mode; replicas: jobs that
    read the same, standing still at different times; slower_by: by how much of each second it falls behind; later_us:
    by how much later it reads everything; hiccup_us: the mean time for which, every 10 s or so, one partition of one
    topic stands still alone; stops: what stands still besides. seconds: how long the load takes. decides: whether all
    orders leave, accepted ones too.

    Hooks: heard changes the quotes and when they come to the state (n,); rule says which prices reject; by_sequence:
    whether the state holds the quote with the highest sequence or the one that came last; asked: the symbol by which
    an order is looked up; said changes the alerts; beside is what the job writes to their topic and is none.
    """

    seed: int = 1
    mode: str = REAL_TIME
    standstill_us: int = 0
    restart: Restart | None = None
    replicas: int = 1
    slower_by: float = 0
    later_us: int = 0
    hiccup_us: int = 25_000
    stops: tuple[Stop, ...] = ()
    heard: Callable[[Quotes, Int64s], Heard] = lambda quotes, came_us: (quotes, came_us)
    rule: Callable[[Int64s, Int64s], Bools] = rejected
    by_sequence: bool = True
    asked: Callable[[npt.NDArray[np.bytes_]], npt.NDArray[np.bytes_]] = lambda symbols: symbols
    said: Callable[[Alerts], Alerts] = lambda alerts: alerts
    beside: Callable[[Alerts], list[bytes]] = lambda alerts: []
    batch_us: int = BATCH_US
    batches_after_us: int = 0
    seconds: int = SECONDS
    decides: bool = False

    @property
    def jobs(self) -> "list[System]":
        """One for each replica."""
        return [
            replace(self, seed=self.seed + 1000 * number, batches_after_us=number * self.batch_us // self.replicas)
            for number in range(self.replicas)
        ]

    def run(self, given: Input) -> Alerts:
        """The alerts that a receiver gets, in order of receipt."""
        alerts = self.said(Alerts.concatenate([job._run(given) for job in self.jobs]))
        return alerts[np.argsort(alerts.received_us, kind="stable")]

    def decide(self, given: Input) -> tuple[Alerts, Decisions]:
        """The alerts of a job that tells all decisions, and these."""
        told = replace(self, decides=True).run(given)
        rejects = self.rule(told.bid, told.offer)
        names = (each.name for each in dataclasses.fields(Decisions) if each.name != "verdict")
        verdict = np.where(rejects, np.uint8(ord(REJECTED)), np.uint8(ord(ACCEPTED)))
        return told[rejects], Decisions(**{name: getattr(told, name) for name in names}, verdict=verdict)

    @property
    def replayed(self) -> tuple[tuple[int, int], ...]:
        """When it reads again, as a run knows it."""
        if self.replicas > 1:
            return WHOLE_RUN
        if self.restart is None:
            return ()
        killed_us = self.restart.killed_us
        committed_us = self._committed_us(killed_us) + self.standstill_us
        if self.mode == MICRO_BATCH:
            committed_us = int(self._begins_us[self._begins_us <= killed_us][-1])
        return ((committed_us, killed_us + self.restart.down_us),)

    @property
    def batches_us(self) -> list[tuple[int, int]]:
        """Begin and end of the batches that were committed."""
        batches = [(begin, begin + self.batch_us) for job in self.jobs for begin in job._boundaries().tolist()]
        if self.mode == MICRO_BATCH:
            batches = [batch for job in self.jobs for batch in pairwise(job._begins_us.tolist())]
        batches.sort()
        if self.restart is None:
            return batches
        back_us = self.restart.killed_us + self.restart.down_us
        before = [batch for batch in batches if batch[1] <= self.restart.killed_us]
        after = [(max(begin, back_us), end) for begin, end in batches if end > back_us]
        if self.mode == MICRO_BATCH:
            after = list(pairwise((self._begins_us + back_us - self._begins_us[0]).tolist()))
        return [*before, *after]

    def _run(self, given: Input) -> Alerts:
        drawn = np.random.default_rng(self.seed)
        quotes, orders = given.quotes, given.orders
        sent_us = _sent(orders.intended_us)
        quotes_us = self._read(drawn, quotes.symbol, _sent(quotes.intended_us), quotes.intended_us < BEGIN_US)
        orders_us = self._read(drawn, orders.symbol, sent_us, np.zeros(len(orders), np.bool_))
        if self.restart is None:
            return self._life(drawn, quotes, quotes_us, orders, sent_us, orders_us)

        killed_us = self.restart.killed_us
        back_us, committed_us = killed_us + self.restart.down_us, self._committed_us(killed_us)
        shares = (self.restart.quotes_share or self.restart.share, self.restart.share)
        again = [
            _still(came_us, committed_us, back_us - committed_us, share or drawn.uniform(0.02, 0.3))
            for came_us, share in zip((quotes_us, orders_us), shares, strict=True)
        ]
        before = self._life(drawn, quotes, quotes_us, orders, sent_us, orders_us)
        after = self._life(drawn, quotes, again[0], orders, sent_us, again[1], back_us)
        once = orders.order_id[orders_us < committed_us]
        before = before[before.emitted_us < killed_us]
        after = after[~np.isin(after.order_id, once)]
        return Alerts.concatenate([before, after])

    def _life(
        self, drawn: np.random.Generator, quotes: Quotes, quotes_us: Int64s,
        orders: Orders, sent_us: Int64s, orders_us: Int64s, begun_us: int = 0,
    ) -> Alerts:  # fmt: skip
        heard, heard_us = self.heard(quotes, quotes_us)
        met_us, emitted_us = orders_us, orders_us + 200
        if self.mode == MICRO_BATCH:
            # Its first batch begins when it does, also where it was started again.
            begins_us = self._begins_us + max(0, begun_us - int(self._begins_us[0]))
            heard_us, met_us, emitted_us = _in_batches(drawn, begins_us, heard, heard_us, orders, orders_us)
        at = self._newest(heard, heard_us, self.asked(orders.symbol), met_us)
        bid, offer, sequence = (np.where(at >= 0, values[at], 0) for values in (heard.bid, heard.offer, heard.sequence))
        leaves = np.flatnonzero(self.rule(bid, offer) | self.decides)
        theirs, emitted_us = orders[leaves], emitted_us[leaves]
        received_us = emitted_us + 800 + drawn.exponential(2_000, len(leaves)).astype(np.int64)
        partition = partition_of(theirs.symbol)
        for number in range(PARTITIONS):  # what a partition of the job sends later does not come earlier
            own = np.flatnonzero(partition == number)
            own = own[np.argsort(emitted_us[own], kind="stable")]
            received_us[own] = np.maximum.accumulate(received_us[own])
        return Alerts(
            theirs.order_id, theirs.symbol, theirs.side, theirs.account, theirs.quantity, theirs.price,
            theirs.intended_us, bid[leaves], offer[leaves], sequence[leaves],
            sent_us[leaves], np.minimum(orders_us[leaves], emitted_us), emitted_us, received_us,
        )  # fmt: skip

    def _read(
        self, drawn: np.random.Generator, symbols: npt.NDArray[np.bytes_], sent_us: Int64s, initial: Bools
    ) -> Int64s:
        """When messages come to the state: in order within a partition, each of which has hiccups of its own."""
        came_us = sent_us + 500 + drawn.exponential(1_500, len(sent_us)).astype(np.int64)
        partition = partition_of(symbols)
        speed = drawn.uniform(0.05, 0.6)
        for number in range(PARTITIONS):
            own = partition == number
            times_us = came_us[own]
            for _ in range(drawn.poisson(self.seconds / 10)):
                hiccup_us = BEGIN_US + int(drawn.uniform(0, self.seconds * 1e6))
                times_us = _still(times_us, hiccup_us, int(drawn.exponential(self.hiccup_us)), 0.1)
            for boundary_us in self._boundaries() if self.mode == REAL_TIME else ():
                times_us = _still(times_us, boundary_us, self.standstill_us, speed)
            came_us[own] = np.maximum.accumulate(times_us) + self.later_us
        for stop in self.stops:
            stopped = stop.of(symbols)
            came_us[stopped] = _still(came_us[stopped], stop.from_us, stop.length_us, 0.1)
        came_us += (np.maximum(came_us - BEGIN_US, 0) * self.slower_by).astype(np.int64)
        return np.where(initial, sent_us, came_us)

    def _boundaries(self) -> Int64s:
        numbers = np.arange(-2, self.seconds * 1_000_000 // self.batch_us + 1)
        return BEGIN_US + self.batches_after_us + numbers * self.batch_us

    @property
    def _begins_us(self) -> Int64s:
        """When batches begin in micro-batch mode, each at the end of the one before."""
        lengths_us = np.random.default_rng([self.seed, 1]).uniform(600_000, 1_000_000, 200).astype(np.int64)
        return BEGIN_US - 1_000_000 + np.cumsum(lengths_us)

    def _committed_us(self, unix_us: int) -> int:
        """What was read by then is in a batch that was committed before the given time."""
        if self.mode == MICRO_BATCH:  # of what had come by its begin, at its end, which is the next one's begin
            return int(self._begins_us[self._begins_us <= unix_us][-2])
        boundaries = self._boundaries()
        return int(boundaries[boundaries <= unix_us][-1])

    def _newest(self, quotes: Quotes, came_us: Int64s, symbols: npt.NDArray[np.bytes_], met_us: Int64s) -> Int64s:
        """The place of the quote that each order meets, -1 without one."""
        codes, ids = np.unique(symbol_codes(np.concatenate([quotes.symbol, symbols])), return_inverse=True)
        assert len(codes) < 5_000
        of_quotes, of_orders = ids[: len(quotes)], ids[len(quotes) :]
        first_us = min(int(came_us.min()), int(met_us.min()))
        keys = of_quotes * _TIMES + (came_us - first_us)
        order = np.argsort(keys, kind="stable")
        held = order
        if self.by_sequence:
            named = of_quotes * _SEQUENCES + quotes.sequence
            by_name = np.argsort(named, kind="stable")
            held = by_name[np.searchsorted(named[by_name], np.maximum.accumulate(named[order]))]
        before = np.searchsorted(keys[order], of_orders * _TIMES + (met_us - first_us), "right") - 1
        found = np.where(before >= 0, held[before], -1)
        found[(found >= 0) & (of_quotes[found] != of_orders)] = -1
        return found


def _in_batches(
    drawn: np.random.Generator, begins_us: Int64s, quotes: Quotes, quotes_us: Int64s, orders: Orders, orders_us: Int64s
) -> tuple[Int64s, Int64s, Int64s]:
    """A batch takes what has come by its begin; within it, the intended times say what came first."""
    batch_of_quotes, batch_of_orders = (np.searchsorted(begins_us, times) for times in (quotes_us, orders_us))
    lengths_us = np.diff(begins_us, append=begins_us[-1] + 1_000_000)[batch_of_orders]
    share = drawn.uniform(0.6, 0.99, (200, PARTITIONS))[batch_of_orders, partition_of(orders.symbol)]
    emitted_us = begins_us[batch_of_orders] + (lengths_us * share).astype(np.int64)
    first_us = BEGIN_US - 20_000_000
    met = (
        batch * 100_000_000 + (intended_us - first_us) + first_us
        for batch, intended_us in ((batch_of_quotes, quotes.intended_us), (batch_of_orders, orders.intended_us))
    )
    return next(met), next(met), emitted_us


def partition_of(symbols: npt.NDArray[np.bytes_]) -> Int64s:
    """The partition of topic and state, as the product has it."""
    return buckets_of(np.ascontiguousarray(symbols).view(np.uint8).reshape(-1, 6), PARTITIONS)


def _sent(intended_us: Int64s) -> Int64s:
    """Frames leave at multiples of the linger."""
    return -(-intended_us // _LINGER_US) * _LINGER_US


def _still(came_us: Int64s, from_us: int, length_us: int, share: float) -> Int64s:
    """Nothing is read for a while; what has piled up is worked off in `share` of the time in which it came."""
    worked_off_us = from_us + length_us + ((came_us - from_us) * share).astype(np.int64)
    return np.where(came_us >= from_us, np.maximum(came_us, worked_off_us), came_us)
