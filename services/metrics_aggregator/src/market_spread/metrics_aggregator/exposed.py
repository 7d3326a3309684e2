"""What a scraper of the aggregator gets: every series, and the aggregator's own counts."""

from collections.abc import Iterator

from market_spread.common.exposition import ExposedSeries
from market_spread.common.metric_names import Metric, MetricKind
from market_spread.metrics_aggregator.series import HistogramSeries
from market_spread.metrics_aggregator.store import Store

_PER_SOURCE = ("source", "run_id")

# No process may push these, so they are not among the registered ones.
PUSHES = Metric("market_spread_aggregator_pushes_total", MetricKind.COUNTER, "Pushes merged", _PER_SOURCE)
DUPLICATES = Metric(
    "market_spread_aggregator_duplicates_total", MetricKind.COUNTER, "Pushes that had been merged before", _PER_SOURCE
)
MISSING = Metric(
    "market_spread_aggregator_missing_total",
    MetricKind.COUNTER,
    "Pushes that never came, by their sequence",
    _PER_SOURCE,
)
DROPPED = Metric(
    "market_spread_aggregator_dropped_total", MetricKind.COUNTER, "Pushes that the source says it dropped", _PER_SOURCE
)
REFUSED = Metric("market_spread_aggregator_refused_total", MetricKind.COUNTER, "Pushes refused because they were wrong")
SERIES = Metric("market_spread_aggregator_series", MetricKind.GAUGE, "Series held")
EVICTED = Metric(
    "market_spread_aggregator_series_evicted_total",
    MetricKind.COUNTER,
    "Series of earlier runs forgotten to make room",
)
NEGATIVE = Metric(
    "market_spread_clock_skew_negative_total", MetricKind.COUNTER, "Values below 0, recorded as 0", _PER_SOURCE
)
OVERFLOW = Metric(
    "market_spread_aggregator_overflow_total",
    MetricKind.COUNTER,
    "Values above 1 hour, recorded as 1 hour",
    _PER_SOURCE,
)

OWN_METRICS = (PUSHES, DUPLICATES, MISSING, DROPPED, REFUSED, SERIES, EVICTED, NEGATIVE, OVERFLOW)


def exposed_series(store: Store) -> Iterator[ExposedSeries]:
    """Every series of the store, then the aggregator's own."""
    for series_id, series in store.series():
        if isinstance(series, HistogramSeries):
            yield ExposedSeries(series_id.metric, series_id.all_labels(), series.merged)
        else:
            yield ExposedSeries(series_id.metric, series_id.all_labels(), series.value)
    yield from _own(store)


def own_counts(store: Store) -> dict[str, int]:
    """The aggregator's own counts, over all sources, by short name."""
    totals = dict.fromkeys(OWN_METRICS, 0)
    for series in _own(store):
        if isinstance(series.value, int | float):
            totals[series.metric] += int(series.value)
    return {_short(metric): total for metric, total in totals.items()}


def _own(store: Store) -> Iterator[ExposedSeries]:
    yield ExposedSeries(REFUSED, {}, store.refused)
    yield ExposedSeries(SERIES, {}, len(store))
    yield ExposedSeries(EVICTED, {}, store.evicted)
    for (source, run_id), counts in _per_source(store).items():
        for metric, count in counts.items():
            yield ExposedSeries(metric, {"source": source, "run_id": run_id}, count)


def _per_source(store: Store) -> dict[tuple[str, str], dict[Metric, int]]:
    counts: dict[tuple[str, str], dict[Metric, int]] = {}
    for epoch in store.epochs():
        of_source = counts.setdefault((epoch.source, epoch.run_id), dict.fromkeys(_SOURCE_METRICS, 0))
        of_source[PUSHES] += epoch.pushes
        of_source[DUPLICATES] += epoch.duplicates
        of_source[MISSING] += epoch.missing
        of_source[DROPPED] += epoch.pushes_dropped
    for series_id, series in store.series():
        if isinstance(series, HistogramSeries):
            of_source = counts.setdefault((series_id.source, series_id.run_id), dict.fromkeys(_SOURCE_METRICS, 0))
            of_source[NEGATIVE] += series.merged.negative
            of_source[OVERFLOW] += series.merged.overflow
    return counts


_SOURCE_METRICS = tuple(metric for metric in OWN_METRICS if metric.labels)


def _short(metric: Metric) -> str:
    name = metric.name.removeprefix("market_spread_").removeprefix("aggregator_")
    return name.removesuffix("_total")
