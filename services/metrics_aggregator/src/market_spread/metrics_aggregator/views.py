"""The store as plain values, for the JSON that the web side serves. Times are nanoseconds."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from market_spread.common import metric_names
from market_spread.common.errors import UsageError
from market_spread.common.histogram import HdrCounts, latency_summary_ns
from market_spread.common.metric_names import METRICS, Metric
from market_spread.metrics_aggregator.exposed import own_counts
from market_spread.metrics_aggregator.intervals import HistogramInterval, Point
from market_spread.metrics_aggregator.own import Times
from market_spread.metrics_aggregator.series import CounterSeries, HistogramSeries, Series, SeriesId
from market_spread.metrics_aggregator.store import Store

View = dict[str, Any]

_JOB_METRICS = (
    metric_names.JOB_RECORDS,
    metric_names.JOB_MESSAGES,
    metric_names.JOB_COMMITTED,
    metric_names.JOB_BATCH,
    metric_names.JOB_COMMIT,
    metric_names.JOB_RESTARTS,
)


class NoSuchSeriesError(UsageError):
    """No series fits the question."""


def series_list(store: Store) -> View:
    """Every series with its count or value, and every source's pushes, duplicates and missing pushes."""
    return {
        "series": [_head(series_id, series) for series_id, series in store.series()],
        "sources": [asdict(epoch) for epoch in store.epochs()],
    }


def series_detail(store: Store, name: str, labels: Mapping[str, str]) -> View:
    """Every series of that name that has the given labels, with its intervals.

    A histogram has its summary and its counts since the begin as pairs of bucket index and count. NoSuchSeriesError if
    there is none, UsageError if the metric has no such label.
    """
    metric = METRICS.get(name)
    if metric is None:
        raise NoSuchSeriesError(f"{name} is no registered metric; /api/v1/series lists what there is")
    known = {*metric.labels, "source", "run_id"}
    if not labels.keys() <= known:
        raise UsageError(f"{name} has no label {sorted(labels.keys() - known)[0]!r}; it has {', '.join(sorted(known))}")
    found = [
        _detail(series_id, series)
        for series_id, series in store.series()
        if series_id.name == name and labels.items() <= series_id.all_labels().items()
    ]
    if not found:
        raise NoSuchSeriesError(f"nothing was pushed for {name} with the labels {dict(labels)}")
    return {"name": name, "meaning": metric.meaning, "kind": metric.kind.value, "series": found}


def summary(store: Store, now_unix_ns: int) -> View:
    """Each run's rates, latency, alerts and job, and the aggregator's own counts."""
    by_run: dict[str, list[tuple[SeriesId, Series]]] = {}
    for series_id, series in store.series():
        by_run.setdefault(series_id.run_id, []).append((series_id, series))
    return {
        "runs": [_run(run_id, found, now_unix_ns) for run_id, found in sorted(by_run.items())],
        "aggregator": own_counts(store),
    }


def aggregator_view(store: Store) -> View:
    """How the aggregator does: what it took and lost, how long that takes, what it holds."""
    own = store.own
    return {
        **own_counts(store),
        **_percentiles("push", own.push),
        **_percentiles("merge", own.merge),
        **_percentiles("lag", own.lag),
        "lag_ms": own.lag_newest_ns / 1e6,
        "push_failures": own.push_failures,
        "unreadable": store.unreadable,
        "clients": own.clients,
        "memory_bytes": own.memory_bytes,
        "history_bytes": store.history_bytes,
        "history_bytes_max": store.history_bytes_max,
        "history_dropped": store.history_dropped,
    }


def _run(run_id: str, found: list[tuple[SeriesId, Series]], now_unix_ns: int) -> View:
    latency = _merged(
        series
        for series_id, series in found
        if series_id.name == metric_names.END_TO_END.name and dict(series_id.labels)["phase"] == "measured"
    )
    return {
        "run_id": run_id,
        "sources": sorted({series_id.source for series_id, _ in found}),
        "rates_per_s": _rates(found, now_unix_ns),
        "latency": {"count": latency.count, "ns": latency_summary_ns(latency)},
        "alerts": {
            "by_phase": _totals_by(found, metric_names.ALERTS, "phase"),
            "duplicated": _total(found, metric_names.ALERTS_DUPLICATED),
            "unreadable": _total(found, metric_names.ALERTS_UNREADABLE),
            "invalid_by_reason": _totals_by(found, metric_names.INVALID_RECORDS, "reason"),
        },
        "jobs": _jobs(found),
    }


def _rates(found: list[tuple[SeriesId, Series]], now_unix_ns: int) -> dict[str, float]:
    """Growth per second of every counter in the last 10 s, over all its labels and sources."""
    rates: dict[str, float] = {}
    for series_id, series in found:
        if isinstance(series, CounterSeries):
            rates[series_id.name] = rates.get(series_id.name, 0.0) + series.rate_per_s(now_unix_ns)
    return rates


def _total(found: list[tuple[SeriesId, Series]], metric: Metric) -> float:
    """The counter's value, summed over labels and sources; 0 if it was never pushed."""
    return sum(_number(series) for series_id, series in found if series_id.name == metric.name)


def _jobs(found: list[tuple[SeriesId, Series]]) -> dict[str, dict[str, float]]:
    """The job's metrics, by source: two jobs may share a run."""
    jobs: dict[str, dict[str, float]] = {}
    for series_id, series in found:
        if series_id.metric in _JOB_METRICS:
            jobs.setdefault(series_id.source, {})[series_id.name] = _number(series)
    return jobs


def _totals_by(found: list[tuple[SeriesId, Series]], metric: Metric, label: str) -> dict[str, float]:
    totals: dict[str, float] = {}
    for series_id, series in found:
        if series_id.name == metric.name:
            value = dict(series_id.labels)[label]
            totals[value] = totals.get(value, 0.0) + _number(series)
    return totals


def _head(series_id: SeriesId, series: Series) -> View:
    head: View = {"name": series_id.name, "kind": series_id.metric.kind.value, "labels": series_id.all_labels()}
    head["intervals"] = len(series.history)
    if isinstance(series, HistogramSeries):
        return {**head, "count": series.merged.count}
    return {**head, "value": _number(series)}


def _detail(series_id: SeriesId, series: Series) -> View:
    detail: View = {"labels": series_id.all_labels()}
    if isinstance(series, HistogramSeries):
        merged = series.merged
        return {
            **detail,
            "count": merged.count,
            "sum_us": merged.sum_us,
            "min_us": merged.min_us,
            "max_us": merged.max_us,
            "overflow": merged.overflow,
            "negative": merged.negative,
            "latency_ns": latency_summary_ns(merged),
            "counts": _sparse(merged),
            "intervals": [
                {**_times(interval), "count": interval.count, "max_us": interval.max_us}
                for interval in series.intervals
            ],
        }
    return {
        **detail,
        "value": _number(series),
        "intervals": [{**_times(point), "value": point.value} for point in series.intervals],
    }


def _sparse(histogram: HdrCounts) -> list[list[int]]:
    used = np.flatnonzero(histogram.counts)
    pairs: list[list[int]] = np.stack([used, histogram.counts[used]], axis=1).tolist()
    return pairs


def _merged(found: Iterable[Series]) -> HdrCounts:
    merged = HdrCounts()
    for series in found:
        if isinstance(series, HistogramSeries):
            merged.merge(series.merged)
    return merged


def _number(series: Series) -> float:
    return series.merged.count if isinstance(series, HistogramSeries) else series.value


def _times(interval: HistogramInterval | Point) -> dict[str, int]:
    return {"start_unix_ns": interval.start_unix_ns, "end_unix_ns": interval.end_unix_ns}


def _percentiles(name: str, times: Times) -> dict[str, int]:
    """The median, the 99th percentile and the maximum, microseconds."""
    p50, p99 = times.recorded.percentiles((50, 99))
    return {f"{name}_us_p50": p50, f"{name}_us_p99": p99, f"{name}_us_max": times.recorded.max_us}
