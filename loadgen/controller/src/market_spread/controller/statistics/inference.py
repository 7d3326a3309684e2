"""Inference on small groups of runs, paired or not. The figures' distribution is assumed nowhere."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from scipy import stats

from market_spread.controller.statistics.intervals import Floats

# All signs of so many pairs are tried; of more pairs, a draw of as many.
_EXACT_PAIRS_MAX = 12
_PERMUTATIONS = 4096
_TAIL = 0.025  # beyond either bound of an interval: 95% lie within
# Keeps the statistic finite where all pairs differ by the same ratio.
_VARIANCE_MIN = 1e-12


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """An estimate, and the bounds that hold it with 95% confidence; None where the values are too few."""

    estimate: float
    low: float | None
    high: float | None

    def lies_within(self, limit: float) -> bool:
        return self.low is not None and self.high is not None and -limit <= self.low and self.high <= limit


def median_interval(values: Sequence[float]) -> ConfidenceInterval:
    """The median, between two order statistics. Six values are the least for 95%."""
    ordered = sorted(values)
    return _between(float(np.median(ordered)), ordered, int(stats.binom.ppf(_TAIL, len(ordered), 0.5)))


def max_t(log_ratios: Floats) -> tuple[list[float], list[float]]:
    """p of the paired test of each figure, alone and adjusted for all figures, two-sided.

    log_ratios: [pair, figure]; NaN where a pair lacks the figure. Westfall and Young (1993), single step: without a
    difference the sign of a pair is as likely the other one, of all its figures at once, so the largest t of all
    figures under other signs says how rare a t is. The signs are all there are up to 12 pairs, else a seeded draw;
    those observed are always among them. p cannot be below 2 / 2**pairs.
    """
    pairs = len(log_ratios)
    if pairs <= _EXACT_PAIRS_MAX:
        signs = np.array(list(product((1.0, -1.0), repeat=pairs)))  # the first are the observed ones
    else:
        signs = np.random.default_rng(1).choice((1.0, -1.0), (_PERMUTATIONS, pairs))
        signs[0] = 1.0
    there = ~np.isnan(log_ratios)
    values, counts = np.where(there, log_ratios, 0.0), np.maximum(there.sum(axis=0), 2)
    means = signs @ values / counts
    variances = np.maximum((values**2).sum(axis=0) - counts * means**2, 0.0) / (counts - 1)
    t = np.abs(means) / np.sqrt(variances / counts + _VARIANCE_MIN)
    observed = t[0] * (1 - 1e-9)  # sums of the same terms in another order are equal
    alone, adjusted = (t >= observed).mean(axis=0), (t.max(axis=1, keepdims=True) >= observed).mean(axis=0)
    return alone.tolist(), adjusted.tolist()


def paired_shift(log_ratios: Sequence[float]) -> ConfidenceInterval:
    """How much the second run of a pair is above the first, as a share: 0.1 is 10% more.

    Hodges and Lehmann's estimate, the median of the means of two pairs (Walsh averages); its bounds are those shifts
    that Wilcoxon's signed-rank test would not refuse. Six pairs are the least for 95%.
    """
    logs, count = np.asarray(log_ratios), len(log_ratios)
    walsh = np.sort(np.add.outer(logs, logs)[np.triu_indices(count)] / 2)
    return _between(float(np.median(walsh)), walsh.tolist(), _signed_rank_bound(count), math.expm1)


def rank_sum(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Mann and Whitney's test: p, two-sided, and how likely a value of the second group is above one of the first.

    Exact without ties; with ties exact for small groups, and by a seeded draw of the orders for others.
    """
    ties = min(len(first), len(second)) > 1 and len({*first, *second}) < len(first) + len(second)
    method = stats.PermutationMethod(n_resamples=13_000, rng=np.random.default_rng(1)) if ties else "auto"
    found = stats.mannwhitneyu(second, first, method=method)
    return float(found.pvalue), float(found.statistic) / (len(first) * len(second))


def unpaired_shift(first: Sequence[float], second: Sequence[float]) -> ConfidenceInterval:
    """How much the second group is above the first, as a share of it. Values must be positive.

    Hodges and Lehmann's estimate, the median of all ratios of two values; its bounds by the large-sample approximation
    (Hollander and Wolfe, 1999, 4.35). Four values a group are the least for 95%.
    """
    logs = np.sort(np.subtract.outer(np.log(second), np.log(first)).ravel())
    deviation = math.sqrt(logs.size * (len(first) + len(second) + 1) / 12)
    below = math.floor(logs.size / 2 - stats.norm.isf(_TAIL) * deviation)
    return _between(float(np.median(logs)), logs.tolist(), max(0, below), math.expm1)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for there being several (Holm): each may be read as if it were the only one."""
    order, corrected = np.argsort(p_values, kind="stable"), np.zeros(len(p_values))
    each = np.asarray(p_values, np.float64)[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, each))
    return corrected.tolist()


def counts_differ_p(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Fisher's exact test: p, two-sided, of two shares, each given by how many have it and how many do not."""
    return float(stats.fisher_exact([first, second]).pvalue)


@cache
def _signed_rank_bound(count: int) -> int:
    """Up to which Wilcoxon's signed-rank sum of so many pairs is in no more than 2.5% of cases."""
    ways = np.ones(1)  # by rank sum, in how many of all signs it occurs
    for rank in range(1, count + 1):
        ways = np.convolve(ways, [1.0, *[0.0] * (rank - 1), 1.0])
    return int(np.searchsorted(ways.cumsum() / 2.0**count, _TAIL, side="right"))


def _between(
    estimate: float, ordered: Sequence[float], below: int, shown: Callable[[float], float] = float
) -> ConfidenceInterval:
    """The estimate between the below-th value from either end; 0 is beyond them all."""
    if below == 0:
        return ConfidenceInterval(shown(estimate), None, None)
    return ConfidenceInterval(shown(estimate), shown(ordered[below - 1]), shown(ordered[-below]))
