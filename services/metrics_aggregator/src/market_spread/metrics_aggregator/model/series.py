"""What is known of one series: its value since the begin, and its intervals."""

from dataclasses import dataclass, field

from market_spread.common.hdr.codec import Buckets
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import METRICS, Metric
from market_spread.metrics_aggregator.model.history import History, HistoryUsage, Resolution
from market_spread.metrics_aggregator.model.intervals import (
    HistogramInterval,
    Point,
    last,
    merged_histograms,
    summed,
)
from market_spread.metrics_aggregator.model.window_sums import CellSums


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
        """The registered metric of that name."""
        return METRICS[self.name]

    def all_labels(self) -> dict[str, str]:
        """The metric's labels, the source and the run."""
        return {**dict(self.labels), "source": self.source, "run_id": self.run_id}


@dataclass(frozen=True, slots=True)
class Now:
    """What an interval's age is measured against: the newest time of its run, and how fine its history is."""

    newest_unix_ns: int
    resolution: Resolution


class HistogramSeries:
    """All values since the begin, merged, and the intervals."""

    def __init__(self, held: HistoryUsage) -> None:
        self.merged = HdrCounts()
        self._sums = CellSums(self.merged, held)
        self.history = History(merged_histograms, held, self._sums)

    def add(self, interval: HistogramInterval, buckets: Buckets, now: Now) -> HistogramInterval:
        """Merge the values of one interval, whose buckets these are; returns the interval."""
        self._sums.add(interval, buckets)
        self.history.add(interval, now.newest_unix_ns, now.resolution)
        return interval


class CounterSeries:
    """A counter that goes on over restarts of its source, and what it grew by in the intervals."""

    def __init__(self, held: HistoryUsage) -> None:
        self._by_epoch: dict[int, float] = {}
        self.value = 0.0
        self.history = History(summed, held)

    def add(self, epoch_unix_ns: int, since_epoch: float, start_unix_ns: int, end_unix_ns: int, now: Now) -> Point:
        """Take the counter's value since that epoch; it never makes the sum over epochs smaller. What it has grown by.

        start_unix_ns, end_unix_ns: the span in which it has grown.
        """
        before = self._by_epoch.get(epoch_unix_ns, 0.0)
        grown = max(0.0, since_epoch - before)
        self._by_epoch[epoch_unix_ns] = before + grown
        self.value = before + grown if len(self._by_epoch) == 1 else sum(self._by_epoch.values())
        interval = Point(start_unix_ns, end_unix_ns, grown)
        self.history.add(interval, now.newest_unix_ns, now.resolution)
        return interval


class GaugeSeries:
    """A gauge's newest value, and its value at the end of the intervals."""

    def __init__(self, held: HistoryUsage) -> None:
        self._epoch_unix_ns = 0
        self.value = 0.0
        self.history = History(last, held)

    def add(self, epoch_unix_ns: int, point: Point, now: Now) -> Point | None:
        """Take the value, unless it is from a process that a newer one has replaced; returns it if it was taken."""
        if epoch_unix_ns < self._epoch_unix_ns:
            return None
        self._epoch_unix_ns = epoch_unix_ns
        self.value = point.value
        self.history.add(point, now.newest_unix_ns, now.resolution)
        return point


Series = HistogramSeries | CounterSeries | GaugeSeries
