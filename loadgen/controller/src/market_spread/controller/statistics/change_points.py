"""Change points of series: E-divisive (Matteson and James, 2014), tested against series that remember.

A series is divided where the energy distance of what is before and after is largest, if that is more than chance makes;
then so are its parts. It assumes no distribution, and finds several changes. The published test takes the values in
another order, as if runs an hour apart were as alike as neighbours; on a machine that drifts it finds changes that are
none. Here chance is an autoregressive sieve (Bühlmann, 1997): series with the autocorrelation of this one, without its
change. All figures of a run are permuted together, so the largest statistic of any is what each must reach (Westfall
and Young, 1993).
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice

import numpy as np
from scipy import signal

from market_spread.common.wire.codec import Int64s
from market_spread.controller.statistics.intervals import Floats

SEGMENT_MIN = 5
PERMUTATIONS = 499
SIGNIFICANCE = 0.05

# The least autocorrelation of neighbours that is assumed of a machine's runs, which short series cannot show.
MEMORY_MIN = 0.5
_MEMORY_MAX = 0.95
_FORGOTTEN = 0.02


def change_points(
    series: Sequence[Sequence[float]],
    *,
    least_shares: Sequence[float],
    memory_min: float = MEMORY_MIN,
    significance: float = SIGNIFICANCE,
) -> list[list[int]]:
    """Where each of the series changes: the index of the first value after each change, ascending.

    series: of the figures of the same runs, positive; they are compared as ratios. A change whose medians differ by
    less than the figure's least share does not count. memory_min: the least lag-1 autocorrelation that is assumed.
    significance: how likely a change is found in any of the series if there is none. The same values give the same
    answer.
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
