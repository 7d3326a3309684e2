"""Change points of a series: E-divisive (Matteson and James, 2014), the published algorithm.

The series is divided where the energy distance of what is before and after is largest, if that is more than chance
makes of the same values in another order; then so are the parts. It assumes no distribution, and finds several changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SEGMENT_MIN = 5
PERMUTATIONS = 499
SIGNIFICANCE = 0.01


def change_points(values: Sequence[float], *, least_share: float, seed: int = 1) -> list[int]:
    """Where the values change: the index of the first value after each change, ascending.

    Values must be positive; they are compared as ratios. A change whose medians differ by less than least_share does
    not count. The same values and seed give the same answer.
    """
    logs = np.log(np.array(values, np.float64))
    found = sorted(_divide(logs, 0, len(logs), np.random.default_rng(seed)))
    return _that_matter(logs, found, np.log1p(least_share))


def _divide(logs: Floats, begin: int, end: int, rng: np.random.Generator) -> list[int]:
    if end - begin < 2 * SEGMENT_MIN:
        return []
    splits = _Splits.of(end - begin)
    distances = np.abs(np.subtract.outer(logs[begin:end], logs[begin:end]))
    statistic, at = splits.best(distances)
    if not _is_more_than_chance(statistic, distances, splits, rng):
        return []
    return [*_divide(logs, begin, begin + at, rng), begin + at, *_divide(logs, begin + at, end, rng)]


def _is_more_than_chance(statistic: float, distances: Floats, splits: "_Splits", rng: np.random.Generator) -> bool:
    """Whether the same values in an order of chance are seldom divided as well."""
    reached = 0
    for _ in range(PERMUTATIONS):
        order = rng.permutation(len(distances))
        reached += splits.best(distances[np.ix_(order, order)])[0] >= statistic
        if (1 + reached) / (1 + PERMUTATIONS) > SIGNIFICANCE:
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Splits:
    """All ways to take two neighbouring parts of a series, the first from its begin: to at, and from there to to.

    The second need not reach to the end: so a change that goes back again is found, too.
    """

    at: npt.NDArray[np.int64]
    to: npt.NDArray[np.int64]

    @staticmethod
    def of(count: int) -> "_Splits":
        at, to = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
        legal = (at >= SEGMENT_MIN) & (to - at >= SEGMENT_MIN)
        return _Splits(at[legal], to[legal])

    def best(self, distances: Floats) -> tuple[float, int]:
        """The largest scaled energy distance of the two parts, and where the second begins."""
        sums = np.zeros((len(distances) + 1, len(distances) + 1))
        sums[1:, 1:] = distances.cumsum(0).cumsum(1)
        before, after = self.at.astype(np.float64), (self.to - self.at).astype(np.float64)
        within_before, across = sums[self.at, self.at], sums[self.at, self.to]
        between = across - within_before
        within_after = sums[self.to, self.to] - 2 * across + within_before
        energy = (
            2 * between / (before * after)
            - within_before / (before * (before - 1))
            - within_after / (after * (after - 1))
        )
        scaled = energy * before * after / (before + after)
        best = int(np.argmax(scaled))
        return float(scaled[best]), int(self.at[best])


def _that_matter(logs: Floats, found: list[int], least_log: float) -> list[int]:
    """The changes without those whose sides differ too little, the smallest left out first."""
    left = list(found)
    while left:
        edges = [0, *left, len(logs)]
        medians = [np.median(logs[begin:end]) for begin, end in pairwise(edges)]
        steps = np.abs(np.diff(medians))
        smallest = int(np.argmin(steps))
        if steps[smallest] >= least_log:
            break
        del left[smallest]
    return left
