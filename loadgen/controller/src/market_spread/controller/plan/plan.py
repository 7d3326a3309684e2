"""The plan of a run: which loads are sent in which order, from a workload or from recorded files.

Also in which partitions a symbol is: for latencies by partition, and for what comes in order.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from market_spread.common.errors import UsageError
from market_spread.common.job_contract import MICRO_BATCH
from market_spread.common.load.schedule import RATE_PER_S_MAX, AnyProfile, Constant
from market_spread.common.load.source import AnyLoad, Load, RecordLoad, find_source
from market_spread.common.user_functions import load_function
from market_spread.common.wire.codec import Int64s
from market_spread.common.wire.layout import NBBO, ORDER, SYMBOL_WIDTH, WARM_UP_ORDER_ID_MIN
from market_spread.controller.plan.objectives import DRIFT_SHARE_MAX, MS_MAX, Limits, VoidLimits
from market_spread.controller.plan.system import SystemWorkload
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD, Workload
from market_spread.loadgen.columns import Orders, Quotes, Texts, symbol_codes, write_native
from market_spread.loadgen.market.parameters import MARKET, SEQUENCE_MAX, MarketParameters, Phase
from market_spread.loadgen.market.symbols import Universe, buckets_of, state_partitions_of, universe
from market_spread.loadgen.messages import MESSAGES, MessageParameters
from market_spread.loadgen.recorded import Recorded

# How far a run's first number is behind the newest one that was seen: of the last frames not all need be looked at.
_SEQUENCE_ROOM = 1_000_000
# Initial quotes come this fast; there is one a symbol.
_INITIAL_PER_S = 50_000
# Before the first measured message of a file: the largest market has its initial quotes in 2 s.
_INITIAL_BEFORE_NS = 10 * 10**9
_START_UNIX_NS_MAX = 9 * 10**18
# Of a run, in the order in which they are sent.
PHASES = ("initial", "warm_up", "measured")


@dataclass(frozen=True, slots=True)
class PlannedLoad:
    """A load for a sender: a source's name and its parameters."""

    source: str
    parameters: Mapping[str, object]

    @property
    def parameters_json(self) -> str:
        """The parameters as they travel."""
        return json.dumps(self.parameters)

    def open_any(self, start_unix_ns: int) -> AnyLoad:
        """The same load as the sender's, for the same start."""
        return find_source(self.source)(self.parameters, start_unix_ns)

    def open(self, start_unix_ns: int) -> Load:
        """The same, of quotes and orders."""
        load = self.open_any(start_unix_ns)
        assert not isinstance(load, RecordLoad)
        return load

    def slices(self, count: int) -> list["PlannedLoad"]:
        """The load for so many senders together, each its slice of the symbols. UsageError if it cannot be cut."""
        if count == 1:
            return [self]
        if self.source != "market":
            raise UsageError(f"there are {count} senders, and a recording is sent by one; scale them to one")
        return [self.with_parameters(shard=shard, shards=count) for shard in range(count)]

    def with_parameters(self, **parameters: object) -> "PlannedLoad":
        """The load with these parameters instead of its own."""
        return PlannedLoad(self.source, {**self.parameters, **parameters})


# In place of the initial quotes, in a plan that has none.
NO_LOAD = PlannedLoad("", {})


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run sends: initial quotes, warm-up (if any), then what is measured.

    probe_symbols: one of each Kafka partition; the warm-up must bring an alert for each of them before orders start.
    """

    workload: Workload
    initial: PlannedLoad
    warm_up: PlannedLoad | None
    measured: PlannedLoad
    probe_symbols: frozenset[str]
    origin: Mapping[str, Any]

    @property
    def is_fenced(self) -> bool:
        """Whether all quotes are committed before the first order, so that each order meets its symbol's last quote."""
        return self.warm_up is None

    def opened(self, starts_unix_ns: Mapping[str, int]) -> dict[str, Load]:
        """The loads of those phases that have a start, in the order in which they are sent; not of a system's plan."""
        phases = (phase for phase in PHASES if phase in starts_unix_ns)
        return {phase: getattr(self, phase).open(starts_unix_ns[phase]) for phase in phases}

    def behind(self, newest_sequence: int) -> "RunPlan":
        """The plan for topics whose quotes are numbered up to that: all phases are numbered behind it.

        State ignores what is not newer, so a run on a job that has run before would else meet that one's quotes.
        UsageError if there are not enough numbers left, or it is a recording.
        """
        if newest_sequence == 0:
            return self
        if self.warm_up is None or self.initial is NO_LOAD:
            raise UsageError("the topics hold quotes already, and a recording cannot follow them; make the topics anew")
        first = -(-(newest_sequence + _SEQUENCE_ROOM) // _SEQUENCE_ROOM) * _SEQUENCE_ROOM
        warm_up_first = first + self.initial.open(0).messages
        measured_first = warm_up_first + self.warm_up.open(0).messages
        if measured_first + self.measured.open(0).messages > SEQUENCE_MAX:
            raise UsageError(f"quotes are numbered up to {newest_sequence} already; make the topics anew")
        return replace(
            self,
            initial=self.initial.with_parameters(sequences_after=first),
            warm_up=self.warm_up.with_parameters(sequences_after=warm_up_first),
            measured=self.measured.with_parameters(sequences_after=measured_first),
        )

    @property
    def duration_s(self) -> float:
        """How long the measured load takes."""
        return self.workload.load.duration_ns / 1e9

    @property
    def offered_rate_per_s(self) -> float:
        """Messages of the measured load over its duration."""
        return self.workload.load.total() / self.duration_s


def universe_of(workload: Workload) -> Universe:
    """The symbols of a workload's market; the same in either mode, so that both get the same messages."""
    return universe(workload.market.symbols, workload.market.partitions, workload.state_partitions)


def state_partition_of(symbols: Texts, workload: Workload) -> Int64s:
    """The state partition of each symbol, int64 (n,).

    Real-Time Mode groups by the symbol as it stands in the message, blanks included. Micro-batch mode groups by the
    Kafka partition, as a number chosen such that partition p is in the state partition p % partitions
    (streaming/modes/micro_batch/as_of_join.py).
    """
    return path_of(symbols, workload) % workload.state_partitions


def path_of(symbols: Texts, workload: Workload) -> Int64s:
    """A number for each symbol (n,): orders of one come through the same partitions of topic and state, so in order.

    It is that of its bucket times the partitions of the state, and its partition of the state.
    """
    cells = symbol_codes(symbols).view(np.uint8).reshape(-1, 8)[:, :SYMBOL_WIDTH]
    partitions, bucket = workload.state_partitions, buckets_of(cells, workload.market.partitions)
    is_by_bucket = workload.job.mode == MICRO_BATCH
    return bucket * partitions + (bucket % partitions if is_by_bucket else state_partitions_of(cells, partitions))


def plan_of_workload(workload: Workload) -> RunPlan:
    """The plan of a synthetic market, or of messages for a system of the user's."""
    if isinstance(workload, SystemWorkload):
        return _plan_of_system(workload)

    def load(phase: Phase, profile: AnyProfile) -> PlannedLoad:
        parameters = MarketParameters(
            seed=workload.seed, buckets=workload.market.partitions, profile=profile, phase=phase,
            symbols=workload.market.symbols, rejected_share=workload.market.rejected_orders,
            order_share=workload.market.order_share, probes_per_s=workload.market.probes_per_s,
            changing_symbols=workload.market.changing_symbols, state_partitions=workload.state_partitions,
        )  # fmt: skip
        return PlannedLoad("market", MARKET.to_mapping(parameters))

    symbols = universe_of(workload)
    return RunPlan(
        workload=workload,
        initial=load(Phase.INITIAL, Constant(_INITIAL_PER_S, 1)),
        warm_up=load(Phase.WARM_UP, Constant(workload.load.highest_per_s, workload.warm_up.duration_s)),
        measured=load(Phase.MEASURED, workload.load),
        probe_symbols=frozenset(name.decode().strip() for name in symbols.names[symbols.readiness_ids]),
        origin={"source": "market", "seed": workload.seed},
    )


def _plan_of_system(workload: SystemWorkload) -> RunPlan:
    """The plan of a run with a system of the user's: its messages to warm it up, then the load that is measured.

    UsageError if a file or function that it names is not there, before anything is started.
    """
    for finds in (*(each.finds for each in workload.output), *map(workload.finds, workload.input)):
        finds.finder()
    for reference in filter(None, (workload.check, *(each.reads for each in workload.output))):
        load_function(reference)

    def load(profile: AnyProfile | Recorded, first_number: int, after: int = 0) -> PlannedLoad:
        parameters = MessageParameters(
            inputs=workload.input, profile=profile, seed=workload.seed, first_number=first_number, after=after
        )
        return PlannedLoad("messages", MESSAGES.to_mapping(parameters))

    warm_up: Constant | Recorded = Constant(workload.load.highest_per_s, workload.warm_up.duration_s)
    if isinstance(workload.load, Recorded):
        warm_up = workload.load.between(0, workload.warm_up.duration_s, workload.input)
    plan = RunPlan(
        workload=workload, initial=NO_LOAD, warm_up=load(warm_up, WARM_UP_ORDER_ID_MIN),
        measured=load(workload.load, 0, warm_up.total()), probe_symbols=frozenset(),
        origin={"source": "system", "system": workload.system.kind},
    )  # fmt: skip
    plan.measured.open_any(0)
    return plan


def plan_of_files(nbbo: Path, orders: Path, *, rate_per_s: int) -> RunPlan:
    """The plan of a replay: all quotes, and when they are committed all orders, each at the rate.

    UsageError if a file has nothing, or something that cannot be replayed, or there is no such rate.
    """
    if not 1 <= rate_per_s <= RATE_PER_S_MAX:
        raise UsageError(f"--rate {rate_per_s}; use 1 to {RATE_PER_S_MAX}")
    symbols = np.empty(0, np.int64)
    for quotes in Quotes.from_file(nbbo):
        symbols = np.union1d(symbols, symbol_codes(quotes.symbol))
    order_ids = np.concatenate([np.empty(0, np.int64), *(part.order_id for part in Orders.from_file(orders))])
    for path, count, what in ((nbbo, len(symbols), "quote"), (orders, len(order_ids), "order")):
        if not count:
            raise UsageError(f"{path} has no {what} to replay; name a file that has")
    if order_ids.max() >= WARM_UP_ORDER_ID_MIN:
        raise UsageError(
            f"{orders} has the order id {order_ids.max()}; ids from {WARM_UP_ORDER_ID_MIN} on are those of a warm-up, "
            "give its orders lower ones"
        )
    order_ids.sort()
    repeated = np.flatnonzero(order_ids[1:] == order_ids[:-1])
    if len(repeated):
        raise UsageError(
            f"{orders} has the order id {order_ids[repeated[0]]} more than once; give each order an id of its own"
        )
    workload = DEFAULT_WORKLOAD.changed(
        name="replay",
        load=Constant.of_messages(len(order_ids), rate_per_s=rate_per_s),
        market={"symbols": len(symbols)},
        warm_up={"duration_s": 0, "settle_s": 0},
        # A late frame or a busy machine makes latencies worse, but no alert wrong; and a file may last a second.
        limits=Limits(late_share=1, stall_ms=MS_MAX, rise_share=DRIFT_SHARE_MAX),
        void=VoidLimits(
            stolen_share=1, foreign_share=1, throttled_share=1, missing_share=1, drift_share=DRIFT_SHARE_MAX
        ),
    )
    how = {"buckets": workload.market.partitions, "messages_per_s": rate_per_s}
    return RunPlan(
        workload=workload, initial=PlannedLoad("recorded", {"file": str(nbbo.resolve()), "layout": NBBO.name, **how}),
        warm_up=None, measured=PlannedLoad("recorded", {"file": str(orders.resolve()), "layout": ORDER.name, **how}),
        probe_symbols=frozenset(), origin={"source": "recorded", "nbbo": str(nbbo), "orders": str(orders)},
    )  # fmt: skip


def quotes_of(load: Load) -> Iterator[Quotes]:
    """The quotes of a load, some thousand at a time."""
    return (Quotes.from_rows(block.quotes.rows) for block in load.blocks() if len(block.quotes))


def orders_of(load: Load) -> Iterator[Orders]:
    """The orders of a load, some thousand at a time."""
    return (Orders.from_rows(block.orders.rows) for block in load.blocks() if len(block.orders))


def generate(workload: Workload, *, nbbo: Path, orders: Path, start_unix_ns: int) -> tuple[int, int, int]:
    """Write initial and measured quotes to one file, measured orders to another; what is there is replaced.

    Returns how many initial quotes, quotes with the initial ones, and orders were written.
    start_unix_ns: intended time of the first measured message; the initial quotes begin 10 s before. The same workload
    and start give the same bytes. UsageError if a file cannot be written, or there is no such start.
    """
    if nbbo.resolve() == orders.resolve():
        raise UsageError(f"quotes and orders would both go to {nbbo}; name two files")
    if not _INITIAL_BEFORE_NS <= start_unix_ns <= _START_UNIX_NS_MAX:
        raise UsageError(f"--start {start_unix_ns}; use {_INITIAL_BEFORE_NS} to {_START_UNIX_NS_MAX}, Unix nanoseconds")
    plan = plan_of_workload(workload)
    if plan.initial is NO_LOAD:
        raise UsageError("the workload names a system of yours, and has no quotes and orders; name one of the market")
    initial = plan.initial.open(start_unix_ns - _INITIAL_BEFORE_NS)
    measured = plan.measured.open(start_unix_ns)
    quote_blocks = chain(initial.blocks(), measured.blocks())
    quote_count = write_native(nbbo, (block.quotes.rows for block in quote_blocks))
    order_count = write_native(orders, (block.orders.rows for block in measured.blocks()))
    return initial.messages, quote_count, order_count
