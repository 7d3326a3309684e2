"""What the job's metrics cost: the same query in one JVM, its driver's Python process at work or standing still.

Processes differ by a tenth from start to start, so on and off take turns in one. The driver counts, reads Spark's
metrics, pushes and follows the query's progress; all of that is in the price.
"""

from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from backlog import Backlog
from measure import Bench
from rungs import rungs

PAIRS = 10
WARM_UP = 4
# Student's t: the 95th percentile for PAIRS - 1 degrees of freedom.
_T95 = 1.833


@dataclass(frozen=True, slots=True)
class MetricsPrice:
    """CPU of a message with and without metrics, microseconds; what they add, and its upper 95% bound, as shares."""

    mode: str
    on_us_per_message: float
    off_us_per_message: float
    added_share: float
    added_share_max: float


def metrics_price(bench: Bench, mode: str, backlog: Backlog, *, state_partitions: int) -> MetricsPrice:
    """Measure it by pairs of rounds, the first of a pair by turns with and without."""
    (shipped,) = (rung for rung in rungs(mode) if rung.application == "market_spread")
    order = [still for pair in range(PAIRS) for still in ((False, True) if pair % 2 else (True, False))]
    found = list(bench.rounds(shipped, mode, backlog, state_partitions, still=[*[False] * WARM_UP, *order]))[WARM_UP:]
    used = list(zip(order, (drained.cpu_us_per_message for drained in found), strict=True))
    on, off = ([us for still, us in used if still is wanted] for wanted in (False, True))
    differences = [with_them - without for with_them, without in zip(on, off, strict=True)]
    bound = mean(differences) + _T95 * stdev(differences) / sqrt(PAIRS)
    return MetricsPrice(mode, mean(on), mean(off), mean(differences) / mean(off), bound / mean(off))
