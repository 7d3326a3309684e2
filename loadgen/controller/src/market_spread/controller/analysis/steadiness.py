"""Whether a figure that was taken every second stayed what it was: change points of its level, and what they mean.

Binary segmentation (Vostrikova, Soviet Mathematics Doklady 24, 1981) of logarithms under a running median of five,
which takes out a slow second and the standstill of a boundary. A segment is split where the CUSUM is above what noise
makes of it whose values depend on those before them, or where the levels are too far apart for noise of that size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np

from market_spread.common.wire.codec import Int64s
from market_spread.controller.statistics.intervals import Floats

# With fewer, noise that depends on what was before is called a change in more than 1 of 100 runs.
POINTS_MIN = 40
CHANGE_SHARE_MIN, LENGTH_SHARE_MIN = 0.5, 0.1
# Of independent noise the CUSUM's supremum is above 1.63 in 1 of 100 runs (Kolmogorov); this is so much more because
# the dependence is estimated from few points. Both limits were set in simulation:
# tests/unit/controller/analysis/test_steadiness.py.
_CUSUM_MIN, _APART_MIN = 3.5, 10.0
_WINDOWS = 6
_AUTOCORRELATION_MAX = 0.9
_LEAST_SHARE = 0.01
_AROUND = 2


class Unsteady(Enum):
    """What a change means."""

    TOO_SLOW_AT_START = "too_slow_at_start"
    SLOWER_AT_END = "slower_at_end"
    SLOWER_BETWEEN = "slower_between"


@dataclass(frozen=True, slots=True)
class LevelShift:
    """A part of the run in which the figure was higher: from and to, in seconds as given, and by how much.

    share: how much higher, as a share of the run's median.
    """

    kind: Unsteady
    begin_s: float
    end_s: float
    size: float
    share: float


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The changes that were found, in order of time; unknown: why it was not looked at, else empty."""

    changes: tuple[LevelShift, ...] = ()
    unknown: str = ""

    def of_kind(self, kind: Unsteady) -> LevelShift | None:
        return next((change for change in self.changes if change.kind is kind), None)


def steadiness(values: Sequence[float] | Floats, seconds: Sequence[float] | Floats | None = None) -> Steadiness:
    """Whether positive values (n,) of seconds that follow each other, such as medians of latency or CPU, kept a level.

    seconds: the time of each, ascending; by default 0, 1, 2, ... A change counts if the level differs by at least half
    of the run's median for at least a tenth of the run. What is higher at the begin came from a warm-up that was too
    short; what is higher at the end, from a lag that grows or a system that got slower. Not looked at with less than 40
    values.
    """
    if len(values) < POINTS_MIN:
        return Steadiness(unknown=f"too short: {len(values)} seconds have a value, and {POINTS_MIN} are needed")
    series = np.asarray(values, np.float64)
    times = np.arange(len(series), dtype=np.float64) if seconds is None else np.asarray(seconds, np.float64)
    if (median := float(np.median(series))) <= 0:
        return Steadiness(unknown="the median is 0")
    edges = _edges(series)
    edges_s = [float(times[min(edge, len(times) - 1)]) for edge in edges]
    levels = [float(np.median(series[first:end])) for first, end in pairwise(edges)]
    lowest, changes = min(levels), []
    is_high = [level - lowest >= CHANGE_SHARE_MIN * median for level in levels]
    for first, end in np.flatnonzero(np.diff(is_high, prepend=False, append=False)).reshape(-1, 2).tolist():
        kind = Unsteady.SLOWER_BETWEEN
        if first == 0:
            kind = Unsteady.TOO_SLOW_AT_START
        elif end == len(levels):
            kind = Unsteady.SLOWER_AT_END
        size = max(levels[first:end]) - lowest
        changes.append(LevelShift(kind, edges_s[first], edges_s[end], size, size / median))
    return Steadiness(tuple(changes))


def medians_by_second(times_us: Int64s, values_us: Int64s) -> tuple[Floats, Floats]:
    """The median of the values (n,) of each second that has some by their times (n,), and these seconds, ascending.

    Times are Unix microseconds. The lower one of the two in the middle is taken.
    """
    seconds = times_us // 1_000_000
    order = np.lexsort((values_us, seconds))
    found, first, counts = np.unique(seconds[order], return_index=True, return_counts=True)
    medians: Floats = values_us[order][first + (counts - 1) // 2].astype(np.float64)
    return medians, found.astype(np.float64)


def _edges(series: Floats) -> list[int]:
    """Where segments begin, with 0, and the end of the last one."""
    logs = np.log(np.maximum(series, np.median(series) * _LEAST_SHARE))
    # The median of each value and the two on either side: what is high for two seconds or less is gone.
    padded = np.pad(logs, _AROUND, mode="reflect")
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * _AROUND + 1), axis=1)
    deviation, noise = _long_run_deviation(logs), _noise(logs, smooth)
    shortest = max(2, -(-len(series) // round(1 / LENGTH_SHARE_MIN)))

    def divided(first: int, end: int) -> list[int]:
        """Where the level changes, if the sums say so, or the two levels are far apart for the noise."""
        values, count = smooth[first:end], end - first
        if count < 2 * shortest:
            return []
        sums = np.abs(np.cumsum(values - values.mean()))[shortest - 1 : count - shortest]
        at = int(np.argmax(sums))
        apart = abs(float(np.median(values[: at + shortest])) - float(np.median(values[at + shortest :])))
        if not (sums[at] > _CUSUM_MIN * deviation * np.sqrt(count) or apart > _APART_MIN * noise):
            return []
        split = first + at + shortest
        return [*divided(first, split), split, *divided(split, end)]

    return [0, *divided(0, len(series)), len(series)]


def _noise(logs: Floats, smooth: Floats) -> float:
    """Standard deviation around a line, the median of several windows: a step is in few of them."""
    found = []
    for window in np.array_split(np.arange(len(logs)), _WINDOWS):
        slope, level = np.polyfit(window, smooth[window], 1)
        found.append(1.4826 * float(np.median(np.abs(logs[window] - slope * window - level))))
    return float(np.median(found))


def _long_run_deviation(values: Floats) -> float:
    """Standard deviation of the sum of n values over the square root of n, as if the level were constant.

    By differences, which a few steps, spikes or a slow climb hardly touch: of an AR(1), those at lag 2 have 1 + phi
    times the variance of those at lag 1.
    """
    one, two = (_variance(values[lag:] - values[:-lag]) for lag in (1, 2))
    if one == 0:
        return 0.0
    phi = min(max(two / one - 1, 0.0), _AUTOCORRELATION_MAX)
    return float(np.sqrt(one / (2 * (1 - phi)) * (1 + phi) / (1 - phi)))


def _variance(differences: Floats) -> float:
    """Of what is not far out, by the median of the absolute differences."""
    differences = differences - np.median(differences)
    limit = 2.5 * 1.4826 * float(np.median(np.abs(differences)))
    return float(np.mean(np.clip(differences, -limit, limit) ** 2))
