"""What the job's metrics cost: the same query in one JVM, its driver's Python process at work or standing still.

Processes differ by a tenth from start to start, so on and off take turns in one. The driver counts, reads Spark's
metrics, pushes and follows the query's progress; all of that is in the price. In micro-batch mode the JVM asks it for
the counts of Python workers and cannot go on without it: there the price is what it uses itself, a share of the whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from backlog import Backlog
from measure import Bench
from rungs import rungs

from market_spread.streaming.modes.settings import MICRO_BATCH, REAL_TIME

STATE_PARTITIONS = {REAL_TIME: 1, MICRO_BATCH: 2}
PARTITIONS = {REAL_TIME: 1, MICRO_BATCH: 2}
MESSAGES = {REAL_TIME: 5_000_000, MICRO_BATCH: 8_000_000}
PAIRS = 10
WARM_UP = 4
# Student's t: the 95th percentile for PAIRS - 1 degrees of freedom.
_T95 = 1.833


@dataclass(frozen=True, slots=True)
class MetricsPrice:
    """CPU of a message with and without metrics, microseconds; what they add, and its upper 95% bound, as shares.

    Of the differences of PAIRS pairs, or of as many rounds.
    """

    mode: str
    on_us_per_message: float
    off_us_per_message: float
    added_share: float
    added_share_max: float


def metrics_price(bench: Bench, mode: str, backlog: Backlog, *, state_partitions: int) -> MetricsPrice:
    """Measure it by pairs of rounds, the first of a pair by turns with and without."""
    (shipped,) = (rung for rung in rungs(mode) if rung.application == "market_spread")
    if mode == MICRO_BATCH:
        rounds = list(bench.rounds(shipped, mode, backlog, state_partitions, still=[False] * (WARM_UP + PAIRS)))
        on = [drained.cpu_us_per_message for drained in rounds[WARM_UP:]]
        return _price(mode, on, [drained.driver_us_per_message for drained in rounds[WARM_UP:]])
    order = [still for pair in range(PAIRS) for still in ((False, True) if pair % 2 else (True, False))]
    found = list(bench.rounds(shipped, mode, backlog, state_partitions, still=[*[False] * WARM_UP, *order]))[WARM_UP:]
    used = list(zip(order, (drained.cpu_us_per_message for drained in found), strict=True))
    on, off = ([us for still, us in used if still is wanted] for wanted in (False, True))
    return _price(mode, on, [with_them - without for with_them, without in zip(on, off, strict=True)])


def _price(mode: str, on_us: Sequence[float], added_us: Sequence[float]) -> MetricsPrice:
    off_us = mean(on_us) - mean(added_us)
    bound_us = mean(added_us) + _T95 * stdev(added_us) / sqrt(len(added_us))
    return MetricsPrice(mode, mean(on_us), off_us, mean(added_us) / off_us, bound_us / off_us)
