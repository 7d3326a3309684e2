"""What a process measures between two pushes: its histograms, counters and gauges."""

import threading
from collections import Counter
from collections.abc import Mapping
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from market_spread.common.clock import Clock
from market_spread.common.hdr.histogram import Exact, HdrCounts
from market_spread.common.telemetry.metrics import METRICS, PARTITION_COMMITTED, Metric, MetricKind
from market_spread.v1.metrics_pb2 import IntervalHistogram, PushRequest, Sample, SeriesKey

# Figures by partition take so few series that no run has more than the aggregator takes.
PARTITION_SERIES_MAX = 128
# Of the partitions that have no series of their own; what is said of it is true of all of them together.
OTHERS = "others"
_UINT64_MAX = 2**64 - 1
_EXACT_FIELDS = ("count", "sum", "min", "max", "overflow", "negative")
_exact_fields = attrgetter(*_EXACT_FIELDS)


def pushes_missing(*, last: int, seen: int, dropped: int) -> int:
    """Pushes of an epoch that never came, by its highest sequence, how many came, and what the process says it dropped.

    Sequences begin at 1. What was dropped is among those below the last one, unless it came after it.
    """
    return max(last - seen, dropped)


class HistogramHandle:
    """A histogram that the process records into. Thread-safe."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self._values = HdrCounts()

    def record_us(self, values_us: npt.NDArray[np.int64]) -> None:
        """Record the values (n,), microseconds."""
        with self._lock:
            self._values.record(values_us)

    def _take(self) -> HdrCounts:
        taken, self._values = self._values, HdrCounts()
        return taken


class NumberHandle:
    """A counter of the current run, which is pushed from 0 on, or a gauge, once it is set. Thread-safe."""

    def __init__(self, lock: threading.Lock, kind: MetricKind) -> None:
        self._lock, self._kind, self._changed = lock, kind, False
        self._value: float | None = None
        self._begin()

    def add(self, number: float) -> None:
        with self._lock:
            self._changed |= number != 0
            self._value = (self._value or 0.0) + number

    def set(self, value: float) -> None:
        """Say what the value is now, or count up to a total that is kept elsewhere."""
        with self._lock:
            self._changed |= value != self._value
            self._value = value

    def _begin(self) -> None:
        self._value = 0.0 if self._kind is MetricKind.COUNTER else None


# A metric's name and its labels.
_Key = tuple[str, tuple[tuple[str, str], ...]]
# A push, and what is taken under the lock to be encoded into it outside of it.
_Cut = tuple[PushRequest, list[tuple[_Key, HdrCounts]], list[tuple[_Key, MetricKind, float]]]


class Recorder:
    """The measurements of one process. Thread-safe; handles may be asked for and used from any thread.

    A change of `run_id` begins a new epoch: sequences begin at 1, counters at 0, gauges are not set. So a push belongs
    to one run. Two epochs of a recorder never have the same number.
    """

    def __init__(self, *, source: str, clock: Clock, run_id: str = "") -> None:
        self._source, self._clock, self._run_id = source, clock, run_id
        self._lock = threading.Lock()
        self._histograms: dict[_Key, HistogramHandle] = {}
        self._numbers: dict[_Key, NumberHandle] = {}
        self._epoch_unix_ns = self._interval_start_unix_ns = clock.unix_ns()
        self._sequence = 0
        self._cut_before: list[_Cut] = []

    @property
    def run_id(self) -> str:
        """The run that is measured; empty outside a run."""
        return self._run_id

    @run_id.setter
    def run_id(self, run_id: str) -> None:
        with self._lock:
            if run_id == self._run_id:
                return
            self._put_aside()
            self._run_id = run_id
            self._epoch_unix_ns = max(self._clock.unix_ns(), self._epoch_unix_ns + 1)
            self._sequence = 0
            for number in self._numbers.values():
                number._begin()

    def begin_interval(self) -> None:
        """End the interval here: what is recorded from now on is in another one than what was recorded before."""
        with self._lock:
            self._put_aside()

    def histogram(self, metric: Metric, **labels: str | int) -> HistogramHandle:
        """The histogram of that metric and labels; likewise the others. ValueError if it is not registered so."""
        key = _key(metric, MetricKind.HISTOGRAM, labels)
        with self._lock:
            return self._histograms.setdefault(key, HistogramHandle(self._lock))

    def counter(self, metric: Metric, **labels: str | int) -> NumberHandle:
        return self._number(_key(metric, MetricKind.COUNTER, labels), MetricKind.COUNTER)

    def gauge(self, metric: Metric, **labels: str | int) -> NumberHandle:
        return self._number(_key(metric, MetricKind.GAUGE, labels), MetricKind.GAUGE)

    def take(self) -> list[PushRequest]:
        """The intervals since the last call, oldest first; without those in which nothing was measured.

        Nothing was measured if no value was recorded and no counter or gauge has changed. An interval ends with a
        change of run, with `begin_interval`, and now.
        """
        with self._lock:
            self._put_aside()
            cuts, self._cut_before = self._cut_before, []
        for push, histograms, numbers in cuts:
            push.histograms.extend(_encoded(key, values) for key, values in histograms)
            for key, kind, value in numbers:
                samples = push.counters if kind is MetricKind.COUNTER else push.gauges
                samples.append(Sample(key=_series(key), value=value))
        return [push for push, _, _ in cuts]

    def _number(self, key: _Key, kind: MetricKind) -> NumberHandle:
        with self._lock:
            return self._numbers.setdefault(key, NumberHandle(self._lock, kind))

    def _put_aside(self) -> None:
        """Cut the interval here, and keep what was measured in it; nothing if nothing was."""
        now = self._clock.unix_ns()
        # A clock that was stepped back must not make an interval that ends before it starts.
        start = min(self._interval_start_unix_ns, now)
        self._interval_start_unix_ns = now
        histograms = [(key, each._take()) for key, each in self._histograms.items() if each._values.count]
        numbers = [(key, each._kind, each._value) for key, each in self._numbers.items() if each._value is not None]
        if not histograms and not any(number._changed for number in self._numbers.values()):
            return
        for number in self._numbers.values():
            number._changed = False
        self._sequence += 1
        push = PushRequest(
            source=self._source, epoch_unix_ns=self._epoch_unix_ns, sequence=self._sequence, start_unix_ns=start,
            end_unix_ns=now, run_id=self._run_id,
        )  # fmt: skip
        self._cut_before.append((push, histograms, numbers))


def interval_histogram(metric: Metric, values: HdrCounts, **labels: str | int) -> IntervalHistogram:
    """A histogram as it is sent. ValueError if there is no such metric, or it has other labels."""
    return _encoded(_key(metric, MetricKind.HISTOGRAM, labels), values)


def histogram_message(key: SeriesKey, exact: Exact, encoded: bytes) -> IntervalHistogram:
    """The message of an encoded histogram."""
    return IntervalHistogram(key=key, encoded=encoded, **dict(zip(_EXACT_FIELDS, exact, strict=True)))


def exact_of(message: IntervalHistogram) -> Exact:
    """What a message says besides the buckets."""
    return Exact(*_exact_fields(message))


def partition_label(partition: int, groups: int) -> str:
    """The partition, or OTHERS from that on which would be one series too many in all groups together.

    groups: how often a topic's partitions may stand there: the topics that are read times those that are written.
    """
    return str(partition) if partition < max(1, PARTITION_SERIES_MAX // groups) else OTHERS


def record_committed(
    recorder: Recorder, begin: Mapping[tuple[str, int], int], groups: int, ends: Mapping[tuple[str, int], int]
) -> None:
    """Count what was committed of each partition in `begin`, from that offset up to its end, 0 if it has none yet."""
    records: Counter[tuple[str, str]] = Counter()
    for (topic, partition), offset in begin.items():
        grown = max(0, ends.get((topic, partition), offset) - offset)
        records[topic, partition_label(partition, groups)] += grown
    for (topic, label), count in records.items():
        recorder.counter(PARTITION_COMMITTED, topic=topic, partition=label).set(count)


def _key(metric: Metric, kind: MetricKind, labels: dict[str, str | int]) -> _Key:
    if METRICS.get(metric.name) != metric:
        raise ValueError(f"{metric.name} is not in telemetry.metrics; add it there")
    if metric.kind is not kind:
        raise ValueError(f"{metric.name} is a {metric.kind.value}, not a {kind.value}")
    if set(labels) != set(metric.labels):
        raise ValueError(f"{metric.name} has the labels {list(metric.labels)}, not {list(labels)}")
    return metric.name, tuple((label, str(labels[label])) for label in metric.labels)


def _series(key: _Key) -> SeriesKey:
    name, labels = key
    return SeriesKey(name=name, labels=dict(labels))


def _encoded(key: _Key, values: HdrCounts) -> IntervalHistogram:
    exact = values.exact._replace(sum_us=min(values.sum_us, _UINT64_MAX))
    return histogram_message(_series(key), exact, values.encode())
