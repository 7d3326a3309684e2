"""Inference on runs: on small groups, paired or not, and on series. The figures' distribution is assumed nowhere."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice, product

import numpy as np
from scipy import stats

from market_spread.common.wire.codec import Int64s
from market_spread.controller.statistics.intervals import Floats

# Of change points.
SEGMENT_MIN = 5
PERMUTATIONS, SIGNIFICANCE = 499, 0.05
# The least autocorrelation of neighbours that is assumed of a machine's runs, which short series cannot show.
MEMORY_MIN, _MEMORY_MAX = 0.5, 0.95
_FORGOTTEN = 0.02

# All signs of so many pairs are tried; of more pairs, a draw of as many.
_EXACT_PAIRS_MAX, _DRAWN_SIGNS = 12, 4096
_TAIL = 0.025  # beyond either bound of an interval: 95% lie within
# Keeps the statistic finite where all pairs differ by the same ratio.
_VARIANCE_MIN = 1e-12


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """An estimate, and the bounds that hold it with 95% confidence; None where the values are too few."""

    estimate: float
    low: float | None
    high: float | None


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
        signs = np.random.default_rng(1).choice((1.0, -1.0), (_DRAWN_SIGNS, pairs))
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

    Exact for small groups; for others by the normal approximation, or with ties by a seeded draw of the orders.
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


def change_points(
    series: Sequence[Sequence[float]], *, least_shares: Sequence[float], memory_min: float, significance: float
) -> list[list[int]]:
    """Where each of the series changes: the index of the first value after each change, ascending.

    series: of the figures of the same runs, positive; they are compared as ratios. A change whose medians differ by
    less than the figure's least share does not count. memory_min: the least lag-1 autocorrelation that is assumed.
    significance: how likely a change is found in any of the series if there is none. The same values give the same
    answer.

    E-divisive (Matteson and James, 2014): a series is divided where the energy distance of what is before and after is
    largest, if that is more than chance makes; then so are its parts. The published test takes the values in another
    order, as if runs an hour apart were as alike as neighbours; on a machine that drifts it finds changes that are
    none. Here chance is an autoregressive sieve (Bühlmann, 1997): series with the autocorrelation of this one, without
    its change. All figures of a run are permuted together, so the largest statistic of any is what each must reach
    (Westfall and Young, 1993).
    """
    logs = np.log(np.array(series, np.float64))
    rng = np.random.default_rng(1)

    @cache
    def changes(begin: int, end: int) -> list[int | None]:
        """Of each figure where it changes most between the two; None if that is not more than chance makes."""
        segment = logs[:, begin:end]
        observed, ats = _best_split(segment)
        reached = np.zeros(len(segment))
        for drawn in islice(_without_change(segment, memory_min, rng), PERMUTATIONS):
            reached += _best_split(drawn)[0].max() >= observed
            if (1 + reached.min()) / (1 + PERMUTATIONS) > significance:
                break
        is_change = (1 + reached) / (1 + PERMUTATIONS) <= significance
        return [begin + int(at) if found else None for at, found in zip(ats, is_change, strict=True)]

    def divided(figure: int, begin: int, end: int) -> list[int]:
        at = changes(begin, end)[figure] if end - begin >= 2 * SEGMENT_MIN else None
        return [] if at is None else [*divided(figure, begin, at), at, *divided(figure, at, end)]

    return [
        _that_matter(row, divided(figure, 0, logs.shape[1]), math.log1p(least))
        for figure, (row, least) in enumerate(zip(logs, least_shares, strict=True))
    ]


def _without_change(logs: Floats, memory_min: float, rng: np.random.Generator) -> Iterator[Floats]:
    """Draws series [figure, run] without a change: innovations in another order, each remembered by a share.

    The memory is that of the median series, a standard deviation up.
    """
    from scipy import signal  # nothing else takes the time to import it

    rests, count = [_without_steps(row) for row in logs], logs.shape[1]
    rest = np.array([np.concatenate(parts) for parts in rests])
    power = (rest**2).sum(axis=1)
    lagged = np.divide((rest[:, 1:] * rest[:, :-1]).sum(axis=1), power, out=np.zeros(len(rest)), where=power > 0)
    # Each mean that was taken off took a part of the autocorrelation with it (Kendall, 1954).
    likely = float(np.median(lagged + np.array([len(parts) for parts in rests]) * (1 + 4 * lagged) / count))
    memory = min(max(likely + math.sqrt(max(1 - likely**2, 0.05) / count), memory_min), _MEMORY_MAX)
    innovations = np.hstack([rest[:, :1] * math.sqrt(1 - memory**2), rest[:, 1:] - memory * rest[:, :-1]])
    # As many runs go before as it takes to forget the first.
    forget = math.ceil(math.log(_FORGOTTEN) / math.log(max(memory, _FORGOTTEN)))
    while True:
        order = np.concatenate([rng.permutation(count) for _ in range(1 + -(-forget // count))])[-count - forget :]
        yield signal.lfilter([1.0], [1.0, -memory], innovations[:, order])[:, -count:]


@lru_cache(maxsize=8)
def _splits(count: int) -> tuple[Int64s, Int64s]:
    """All ways to take two neighbouring parts of a series, the first from its begin: to at, and from there to to.

    The second need not reach to the end: so a change that goes back again is found, too.
    """
    at, to = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
    legal = (at >= SEGMENT_MIN) & (to - at >= SEGMENT_MIN)
    return at[legal], to[legal]


def _best_split(logs: Floats) -> tuple[Floats, Int64s]:
    """By series the largest energy distance of two parts, by its mean distance, and where the second begins."""
    at, to = _splits(logs.shape[1])
    distances = np.abs(logs[:, :, np.newaxis] - logs[:, np.newaxis, :])
    means = distances.mean(axis=(1, 2))
    sums = np.zeros((len(logs), logs.shape[1] + 1, logs.shape[1] + 1))
    sums[:, 1:, 1:] = distances.cumsum(1).cumsum(2)
    before, after = at.astype(np.float64), (to - at).astype(np.float64)
    within_before, across = sums[:, at, at], sums[:, at, to]
    within_after = sums[:, to, to] - 2 * across + within_before
    energy = (
        2 * (across - within_before) / (before * after)
        - within_before / (before * (before - 1))
        - within_after / (after * (after - 1))
    )
    scaled = energy * before * after / (before + after) / np.where(means > 0, means, 1.0)[:, np.newaxis]
    best = scaled.argmax(axis=1)
    return scaled[np.arange(len(logs)), best], at[best]


def _without_steps(row: Floats) -> list[Floats]:
    """The series in parts, each without its mean: divided where it changes most, and its long parts once more."""
    parts = [part for half in _halves(row) for part in (_halves(half) if len(half) >= 4 * SEGMENT_MIN else [half])]
    return [part - part.mean() for part in parts]


def _halves(row: Floats) -> list[Floats]:
    return np.split(row, _best_split(row[np.newaxis])[1])


def _that_matter(logs: Floats, found: list[int], least_log: float) -> list[int]:
    """The changes without those whose sides differ too little, the smallest left out first."""
    left = list(found)
    while left:
        steps = np.abs(np.diff([np.median(side) for side in np.split(logs, left)]))
        if steps.min() >= least_log:
            break
        del left[int(np.argmin(steps))]
    return left
