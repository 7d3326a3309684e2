"""What is known of one series: its value since the begin, and its intervals."""

from dataclasses import dataclass, field

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import METRICS, Metric
from market_spread.metrics_aggregator.model import intervals
from market_spread.metrics_aggregator.model.history import History, HistoryUsage


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
        self.history = History(intervals.merged_histograms, held)


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
