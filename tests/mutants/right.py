"""The right systems: what the verdict must call passed, in as many circumstances as there are."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from market_spread.common.wire.codec import Int64s
from market_spread.loadgen.columns import Alerts, Bools, Orders
from tests.mutants.inputs import BEGIN_US, Input, generated, hand_made
from tests.mutants.system import MICRO_BATCH, REAL_TIME, Restart, Stop, System, partition_of
from tests.mutants.wrong import HOTTEST

MODES = (REAL_TIME, MICRO_BATCH)
STANDSTILLS_US = (0, 400_000, 1_200_000)
SEEDS = range(6)
LIVES = ("plain", "restart", "pair", "late", "hiccups", "stops", "again")
_LONG_S = 60


@dataclass(frozen=True, slots=True)
class Right:
    """A right system, and what it is given. decides: it tells all decisions."""

    name: str
    system: System
    make: Callable[[], Input]
    decides: bool = False


def right_system(life: str, mode: str, standstill_us: int, seed: int) -> System:
    """A system of that life: it is always there, is started again, is so and reads eight seconds again, as slowly as
    it may, has a second one beside it, reads everything up to
    1.5 s later, has partitions that stand still alone, or stops: all of it while the load settles, a partition or a
    key later, for less than it may, and a partition that no order uses for ever (see `quiet`).

    A restart, with what is read again, is shorter than the time for which a job may stand still.
    """
    drawn = np.random.default_rng(seed)
    system = System(seed=seed, mode=mode, standstill_us=standstill_us)
    if life == "restart":
        killed_us = BEGIN_US + int(drawn.uniform(6.4, 7.4) * 1e6)
        return replace(system, restart=Restart(killed_us, down_us=int(drawn.uniform(0.2, 1) * 1e6)))
    if life == "again":
        killed_us = BEGIN_US + int(drawn.uniform(8.3, 8.7) * 1e6)
        down_us = int(drawn.uniform(0.3, 0.6) * 1e6)
        return replace(system, batch_us=10_000_000, restart=Restart(killed_us, down_us, share=0.45))
    if life == "pair":
        return replace(system, replicas=2)
    if life == "late":
        return replace(system, later_us=int(drawn.uniform(0.2, 1.5) * 1e6))
    if life == "stops":
        return replace(system, stops=_STOPS)
    return replace(system, hiccup_us=60_000) if life == "hiccups" else system


_STOPS = (
    Stop(BEGIN_US + 3_000_000, 1_200_000),
    Stop(BEGIN_US + 7_000_000, 1_200_000, lambda symbols: partition_of(symbols) == 1),
    Stop(BEGIN_US + 11_500_000, 1_200_000, lambda symbols: (symbols == HOTTEST) | (symbols == np.bytes_(b"P4    "))),
    Stop(BEGIN_US + 7_000_000, 3_600_000_000, lambda symbols: partition_of(symbols) == 2),
)


def quiet(given: Input) -> Input:
    """The same without orders for partition 2, and for partition 0 without those of 4 s."""
    orders, partition = given.orders, partition_of(given.orders.symbol)
    age_us = orders.intended_us - BEGIN_US
    paused = (partition == 0) & (age_us >= 8_000_000) & (age_us < 12_000_000)
    return replace(given, orders=orders[(partition != 2) & ~paused])


def of_life(life: str, mode: str, standstill_us: int) -> Iterator[Right]:
    """On either market and with each seed; one a minute long, in which steadiness and growth are judged as well."""
    given = quiet if life == "stops" else lambda it: it
    for make, seed in itertools.product((hand_made, generated), SEEDS):
        system = right_system(life, mode, standstill_us, seed)
        yield Right(f"{make.__name__} {seed}", system, lambda make=make, seed=seed: given(make(seed % 3)))  # type: ignore[misc]
    system = replace(right_system(life, mode, standstill_us, 3), seconds=_LONG_S)
    if system.restart and life == "again":  # in the middle: what is slow at first alone was not warm
        system = replace(system, restart=replace(system.restart, killed_us=system.restart.killed_us + 20_000_000))
    yield Right("a minute", system, lambda: given(generated(1, seconds=_LONG_S)))
    deciding = right_system(life, mode, standstill_us, 5)
    yield Right("all decisions", deciding, lambda: given(generated(2)), decides=True)


def odd_systems() -> Iterator[Right]:
    """Right ones, each of which does something that a wrong one might, or is given little."""
    drawn, system = np.random.default_rng(3), System(standstill_us=400_000)

    def each_later(late_us: Callable[[Alerts], Int64s]) -> Callable[[Alerts], Alerts]:
        def said(alerts: Alerts) -> Alerts:
            us = late_us(alerts)
            return replace(alerts, emitted_us=alerts.emitted_us + us, received_us=alerts.received_us + us)

        return said

    by_quotient = lambda bid, offer: (offer - bid >= 500) | (offer - bid >= 0.05 * ((bid + offer) / 2))  # noqa: E731
    in_bursts = each_later(lambda alerts: -alerts.received_us % 1_000_000)
    jittery = each_later(lambda alerts: drawn.integers(0, 300_000, len(alerts)))
    with_a_tail = each_later(
        lambda alerts: np.minimum(1_500_000, drawn.pareto(1.2, len(alerts)) * 3_000).astype(np.int64)
    )
    one_late = each_later(lambda alerts: np.where(np.arange(len(alerts)) == 1_000, 5_000_000, 0))
    by_partition = each_later(lambda alerts: partition_of(alerts.symbol) * 300_000)
    restart = partial(Restart, down_us=600_000)
    for name, odd in (
        ("a rule in floating point", replace(system, rule=by_quotient)),
        ("all alerts of a second at once", replace(system, said=in_bursts)),
        ("jitter of 300 ms", replace(system, said=jittery)),
        ("jitter of 300 ms in batches", replace(system, mode=MICRO_BATCH, said=jittery)),
        ("a heavy tail", replace(system, said=with_a_tail)),
        ("one alert 5 s late", replace(system, said=one_late)),
        ("each partition as late as it always is", replace(system, said=by_partition)),
        ("killed at the begin", replace(system, restart=restart(BEGIN_US + 300_000))),
        ("killed at the end", replace(system, restart=restart(BEGIN_US + 14_300_000))),
        ("back at once", replace(system, restart=Restart(BEGIN_US + 7_000_000, 50_000))),
    ):
        yield Right(name, odd, lambda: generated(1))
    for name, kept in (
        ("one order of twenty", lambda orders: np.arange(len(orders)) % 20 == 3),
        ("three orders", lambda orders: np.isin(np.arange(len(orders)), (100, 2_000, 4_000))),
        ("no order on a probe", lambda orders: ~np.char.startswith(orders.symbol, b"/")),
        ("no order for 5 s", lambda orders: np.abs(orders.intended_us - BEGIN_US - 8_500_000) > 2_500_000),
    ):
        yield Right(name, system, lambda kept=kept: with_orders(generated(1), kept))  # type: ignore[misc]
    for seconds in (1, 3):
        yield Right(f"{seconds} s", replace(system, seconds=seconds), lambda of=seconds: generated(1, seconds=of))  # type: ignore[misc]


def with_orders(given: Input, kept: Callable[[Orders], Bools]) -> Input:
    """The same with these orders alone."""
    return replace(given, orders=given.orders[kept(given.orders)])


def right_systems() -> Iterator[Right]:
    """All of them."""
    yield from odd_systems()
    for life, mode, standstill_us in itertools.product(LIVES, MODES, STANDSTILLS_US):
        yield from of_life(life, mode, standstill_us)
