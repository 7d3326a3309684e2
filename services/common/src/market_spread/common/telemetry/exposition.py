"""Metrics in Prometheus's text format, with the counts of our histograms unchanged."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family

from market_spread.common.hdr.histogram import PERCENTILES, HdrCounts, bucket_indices
from market_spread.common.telemetry.families import as_text, numbers
from market_spread.common.telemetry.metrics import Metric, MetricKind

# 2^k and 1.5 * 2^k, from 64 us to 67 s. A bucket of ours begins at each, so that nothing is binned anew.
EDGES_US = tuple(sorted([1 << k for k in range(6, 27)] + [3 << (k - 1) for k in range(6, 26)]))

# An edge is the first value of the next bucket, and `le` includes its own value: so it is one microsecond less.
_LE = tuple(repr((edge_us - 1) / 1e6) for edge_us in EDGES_US)
_EDGE_INDICES = bucket_indices(np.array(EDGES_US, np.int64))

# Of which newest seconds the exact quantiles are shown, besides those since the begin, which hardly move later on.
RECENT_S = 10

# Prometheus keeps the label `quantile` for summaries.
QUANTILE_LABEL = "q"


@dataclass(frozen=True, slots=True)
class ExposedSeries:
    """One series, with all its labels. value: a histogram if it is one; recent: that of the newest RECENT_S, if any."""

    metric: Metric
    labels: Mapping[str, str]
    value: float | HdrCounts
    recent: HdrCounts | None = None


def exposition(series: Iterable[ExposedSeries]) -> bytes:
    """The text that a scraper gets. Series of one metric must have the same labels.

    A histogram is a classic one, in seconds, with exact cumulative counts. Beside it stand its quantiles, and those of
    its newest seconds, computed from all its buckets, where there are values enough for them; quantile 1 is the exact
    maximum.
    """
    by_metric: dict[str, list[ExposedSeries]] = {}
    for each in series:
        by_metric.setdefault(each.metric.name, []).append(each)
    return as_text(family for group in by_metric.values() for family in _families(group))


def quantile_name(metric: Metric, *, recent: bool = False) -> str:
    """The name of the gauges that hold a histogram's exact quantiles, or the recent ones."""
    return f"{metric.name.removesuffix('_seconds')}{'_recent' if recent else ''}_quantile_seconds"


def _families(group: list[ExposedSeries]) -> Iterator[Family]:
    metric, names = group[0].metric, sorted(group[0].labels)
    if metric.kind is MetricKind.HISTOGRAM:
        yield from _histograms(metric, names, group)
        return
    numbered = ((each, each.value) for each in group if not isinstance(each.value, HdrCounts))
    yield numbers(metric, names, (([each.labels[name] for name in names], value) for each, value in numbered))


def _histograms(metric: Metric, names: Sequence[str], group: list[ExposedSeries]) -> Iterator[Family]:
    histograms = HistogramMetricFamily(metric.name, metric.meaning, labels=names)
    said, maximum, labels = f"{metric.meaning}: exact quantiles", "1 is the maximum", [*names, QUANTILE_LABEL]
    quantiles = GaugeMetricFamily(quantile_name(metric), f"{said}, {maximum}", labels=labels)
    of_recent = f"{said} of the last {RECENT_S} s, {maximum}"
    recent = GaugeMetricFamily(quantile_name(metric, recent=True), of_recent, labels=labels)
    for series in group:
        if isinstance(series.value, HdrCounts):
            values = [series.labels[name] for name in names]
            cumulative = np.concatenate(([0], np.cumsum(series.value.counts)))[_EDGE_INDICES].tolist()
            buckets = [*zip(_LE, cumulative, strict=True), ("+Inf", series.value.count)]
            histograms.add_metric(values, buckets, series.value.sum_us / 1e6)
            for quantile, seconds in _quantiles(series.value):
                quantiles.add_metric([*values, quantile], seconds)
            for quantile, seconds in _quantiles(series.recent) if series.recent is not None else ():
                recent.add_metric([*values, quantile], seconds)
    yield histograms
    yield quantiles
    if recent.samples:
        yield recent


def _quantiles(histogram: HdrCounts) -> Iterator[tuple[str, float]]:
    for percent, value_us in zip(PERCENTILES, histogram.percentiles(PERCENTILES), strict=True):
        if histogram.supports(percent):
            yield f"{round(percent / 100, 6):g}", value_us / 1e6
    if histogram.count:
        yield "1", histogram.max_us / 1e6
