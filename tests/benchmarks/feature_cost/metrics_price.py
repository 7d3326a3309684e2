"""What the job's metrics cost: the driver counts, reads Spark's metrics, pushes and follows the query's progress.

That takes its own CPU and that of the JVM's threads that answer it, which can be read; it is about a percent of what
the JVM's tasks take. Beside it, in real-time mode, stand pairs of rounds in one JVM with the driver at work and
standing still: they contain what one takes from the other, such as caches, and the noise of two rounds, several times
as much. In micro-batch mode there are none: the JVM asks the driver for the counts of Python workers, and cannot go
on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from backlog import Backlog
from measure import Bench, Drained
from steps import steps

from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME

STATE_PARTITIONS = {REAL_TIME: 1, MICRO_BATCH: 2}
PARTITIONS = {REAL_TIME: 1, MICRO_BATCH: 2}
MESSAGES = {REAL_TIME: 5_000_000, MICRO_BATCH: 8_000_000}
PAIRS = 10
WARM_UP = 4
# Student's t: the 95th percentile for PAIRS - 1 degrees of freedom.
_T95 = 1.833


@dataclass(frozen=True, slots=True)
class Added:
    """What metrics add to a message's CPU, and its upper 95% bound, as shares of it without them; of PAIRS of them."""

    share: float
    share_max: float


@dataclass(frozen=True, slots=True)
class MetricsPrice:
    """CPU of a message with metrics, microseconds, and what they add: as read, and by pairs where there are any."""

    mode: str
    us_per_message: float
    read: Added
    paired: Added | None


def metrics_price(bench: Bench, mode: str, backlog: Backlog, *, state_partitions: int) -> MetricsPrice:
    """Measure it in one process: in real-time mode the first of a pair by turns with and without."""
    (shipped,) = (step for step in steps(mode) if step.application == "market_spread")
    order = [False] * PAIRS
    if mode == REAL_TIME:
        order = [still for pair in range(PAIRS) for still in ((False, True) if pair % 2 else (True, False))]
    found = list(bench.rounds(shipped, mode, backlog, state_partitions, still=[*[False] * WARM_UP, *order]))[WARM_UP:]
    on, off = ([drained for still, drained in zip(order, found, strict=True) if still is it] for it in (False, True))
    on_us = [drained.cpu_us_per_message for drained in on]
    differences = [with_them - without.cpu_us_per_message for with_them, without in zip(on_us, off, strict=False)]
    return MetricsPrice(
        mode, mean(on_us), _added(on_us, list(map(_read_us, on))), _added(on_us, differences) if off else None
    )


def _read_us(drained: Drained) -> float:
    return drained.driver_us_per_message + drained.gateway_us_per_message


def _added(on_us: Sequence[float], added_us: Sequence[float]) -> Added:
    without_us = mean(on_us) - mean(added_us)
    bound_us = mean(added_us) + _T95 * stdev(added_us) / sqrt(len(added_us))
    return Added(mean(added_us) / without_us, bound_us / without_us)
