"""Reading a push: everything that it measured, checked whole before anything is merged."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from market_spread.common.errors import UsageError
from market_spread.common.histogram import HdrCounts
from market_spread.common.metric_names import METRICS, MetricKind
from market_spread.metrics_aggregator.series import SeriesId
from market_spread.v1.metrics_pb2 import IntervalHistogram, PushRequest, Sample, SeriesKey

TEXT_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class Measured:
    """What a push measured. The encoded histograms stand beside the decoded ones."""

    histograms: list[tuple[SeriesId, HdrCounts, bytes]]
    counters: list[tuple[SeriesId, float]]
    gauges: list[tuple[SeriesId, float]]

    def ids(self) -> Iterator[SeriesId]:
        """Every series that it names."""
        yield from (histogram[0] for histogram in self.histograms)
        yield from (series_id for series_id, _ in (*self.counters, *self.gauges))


def check_envelope(request: PushRequest) -> None:
    """UsageError unless source, run, sequence and interval make sense."""
    if not request.source:
        raise UsageError("source is empty; give each process of a run its own name")
    _check_text("source", request.source)
    _check_text("run_id", request.run_id)
    if not request.epoch_unix_ns:
        raise UsageError("epoch_unix_ns=0; send the time when the process started")
    if not request.sequence:
        raise UsageError("sequence=0; count pushes from 1")
    if request.end_unix_ns < request.start_unix_ns:
        raise UsageError(f"the interval ends {request.start_unix_ns - request.end_unix_ns} ns before it starts")


def read_push(request: PushRequest) -> Measured:
    """What the push measured. UsageError, naming the series, if any of it is wrong."""
    measured = Measured(
        [_histogram(item, request) for item in request.histograms],
        list(_samples(request.counters, MetricKind.COUNTER, request)),
        list(_samples(request.gauges, MetricKind.GAUGE, request)),
    )
    seen: set[SeriesId] = set()
    for series_id in measured.ids():
        if series_id in seen:
            raise UsageError(f"{series_id.name} stands twice in the push with the labels {dict(series_id.labels)}")
        seen.add(series_id)
    return measured


def _histogram(item: IntervalHistogram, request: PushRequest) -> tuple[SeriesId, HdrCounts, bytes]:
    series_id = _series_id(item.key, MetricKind.HISTOGRAM, request)
    try:
        values = HdrCounts.decode(item.encoded)
        if values.count != item.count:
            raise ValueError(f"count={item.count} is not the sum of the buckets, {values.count}")
        values.restore(
            sum_us=item.sum, min_us=item.min, max_us=item.max, overflow=item.overflow, negative=item.negative
        )
    except ValueError as error:
        raise UsageError(f"{item.key.name}: {error}") from error
    return series_id, values, item.encoded


def _samples(items: Iterable[Sample], kind: MetricKind, request: PushRequest) -> Iterator[tuple[SeriesId, float]]:
    for item in items:
        series_id = _series_id(item.key, kind, request)
        if not math.isfinite(item.value) or (kind is MetricKind.COUNTER and item.value < 0):
            raise UsageError(f"{item.key.name}={item.value}; a {kind.value} is a finite number, a counter not negative")
        yield series_id, item.value


def _series_id(key: SeriesKey, kind: MetricKind, request: PushRequest) -> SeriesId:
    metric = METRICS.get(key.name)
    if metric is None:
        raise UsageError(f"{key.name!r} is no registered metric; add it to metric_names or update the aggregator")
    if metric.kind is not kind:
        raise UsageError(f"{key.name} was pushed as a {kind.value}; it is a {metric.kind.value}")
    if set(key.labels) != set(metric.labels):
        raise UsageError(f"{key.name} was pushed with the labels {sorted(key.labels)}; it has {sorted(metric.labels)}")
    for label, value in key.labels.items():
        _check_text(f"{key.name} {label}", value)
    return SeriesId(key.name, tuple(sorted(key.labels.items())), request.source, request.run_id)


def _check_text(what: str, text: str) -> None:
    if len(text) > TEXT_CHARACTERS_MAX:
        raise UsageError(f"{what} has {len(text)} characters; use at most {TEXT_CHARACTERS_MAX}")
