"""Statistics of small groups: exact, without assumptions on how figures are distributed, ties included.

Numpy is all that they need. scipy has the test too, but exact only where no two values are equal, and percentiles of
histograms often are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Above so many values in both groups the normal approximation is as good, and the exact sums are slow.
EXACT_VALUES_MAX = 100


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate, and the bounds that hold it with the confidence asked for; None where the values are too few."""

    estimate: float
    low: float | None
    high: float | None

    def lies_within(self, limit: float) -> bool:
        """Whether all of it is between -limit and limit."""
        return self.low is not None and self.high is not None and -limit <= self.low and self.high <= limit


def median_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """The median, between two order statistics. Six values are the least for 95%."""
    ordered = sorted(values)
    below = _binomial_tail(len(ordered), (1 - confidence) / 2)
    middle = float(np.median(ordered))
    return Interval(middle, ordered[below - 1], ordered[-below]) if below else Interval(middle, None, None)


def rank_sum_p(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided p-value of the Mann-Whitney test (Wilcoxon's rank-sum test): 1 says no difference at all."""
    ranks = _doubled_ranks(np.array([*first, *second], np.float64))
    observed = int(ranks[: len(first)].sum())
    if len(ranks) > EXACT_VALUES_MAX:
        return _normal_p(ranks, len(first), observed)
    shares = _sum_shares(tuple(np.sort(ranks).tolist()), len(first))
    return float(min(1.0, 2 * min(shares[: observed + 1].sum(), shares[observed:].sum())))


def superiority(first: Sequence[float], second: Sequence[float]) -> float:
    """The effect size: how likely a value of the second group is above one of the first, ties by half; 0.5 is none."""
    differences = np.subtract.outer(np.array(second), np.array(first))
    return float((differences > 0).mean() + (differences == 0).mean() / 2)


def ratio_interval(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Interval:
    """How much the second group is above the first, as a share of it: 0.1 is 10% more. Values must be positive.

    The estimate is that of Hodges and Lehmann, the median of all ratios of two values; its bounds are those shifts that
    the rank test would not refuse. Four values a group are the least for 95%.
    """
    logs = np.sort(np.subtract.outer(np.log(np.array(second)), np.log(np.array(first))).ravel())
    estimate = _share(float(np.median(logs)))
    below = _shifts_below(len(first), len(second), (1 - confidence) / 2)
    return (
        Interval(estimate, _share(logs[below - 1]), _share(logs[-below])) if below else Interval(estimate, None, None)
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for there being several (Holm): each may be read as if it were the only one."""
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = highest
    return corrected


def _share(log_ratio: float) -> float:
    return math.expm1(log_ratio)


def _doubled_ranks(values: Floats) -> npt.NDArray[np.int64]:
    """Twice the rank of each value, so that the mean ranks of equal values are whole numbers."""
    below = np.less.outer(values, values).sum(axis=0)
    equal = np.equal.outer(values, values).sum(axis=0)
    ranks: npt.NDArray[np.int64] = (2 * below + equal + 1).astype(np.int64)
    return ranks


@lru_cache(maxsize=1024)
def _sum_shares(ranks: tuple[int, ...], size: int) -> Floats:
    """Of all ways to draw so many of the ranks, the share with each sum, by sum."""
    ways = np.zeros((size + 1, sum(ranks) + 1))
    ways[0, 0] = 1.0
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    shares: Floats = ways[size] / ways[size].sum()
    return shares


def _normal_p(ranks: npt.NDArray[np.int64], size: int, observed: int) -> float:
    count = len(ranks)
    rest = count - size
    _, ties = np.unique(ranks, return_counts=True)
    spread = (count + 1) - float((ties.astype(np.float64) ** 3 - ties).sum()) / (count * (count - 1))
    deviation = math.sqrt(size * rest / 12 * spread)
    distance = abs(observed / 2 - size * (count + 1) / 2) - 0.5
    return 1.0 if deviation == 0 else min(1.0, math.erfc(max(0.0, distance) / deviation / math.sqrt(2)))


@lru_cache(maxsize=256)
def _shifts_below(first: int, second: int, tail: float) -> int:
    """Which of the sorted differences, counted from an end, is the interval's bound; 0 if none is."""
    if first + second > EXACT_VALUES_MAX:
        deviation = math.sqrt(first * second * (first + second + 1) / 12)
        return max(0, math.floor(first * second / 2 - NormalDist().inv_cdf(1 - tail) * deviation))
    shares = _sum_shares(tuple(range(2, 2 * (first + second) + 1, 2)), first)
    cumulated = np.cumsum(shares[first * (first + 1) :: 2])  # by U, the sum of ranks above its least
    return int(np.searchsorted(cumulated, tail, side="right"))


def _binomial_tail(count: int, tail: float) -> int:
    """How many order statistics from an end the bound of the median is; 0 if even the outermost is too far in."""
    below, cumulated = 0, 0.0
    while below < count // 2:
        cumulated += math.comb(count, below) / 2**count
        if cumulated > tail:
            break
        below += 1
    return below
