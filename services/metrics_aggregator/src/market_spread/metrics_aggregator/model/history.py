"""The intervals of one series in bounded memory: fine ones while they are new, exactly merged ones later.

At the finest resolution the intervals of the last 15 minutes stay as they came (those of less than a second become
seconds), those of 3 hours are merged to 10 s, those of 24 hours to 60 s; what is older is dropped from the history, but
never from a series' total. So a series has at most 900 + 990 + 1,260 intervals, and some at the edges. How many bytes
these take depends on the histograms: a store holds them to its bound by coarser resolutions (`Resolution.coarser`).
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Generic

from market_spread.metrics_aggregator.model.intervals import Interval, bytes_of

SECOND_NS = 1_000_000_000
LEVEL_MAX = 8
MIDDLE_WIDTH_NS = 10 * SECOND_NS
_AGE_MAX_NS = 86_400 * SECOND_NS
# What leaves the middle age leaves it together, so that it is merged once.
_LEAVING_NS = 60 * SECOND_NS

_start = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Up to which ages, nanoseconds, intervals stay as they came and are merged to MIDDLE_WIDTH_NS.

    Beyond they are merged to `coarse_width_ns`. Each level halves the ages and doubles that width.
    """

    level: int = 0
    fine_ns: int = 900 * SECOND_NS
    middle_ns: int = 10_800 * SECOND_NS
    coarse_width_ns: int = 60 * SECOND_NS

    def coarser(self) -> "Resolution | None":
        """The next one; None if this is the last."""
        if self.level == LEVEL_MAX:
            return None
        return Resolution(self.level + 1, self.fine_ns // 2, self.middle_ns // 2, 2 * self.coarse_width_ns)


@dataclass(slots=True)
class HistoryUsage:
    """What histories hold. bytes: what their intervals take; dropped: how many were too old, or made room."""

    bytes: int = 0
    dropped: int = 0


class History(Generic[Interval]):
    """Intervals of one series. They may come late, in any order; those of one cell are merged, none is lost early."""

    def __init__(self, merge: Callable[[Sequence[Interval]], Interval], held: HistoryUsage) -> None:
        """`merge` makes one interval of several; what they take is counted in `held`."""
        self.merge = merge
        self._fine: list[Interval] = []
        self._middle: list[Interval] = []
        self._coarse: list[Interval] = []
        self.held = held
        self._nothing_before = 0  # the newest time at which the next interval becomes old

    def __len__(self) -> int:
        return len(self._fine) + len(self._middle) + len(self._coarse)

    def __iter__(self) -> Iterator[Interval]:
        """Oldest first."""
        return iter(sorted((*self._coarse, *self._middle, *self._fine), key=_start))

    def add(self, interval: Interval, newest_unix_ns: int, resolution: Resolution) -> None:
        """Take an interval into the place that its age asks for: the distance of its end from the newest time."""
        age_ns = newest_unix_ns - interval.end_unix_ns
        if age_ns <= resolution.fine_ns:
            self._add_fine(interval)
            if newest_unix_ns < self._nothing_before:
                return
        elif age_ns <= resolution.middle_ns:
            self._put(self._middle, MIDDLE_WIDTH_NS, [interval])
        elif age_ns <= _AGE_MAX_NS:
            self._put(self._coarse, resolution.coarse_width_ns, [interval])
        else:
            self.held.dropped += 1
        self.age(newest_unix_ns, resolution)

    def age(self, newest_unix_ns: int, resolution: Resolution) -> None:
        """Merge whole cells that have become old, and drop what is too old. Cheap if there is nothing to do."""
        for cell in self._leaving(self._fine, MIDDLE_WIDTH_NS, newest_unix_ns - resolution.fine_ns):
            self._put(self._middle, MIDDLE_WIDTH_NS, cell)
        for cell in self._leaving(self._middle, _LEAVING_NS, newest_unix_ns - resolution.middle_ns):
            self._put(self._coarse, resolution.coarse_width_ns, cell)
        while self._coarse and self._coarse[0].end_unix_ns < newest_unix_ns - _AGE_MAX_NS:
            self._drop_first(self._coarse)
        self._nothing_before = min(
            _cell_end(self._fine, MIDDLE_WIDTH_NS) + resolution.fine_ns,
            _cell_end(self._middle or self._fine, _LEAVING_NS) + resolution.middle_ns,
        )

    def coarsen(self, newest_unix_ns: int, resolution: Resolution) -> None:
        coarse, self._coarse = self._coarse, []
        self.held.bytes -= sum(bytes_of(interval) for interval in coarse)
        width_ns = resolution.coarse_width_ns
        for _, cell in groupby(coarse, key=lambda interval: interval.start_unix_ns // width_ns):
            self._put(self._coarse, width_ns, list(cell))
        self.age(newest_unix_ns, resolution)

    def drop_oldest(self) -> None:
        """Forget the oldest interval, if there is one."""
        for tier in (self._coarse, self._middle, self._fine):
            if tier:
                self._drop_first(tier)
                return

    def _add_fine(self, interval: Interval) -> None:
        fine = self._fine
        place = len(fine)
        if not fine or interval.start_unix_ns < fine[-1].start_unix_ns:
            place = bisect_right(fine, interval.start_unix_ns, key=_start)
            self._nothing_before = 0
        if place and interval.end_unix_ns - fine[place - 1].start_unix_ns <= SECOND_NS:
            self._replace(fine, place - 1, [fine[place - 1], interval])
            return
        fine.insert(place, interval)
        self.held.bytes += bytes_of(interval)

    def _leaving(self, tier: list[Interval], width_ns: int, before_unix_ns: int) -> Iterator[list[Interval]]:
        """The intervals of each cell that has ended before, taken away from the tier."""
        while tier:
            cell_end = _cell_end(tier, width_ns)
            if cell_end > before_unix_ns:
                return
            size = bisect_right(tier, cell_end - 1, key=_start)
            cell = tier[:size]
            del tier[:size]
            self.held.bytes -= sum(bytes_of(interval) for interval in cell)
            yield cell

    def _put(self, tier: list[Interval], width_ns: int, cell: list[Interval]) -> None:
        """Add intervals of one cell to what the tier has of it. They are not counted in `bytes` yet."""
        start = cell[0].start_unix_ns
        place = bisect_right(tier, start, key=_start)
        for near in (place - 1, place):
            if 0 <= near < len(tier) and tier[near].start_unix_ns // width_ns == start // width_ns:
                self._replace(tier, near, [tier[near], *cell])
                return
        merged = self.merge(cell)
        tier.insert(place, merged)
        self.held.bytes += bytes_of(merged)

    def _replace(self, tier: list[Interval], place: int, by: list[Interval]) -> None:
        self.held.bytes -= bytes_of(tier[place])
        tier[place] = self.merge(by)
        self.held.bytes += bytes_of(tier[place])

    def _drop_first(self, tier: list[Interval]) -> None:
        self.held.bytes -= bytes_of(tier[0])
        del tier[0]
        self.held.dropped += 1


def _cell_end(tier: list[Interval], width_ns: int) -> int:
    """Where the cell of the oldest interval ends, Unix nanoseconds; 0 if there is none."""
    return (tier[0].start_unix_ns // width_ns + 1) * width_ns if tier else 0
