"""Percentiles of one run with intervals that know that its latencies come in clusters.

The samples of a run are not independent: what is slow is slow together. So blocks of time are drawn instead of samples,
and what is above a percentile is counted in clusters: Kunsch, The jackknife and the bootstrap for general stationary
observations, Annals of Statistics 17 (1989), with the non-overlapping blocks of Carlstein.
"""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from market_spread.common.hdr.codec import HIGHEST_US
from market_spread.common.hdr.histogram import CLUSTERS_MIN, HdrCounts, bucket_indices, highest_values
from market_spread.common.wire.codec import Int64s

BLOCK_US = 5_000_000
DRAWS = 1_000
CLUSTER_GAP_US = 1_000_000
# With fewer the 2.5th to 97.5th percentile of the draws covers less than nine times in ten.
BLOCKS_MIN = 10
_TAIL_FROM = 95.0
_SEED = 20_240_229

Floats = npt.NDArray[np.float64]


def intervals_and_clusters(
    intended_us: Int64s, latency_us: Int64s, names: Iterable[str]
) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """95% intervals of percentiles, and how many clusters of time the samples not below each form; names as `p99.9`.

    Of latencies (n,) by their intended times (n,), microseconds, in any order. A percentile without 10 samples above it
    has neither; an interval, from `low_ns` to `high_ns`, needs 10 clusters and 10 blocks. It is that of a block
    bootstrap: blocks of 5 s, 1,000 draws, always the same.
    """
    total = HdrCounts(latency_us)
    percents = {name: percent for name in names if total.supports(percent := _percent(name))}
    if not percents:
        return {}, {}
    order = np.argsort(intended_us, kind="stable")
    age_us, latency_us = intended_us[order] - intended_us[order[0]], latency_us[order]
    buckets = bucket_indices(np.clip(latency_us, 0, HIGHEST_US))
    lowest = bucket_indices(np.minimum(total.percentiles(list(percents.values())), HIGHEST_US))
    clusters = {name: count_clusters(age_us[buckets >= of]) for name, of in zip(percents, lowest, strict=True)}
    if (blocks := -(-int(age_us[-1]) // BLOCK_US)) < BLOCKS_MIN:
        return {}, clusters
    interval_ns = _bootstrap(age_us, blocks, buckets, total.max_us)
    return {name: interval_ns(percents[name]) for name, n in clusters.items() if n >= CLUSTERS_MIN}, clusters


def is_of_tail(name: str) -> bool:
    """Whether the percentile, as `p99.9`, is one that needs clusters to be shown."""
    return _percent(name) >= _TAIL_FROM


def count_clusters(times_us: Int64s) -> int:
    """How many clusters ascending times (n,) form: a gap of more than 1 s begins a new one.

    One that lasts longer than a block counts once for each block that it fills: samples that are spread over the whole
    run without a gap are many observations, not one, as far as the bootstrap takes blocks to be independent.
    """
    if not len(times_us):
        return 0
    starts = np.flatnonzero(np.diff(times_us, prepend=times_us[0] - 2 * CLUSTER_GAP_US) > CLUSTER_GAP_US)
    ends = np.append(starts[1:], len(times_us)) - 1
    return int((1 + (times_us[ends] - times_us[starts]) // BLOCK_US).sum())


def _percent(name: str) -> float:
    return float(name.removeprefix("p"))


def _bootstrap(age_us: Int64s, blocks: int, buckets: Int64s, max_us: int) -> Callable[[float], dict[str, int]]:
    """The 2.5th to 97.5th percentile of the drawn percentiles, by percentile, each from a histogram of whole blocks."""
    of_block = np.minimum(age_us // BLOCK_US, blocks - 1)
    of_bucket = np.bincount(buckets)
    used, slot_of = np.flatnonzero(of_bucket), np.cumsum(of_bucket > 0) - 1
    counts = np.bincount(of_block * len(used) + slot_of[buckets], minlength=blocks * len(used))
    # (used, blocks): a row for each bucket, of which only some are looked at.
    below = np.ascontiguousarray(np.cumsum(counts.reshape(blocks, -1), axis=1).T, np.float64)
    rng = np.random.default_rng(_SEED)
    drawn = rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=DRAWS).astype(np.float64)
    samples = drawn @ below[-1]

    def interval_ns(percent: float) -> dict[str, int]:
        slots = _first_reaching(np.maximum(1, np.floor(percent * samples / 100 + 0.5)), below, drawn)
        values = np.sort(np.minimum(highest_values(used[slots]), max_us))
        low, high = np.percentile(values, [2.5, 97.5], method="inverted_cdf")
        return {"low_ns": 1000 * int(low), "high_ns": 1000 * int(high)}

    return interval_ns


def _first_reaching(ranks: Floats, below: Floats, drawn: Floats) -> Int64s:
    """For each draw the first bucket up to which the drawn blocks hold so many samples; the last one if none does."""
    first, last = np.zeros(len(drawn), np.int64), np.full(len(drawn), len(below) - 1)
    while (first < last).any():
        middle = (first + last) // 2
        reached = np.einsum("ij,ij->i", drawn, below[middle]) >= ranks
        first, last = np.where(reached, first, np.minimum(middle + 1, last)), np.where(reached, middle, last)
    return first
