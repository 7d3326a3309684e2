"""What is known of one series: its value since the begin, and its newest intervals."""

from collections import deque
from dataclasses import dataclass

from market_spread.common.histogram import HdrCounts
from market_spread.common.metric_names import METRICS, Metric

INTERVALS_MAX = 600
RATE_WINDOW_NS = 10_000_000_000
# A source that works pushes every second; after two, its silence means that it has stopped.
_SILENCE_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class SeriesId:
    """Which series: labels are those of its metric, sorted by name."""

    name: str
    labels: tuple[tuple[str, str], ...]
    source: str
    run_id: str

    @property
    def metric(self) -> Metric:
        """The registered metric of that name."""
        return METRICS[self.name]

    def all_labels(self) -> dict[str, str]:
        """The metric's labels, the source and the run."""
        return {**dict(self.labels), "source": self.source, "run_id": self.run_id}


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when something was measured, Unix nanoseconds; the end is exclusive."""

    start_unix_ns: int
    end_unix_ns: int


@dataclass(frozen=True, slots=True)
class HistogramInterval:
    """A histogram of one interval, as it was pushed; values in microseconds."""

    span: Span
    encoded: bytes
    count: int
    max_us: int


@dataclass(frozen=True, slots=True)
class Point:
    """What a counter grew by in an interval, or what a gauge was at its end."""

    span: Span
    value: float


class HistogramSeries:
    """All values since the begin, merged, and the newest intervals."""

    def __init__(self) -> None:
        self.merged = HdrCounts()
        self.intervals: deque[HistogramInterval] = deque(maxlen=INTERVALS_MAX)

    def add(self, values: HdrCounts, encoded: bytes, span: Span) -> None:
        """Merge the values of one interval."""
        self.merged.merge(values)
        self.intervals.append(HistogramInterval(span, encoded, values.count, values.max_us))


class CounterSeries:
    """A counter that goes on over restarts of its source, and what it grew by in the newest intervals."""

    def __init__(self) -> None:
        self._by_epoch: dict[int, float] = {}
        self.value = 0.0
        self.intervals: deque[Point] = deque(maxlen=INTERVALS_MAX)

    def add(self, epoch_unix_ns: int, since_epoch: float, grown_in: Span) -> None:
        """Take the counter's value since that epoch; it never makes the sum over epochs smaller."""
        grown = max(0.0, since_epoch - self._by_epoch.get(epoch_unix_ns, 0.0))
        self._by_epoch[epoch_unix_ns] = self._by_epoch.get(epoch_unix_ns, 0.0) + grown
        self.value = sum(self._by_epoch.values())
        self.intervals.append(Point(grown_in, grown))

    def rate_per_s(self, now_unix_ns: int) -> float:
        """Growth per second in the last 10 s, or since the first interval if that is less."""
        if not self.intervals:
            return 0.0
        newest_ns = self.intervals[-1].span.end_unix_ns
        end_ns = newest_ns if now_unix_ns - newest_ns < _SILENCE_NS else now_unix_ns
        begin_ns = max(end_ns - RATE_WINDOW_NS, self.intervals[0].span.start_unix_ns)
        if begin_ns >= end_ns:
            return 0.0
        grown = sum(point.value * _share(point.span, begin_ns) for point in self.intervals)
        return grown / ((end_ns - begin_ns) / 1e9)


class GaugeSeries:
    """A gauge's newest value, and its value at the end of the newest intervals."""

    def __init__(self) -> None:
        self._epoch_unix_ns = 0
        self.value = 0.0
        self.intervals: deque[Point] = deque(maxlen=INTERVALS_MAX)

    def add(self, epoch_unix_ns: int, value: float, span: Span) -> None:
        """Take the value, unless it is from a process that a newer one has replaced."""
        if epoch_unix_ns >= self._epoch_unix_ns:
            self._epoch_unix_ns = epoch_unix_ns
            self.value = value
            self.intervals.append(Point(span, value))


Series = HistogramSeries | CounterSeries | GaugeSeries


def _share(span: Span, begin_ns: int) -> float:
    """Which part of the span lies after the begin."""
    if span.start_unix_ns >= begin_ns:
        return 1.0
    if span.end_unix_ns <= begin_ns:
        return 0.0
    return (span.end_unix_ns - begin_ns) / (span.end_unix_ns - span.start_unix_ns)
