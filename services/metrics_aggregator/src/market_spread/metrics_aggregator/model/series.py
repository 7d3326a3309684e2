"""What is known of one series: its value since the begin, and its intervals."""

from dataclasses import dataclass, field

from market_spread.common.hdr.codec import Buckets, encoded_of
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import METRICS, Metric
from market_spread.metrics_aggregator.model import intervals
from market_spread.metrics_aggregator.model.history import MIDDLE_WIDTH_NS, History, HistoryUsage
from market_spread.metrics_aggregator.model.intervals import HistogramInterval

# Intervals of less than half a second are merged when they come, and their cell is not made of them any more.
PARTS_MAX = MIDDLE_WIDTH_NS // 500_000_000
# What Python needs to keep a sum: its place by number, the list of its parts.
_KEPT_BYTES = 500


class HistogramHistory(History[HistogramInterval]):
    """Merges intervals into their series' total as well, and keeps by how much it grew in each cell of MIDDLE_WIDTH_NS.

    So what becomes old need not be decoded again. A sum stands beside the intervals that it was made of, so it is never
    taken for that of others. It is kept as varints until it is taken, counted in `held`. While a cell is open, there is
    a copy of the total at its begin.
    """

    def __init__(self, total: HdrCounts, held: HistoryUsage) -> None:
        """`total` is empty, and nobody else adds to it."""
        super().__init__(intervals.merged_histograms, held)
        self._total = total
        self._ended: dict[int, tuple[list[HistogramInterval], bytes]] = {}  # by the cell's number
        self._slots = 0  # how many of the total's are used
        self._begin(-1)

    def count(self, interval: HistogramInterval, buckets: Buckets) -> None:
        """Merge an interval, whose buckets these are, into the total. Those of one cell come one after the other."""
        number = _number(interval)
        if number != self._number:
            self._end()
            self._begin(number)
        if len(self._parts) <= PARTS_MAX:
            self._parts.append(interval)
        self._slots = max(self._slots, len(buckets.counts))
        self._total.merge_buckets(buckets, interval.exact)

    def sum_of(self, cell: list[HistogramInterval]) -> list[HistogramInterval]:
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
        return [intervals.sum_of(cell, encoded_of(payload))] if parts == cell else cell

    def drop_oldest(self) -> None:
        """Forget the sums, too, that could have it in them."""
        for number in list(self._ended):
            self._forget(number)
        self._begin(-1)
        super().drop_oldest()

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
            self.held.bytes += len(payload) + _KEPT_BYTES

    def _forget(self, number: int) -> None:
        if number in self._ended:
            _, payload = self._ended.pop(number)
            self.held.bytes -= len(payload) + _KEPT_BYTES


def _number(interval: HistogramInterval) -> int:
    return interval.start_unix_ns // MIDDLE_WIDTH_NS


@dataclass(frozen=True, slots=True)
class SeriesId:
    """Which series: labels are those of its metric, sorted by name."""

    name: str
    labels: tuple[tuple[str, str], ...]
    source: str
    run_id: str
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # It is looked up several times a push.
        object.__setattr__(self, "_hash", hash((self.name, self.labels, self.source, self.run_id)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def metric(self) -> Metric:
        return METRICS[self.name]

    def all_labels(self) -> dict[str, str]:
        return {**dict(self.labels), "source": self.source, "run_id": self.run_id}


class HistogramSeries:
    """All values since the begin, merged, and the intervals."""

    def __init__(self, held: HistoryUsage) -> None:
        self.merged = HdrCounts()
        self.history = HistogramHistory(self.merged, held)


class CounterSeries:
    """A counter that goes on over restarts of its source, and what it grew by in the intervals."""

    def __init__(self, held: HistoryUsage) -> None:
        self._by_epoch: dict[int, float] = {}
        self.value = 0.0
        self.history = History(intervals.summed, held)

    def add(self, epoch_unix_ns: int, since_epoch: float) -> float:
        """Take the value since that epoch, which never makes the sum smaller; what it has grown by."""
        before = self._by_epoch.get(epoch_unix_ns, 0.0)
        grown = max(0.0, since_epoch - before)
        self._by_epoch[epoch_unix_ns] = before + grown
        self.value = before + grown if len(self._by_epoch) == 1 else sum(self._by_epoch.values())
        return grown


class GaugeSeries:
    """A gauge's newest value, and its value at the end of the intervals."""

    def __init__(self, held: HistoryUsage) -> None:
        self._epoch_unix_ns, self.value = 0, 0.0
        self.history = History(intervals.last, held)

    def add(self, epoch_unix_ns: int, value: float) -> bool:
        """Take the value; False if it is from a process that a newer one has replaced."""
        if epoch_unix_ns < self._epoch_unix_ns:
            return False
        self._epoch_unix_ns, self.value = epoch_unix_ns, value
        return True


Series = HistogramSeries | CounterSeries | GaugeSeries
