"""Reading a push: everything that it measured, checked whole before anything is merged."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from market_spread.common.errors import UsageError
from market_spread.common.histogram import Buckets, check_exact
from market_spread.common.metric_names import METRICS, MetricKind
from market_spread.metrics_aggregator.intervals import HistogramInterval
from market_spread.metrics_aggregator.series import SeriesId
from market_spread.v1.metrics_pb2 import IntervalHistogram, PushRequest, Sample, SeriesKey

TEXT_CHARACTERS_MAX = 200
KNOWN_MAX = 4_000
# It becomes the name of a folder.
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Measured:
    """What a push measured. The used buckets of a histogram stand beside its interval."""

    histograms: list[tuple[SeriesId, HistogramInterval, Buckets]]
    counters: list[tuple[SeriesId, float]]
    gauges: list[tuple[SeriesId, float]]

    def ids(self) -> list[SeriesId]:
        """Every series that it names."""
        ids = [histogram[0] for histogram in self.histograms]
        ids += [series_id for series_id, _ in self.counters]
        ids += [series_id for series_id, _ in self.gauges]
        return ids


def check_envelope(request: PushRequest) -> None:
    """UsageError unless source, run, sequence and interval make sense."""
    if not request.source:
        raise UsageError("source is empty; give each process of a run its own name")
    check_text("source", request.source)
    check_run_id(request.run_id)
    if not request.epoch_unix_ns:
        raise UsageError("epoch_unix_ns=0; send the time when the process started")
    if not request.sequence:
        raise UsageError("sequence=0; count pushes from 1")
    if request.end_unix_ns < request.start_unix_ns:
        raise UsageError(f"the interval ends {request.start_unix_ns - request.end_unix_ns} ns before it starts")


def check_run_id(run_id: str) -> None:
    """UsageError unless it is empty or can be the name of a folder, whatever the system."""
    check_text("run_id", run_id)
    if run_id and not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"run_id={run_id!r}; use letters, digits, '.', '_' and '-', a letter or digit first")


def is_run_id(text: str) -> bool:
    """Whether it may name a run, and so a folder."""
    return bool(_RUN_ID.fullmatch(text)) and len(text) <= TEXT_CHARACTERS_MAX


def check_text(what: str, text: str) -> None:
    """UsageError if it is too long."""
    if len(text) > TEXT_CHARACTERS_MAX:
        raise UsageError(f"{what} has {len(text)} characters; use at most {TEXT_CHARACTERS_MAX}")


class SeriesIds:
    """Series by their keys as they are on the wire, for one source and run: nearly all were seen before.

    At most KNOWN_MAX are remembered.
    """

    def __init__(self, source: str, run_id: str) -> None:
        self._source = source
        self._run_id = run_id
        self._known: dict[bytes, SeriesId] = {}

    def of(self, key: SeriesKey, kind: MetricKind) -> SeriesId:
        """The series of the key. UsageError if no series of that kind has it."""
        wire = key.SerializeToString()
        series_id = self._known.get(wire)
        if series_id is None:
            series_id = _series_id(key, self._source, self._run_id)
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[wire] = series_id
        if series_id.metric.kind is not kind:
            raise UsageError(f"{key.name} was pushed as a {kind.value}; it is a {series_id.metric.kind.value}")
        return series_id


def read_push(request: PushRequest, ids_of_source: SeriesIds | None = None) -> Measured:
    """What the push measured. UsageError, naming the series, if any of it is wrong.

    ids_of_source: those of the push's source and run, if they are kept from push to push.
    """
    known = ids_of_source or SeriesIds(request.source, request.run_id)
    measured = Measured(
        [_histogram(item, request, known) for item in request.histograms],
        _samples(request.counters, MetricKind.COUNTER, known),
        _samples(request.gauges, MetricKind.GAUGE, known),
    )
    ids = measured.ids()
    if len(set(ids)) != len(ids):
        twice = next(series_id for series_id in ids if ids.count(series_id) > 1)
        raise UsageError(f"{twice.name} stands twice in the push with the labels {dict(twice.labels)}")
    return measured


def _histogram(
    item: IntervalHistogram, request: PushRequest, known: SeriesIds
) -> tuple[SeriesId, HistogramInterval, Buckets]:
    series_id = known.of(item.key, MetricKind.HISTOGRAM)
    interval = HistogramInterval(
        request.start_unix_ns,
        request.end_unix_ns,
        item.count,
        item.sum,
        item.min,
        item.max,
        item.overflow,
        item.negative,
        item.encoded,
    )
    _, _, count, _, min_us, max_us, overflow, negative, encoded = interval
    try:
        buckets = Buckets.decode(encoded)
        if buckets.count != count:
            raise ValueError(f"count={count} is not the sum of the buckets, {buckets.count}")
        check_exact(buckets, min_us=min_us, max_us=max_us, overflow=overflow, negative=negative)
    except ValueError as error:
        raise UsageError(f"{item.key.name}: {error}") from error
    return series_id, interval, buckets


def _samples(items: Iterable[Sample], kind: MetricKind, known: SeriesIds) -> list[tuple[SeriesId, float]]:
    samples = [(known.of(item.key, kind), item.value) for item in items]
    for series_id, value in samples:
        if not math.isfinite(value) or (value < 0 and kind is MetricKind.COUNTER):
            raise UsageError(f"{series_id.name}={value}; a {kind.value} is a finite number, a counter not negative")
    return samples


def _series_id(key: SeriesKey, source: str, run_id: str) -> SeriesId:
    name, labels = key.name, dict(key.labels)
    metric = METRICS.get(name)
    if metric is None:
        raise UsageError(f"{name!r} is no registered metric; add it to metric_names or update the aggregator")
    if labels.keys() != set(metric.labels):
        raise UsageError(f"{name} was pushed with the labels {sorted(labels)}; it has {sorted(metric.labels)}")
    for label, value in labels.items():
        check_text(f"{name} {label}", value)
    return SeriesId(name, tuple(sorted(labels.items())), source, run_id)
