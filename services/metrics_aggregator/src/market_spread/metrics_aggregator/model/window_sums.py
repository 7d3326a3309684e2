"""What a histogram's intervals add up to by cells, known while they come: once old, they need not be decoded again."""

from market_spread.common.hdr.codec import Buckets, encoded_of
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.metrics_aggregator.model.history import MIDDLE_WIDTH_NS, HistoryUsage
from market_spread.metrics_aggregator.model.intervals import HistogramInterval, sum_of

# Intervals of less than half a second are merged when they come, and their cell is not made of them any more.
PARTS_MAX = MIDDLE_WIDTH_NS // 500_000_000
# What Python needs to keep a sum: its place by number, the list of its parts.
_KEPT_BYTES = 500


class CellSums:
    """Merges intervals into their series' total, and keeps by how much it grew in each cell of MIDDLE_WIDTH_NS.

    A sum stands beside the intervals that it was made of, so it is never taken for that of others. It is kept as
    varints until it is taken, counted in `held`. While a cell is open, there is a copy of the total at its begin.
    """

    def __init__(self, total: HdrCounts, held: HistoryUsage) -> None:
        """`total` is empty, and nobody else adds to it."""
        self._total = total
        self._held = held
        self._ended: dict[int, tuple[list[HistogramInterval], bytes]] = {}  # by the cell's number
        self._slots = 0  # how many of the total's are used
        self._begin(-1)

    def add(self, interval: HistogramInterval, buckets: Buckets) -> None:
        """Merge an interval, whose buckets these are, into the total. Those of one cell come one after the other."""
        number = _number(interval)
        if number != self._number:
            self._end()
            self._begin(number)
        if len(self._parts) <= PARTS_MAX:
            self._parts.append(interval)
        self._slots = max(self._slots, len(buckets.counts))
        self._total.merge_buckets(buckets, interval.exact)

    def take(self, cell: list[HistogramInterval]) -> list[HistogramInterval]:
        """The sum alone if it is that of just these intervals of a cell, in their order; else the intervals.

        The sums of this cell and of older ones are forgotten.
        """
        number = _number(cell[0])
        if number == self._number:
            self._end()
            self._begin(-1)
        parts, payload = self._ended.get(number, ([], b""))
        for old in [known for known in self._ended if known <= number]:
            self._forget(old)
        return [sum_of(cell, encoded_of(payload))] if parts == cell else cell

    def clear(self) -> None:
        """Forget all sums."""
        for number in list(self._ended):
            self._forget(number)
        self._begin(-1)

    def _begin(self, number: int) -> None:
        self._number = number
        self._parts: list[HistogramInterval] = []
        self._before = self._total.counts[: self._slots].copy()

    def _end(self) -> None:
        """Keep the open cell's sum, unless it is of one interval, or of some that were merged since."""
        if 1 < len(self._parts) <= PARTS_MAX:
            self._forget(self._number)
            grown = self._total.counts[: self._slots].copy()
            grown[: len(self._before)] -= self._before
            payload = Buckets.of(grown).pack()
            self._ended[self._number] = (self._parts, payload)
            self._held.bytes += len(payload) + _KEPT_BYTES

    def _forget(self, number: int) -> None:
        if number in self._ended:
            _, payload = self._ended.pop(number)
            self._held.bytes -= len(payload) + _KEPT_BYTES


def _number(interval: HistogramInterval) -> int:
    return interval.start_unix_ns // MIDDLE_WIDTH_NS
