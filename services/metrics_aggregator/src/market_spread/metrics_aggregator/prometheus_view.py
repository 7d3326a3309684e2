"""What Prometheus is shown: the store's series, and the aggregator's own metrics, which the page is shown too."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from itertools import takewhile
from typing import Any

import psutil

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry import metrics as metric_names
from market_spread.common.telemetry.exposition import QUANTILE_LABEL, RECENT_S, ExposedSeries
from market_spread.common.telemetry.metrics import Metric, counter, gauge, histogram
from market_spread.metrics_aggregator.model.history import SECOND_NS
from market_spread.metrics_aggregator.model.intervals import HistogramInterval, values_of
from market_spread.metrics_aggregator.model.push_validation import QUANTILES
from market_spread.metrics_aggregator.model.run import Epoch, RunState
from market_spread.metrics_aggregator.model.series import CounterSeries, HistogramSeries, SeriesId
from market_spread.metrics_aggregator.model.store import Store
from market_spread.v1.limits_pb2 import RunLimits

_PER_SOURCE = ("source", "run_id")

# No process may push these, so they are not among the registered ones.
RUN_INFO = gauge(
    "run_info", "1 for a run: what it is, does and came to", "run_id", "title", "phase", "verdict", "cause", "outcome"
)
RUN_HOSTS = gauge("run_hosts", "Hosts that the run's processes are known to be on, each with its clock", "run_id")
RUN_FAILED = gauge(
    "run_failed_check", "1 for each check of the run's verdict that fails; whose doing", "run_id", "check", "cause"
)
RUN_FAULT = gauge("run_fault_timestamp_seconds", "Begin of a planned fault, Unix time", "run_id", "fault")
RUN_MEASURING = gauge(
    "run_measuring_timestamp_seconds", "Begin of the measured load, Unix time, while it is offered", "run_id"
)
RUN_LATE_SHARE = gauge("run_frames_late_share", "Share of the measured load's frames that were late so far", "run_id")
RUN_MISSING_SHARE = gauge("run_pushes_missing_share", "Share of the run's pushes that never came so far", "run_id")
RUN_NEGATIVE_SHARE = gauge(
    "run_negative_share", "Largest share of a stage's times below 0 so far, settled, while load is offered", "run_id"
)
RUN_LATENCY = gauge(
    "run_latency_seconds",
    "What a limit is on: quantiles of the measured load's latency so far, settled, while it is offered",
    "run_id",
    QUANTILE_LABEL,
)


def _limit(name: str, meaning: str, units: float = 1) -> tuple[Metric, float]:
    return gauge(f"limit_{name}", f"Limit of the run: {meaning}", "run_id"), units


# By its name in the proto a limit as a metric, and how many of its units are one of the metric's.
LIMITS: Mapping[str, tuple[Metric, float]] = {
    "late_us": _limit("late_seconds", "a frame that leaves later after its plan is late", 1e6),
    "late_share_max": _limit("frames_late_share", "the share of frames that may be late"),
    "settle_us": _limit("settle_seconds", "how long its load settles before latencies count", 1e6),
    "stall_us": _limit("stall_seconds", "the longest that no alert may come", 1e6),
    "rate_share_min": _limit("rate_share", "the least share of the offered rate to achieve"),
    "loss_max": _limit("loss", "the most messages and alerts that may be lost"),
    "stolen_share_max": _limit("stolen_share", "the share of CPU time that others may take"),
    "missing_share_max": _limit("pushes_missing_share", "the share of pushes that may be missing"),
    "negative_share_max": _limit("negative_share", "the share of a stage's times below 0"),
}
LIMIT_LATENCY = gauge(
    "limit_latency_seconds",
    "Limit of the run: the most that a quantile of the latency may be",
    "run_id",
    QUANTILE_LABEL,
)
BUILD_INFO = gauge("build_info", "1 for the aggregator: the version that it is of", "version")
PUSHES = counter("aggregator_pushes", "Pushes merged", *_PER_SOURCE)
DUPLICATES = counter("aggregator_duplicates", "Pushes that had been merged before", *_PER_SOURCE)
MISSING = counter("aggregator_missing", "Pushes that never came, by their sequence", *_PER_SOURCE)
DROPPED = counter("aggregator_dropped", "Pushes that the source says it dropped", *_PER_SOURCE)
NEGATIVE = counter("clock_skew_negative", "Values below 0, recorded as 0", *_PER_SOURCE)
OVERFLOW = counter("aggregator_overflow", "Values above 1 hour, recorded as 1 hour", *_PER_SOURCE)
STARTS = gauge("aggregator_source_starts", "Starts of the process that have pushed for the run", *_PER_SOURCE)
LAST_PUSH = gauge(
    "aggregator_last_push_timestamp_seconds", "End of the newest interval pushed, Unix time", *_PER_SOURCE
)
CLOCK_ERROR = gauge("clock_error_bound_seconds", "The kernel's bound of the source's clock error", *_PER_SOURCE)
CLOCK_SYNCHRONISED = gauge("clock_synchronised", "1 if the source's host keeps its clock synchronised", *_PER_SOURCE)
PUSH = histogram("aggregator_push", "From a push's arrival to its acknowledgement, without gRPC's share")
MERGE = histogram("aggregator_merge", "Of that, adding it to the series")
LAG = gauge("aggregator_lag_seconds", "From the end of the newest push's interval to its arrival, by two clocks")
MEMORY = gauge("aggregator_memory_bytes", "Resident memory of the aggregator")
CLIENTS = gauge("aggregator_clients", "Pages that are sent live data")
HISTORY = gauge("aggregator_history_bytes", "What the intervals of all runs take in memory")
HISTORY_LIMIT = gauge("aggregator_history_limit_bytes", "What they may take; the history becomes coarser before")
HISTORY_DROPPED = gauge("aggregator_history_dropped", "Intervals of runs in memory that were too old, or made room")
SERIES = gauge("aggregator_series", "Series held")
EVICTED = counter("aggregator_series_evicted", "Series of earlier runs forgotten to make room")
REFUSED = counter("aggregator_refused", "Pushes and notes refused because they were wrong")
UNWRITTEN = counter("aggregator_unwritten", "Pushes and notes refused because they could not be written down")
UNREADABLE = counter("aggregator_unreadable", "Pushes and notes of earlier processes that could not be read back")

_COUNTED = (PUSHES, DUPLICATES, MISSING, DROPPED, NEGATIVE, OVERFLOW)
# Each of the aggregator itself, and where it is read.
_OF_ITSELF: Mapping[Metric, Callable[[Store], float | HdrCounts]] = {
    PUSH: lambda store: store.push_times, MERGE: lambda store: store.merge_times,
    LAG: lambda store: store.lag_newest_ns / 1e9, MEMORY: lambda store: psutil.Process().memory_info().rss,
    CLIENTS: lambda store: store.clients, HISTORY: lambda store: store.history_bytes,
    HISTORY_LIMIT: lambda store: store.history_bytes_max,
    HISTORY_DROPPED: lambda store: sum(run.held.dropped for run in store.runs()), SERIES: len,
    EVICTED: lambda store: store.evicted, REFUSED: lambda store: store.refused,
    UNWRITTEN: lambda store: store.unwritten, UNREADABLE: lambda store: store.unreadable,
}  # fmt: skip


def exposed_series(store: Store, now_unix_ns: int) -> Iterator[ExposedSeries]:
    """Every series of the store, then the aggregator's own."""
    since_ns = now_unix_ns - RECENT_S * SECOND_NS
    for series_id, series in store.series():
        if isinstance(series, HistogramSeries):
            newest = list(takewhile(lambda each: each.end_unix_ns > since_ns, reversed(list(series.history))))
            recent = values_of(newest) if newest else None
            yield ExposedSeries(series_id.metric, series_id.all_labels(), series.merged, recent)
        else:
            yield ExposedSeries(series_id.metric, series_id.all_labels(), series.value)
    for run in store.runs():
        if run.run_id:
            yield from _of_run(run)
    yield from _of_sources(store)
    yield ExposedSeries(BUILD_INFO, {"version": version("market-spread-metrics-aggregator")}, 1)
    for metric, read in _OF_ITSELF.items():
        yield ExposedSeries(metric, {}, read(store))


def aggregator_view(store: Store) -> dict[str, Any]:
    """How the aggregator does, for JSON: what it took and lost, how long that takes, what it holds."""
    totals = dict.fromkeys(_COUNTED, 0)
    for series in _of_sources(store):
        if series.metric in totals and isinstance(series.value, int | float):
            totals[series.metric] += int(series.value)
    numbers = totals | {metric: read(store) for metric, read in _OF_ITSELF.items() if metric not in (PUSH, MERGE)}
    view: dict[str, Any] = {
        metric.name.removeprefix("market_spread_").removeprefix("aggregator_").removesuffix("_total"): number
        for metric, number in numbers.items()
    }
    for name, times in (("push", store.push_times), ("merge", store.merge_times), ("lag", store.lags)):
        p50, p99 = times.percentiles((50, 99))
        view |= {f"{name}_us_p50": p50, f"{name}_us_p99": p99, f"{name}_us_max": times.max_us}
    return view


def _of_run(run: RunState) -> Iterator[ExposedSeries]:
    """What the run's controller says of it, and what its limits are compared with; nothing that is not known."""
    labels = {"run_id": run.run_id}
    said = {"title": run.said("title"), "phase": run.said("phase"), "verdict": run.said("verdict")}
    yield ExposedSeries(RUN_INFO, {**labels, **said, "cause": run.judgement.cause, "outcome": run.outcome}, 1)
    yield ExposedSeries(RUN_HOSTS, labels, len({epoch.host for epoch in run.epochs.values() if epoch.host}))
    for failed in run.judgement.failed:
        yield ExposedSeries(RUN_FAILED, {**labels, "check": failed.check, "cause": failed.cause}, 1)
    faults = (note for note in run.notes if note.name == metric_names.PLANNED_FAULT)
    for number, note in enumerate(faults, 1):
        yield ExposedSeries(RUN_FAULT, {**labels, "fault": f"{number}: {note.text}"}, note.unix_ns / 1e9)
    missing, taken = (sum(getattr(epoch, name) for epoch in run.epochs.values()) for name in ("missing", "pushes"))
    if taken:
        yield ExposedSeries(RUN_MISSING_SHARE, labels, missing / (missing + taken))
    measured, limits = run.measured_unix_ns, run.limits
    if measured is not None:
        begin_ns, end_ns = measured
        sent = _grown(run, metric_names.FRAMES_SENT, begin_ns, end_ns)
        if sent:
            yield ExposedSeries(RUN_LATE_SHARE, labels, _grown(run, metric_names.FRAMES_LATE, begin_ns, end_ns) / sent)
        if end_ns is None and not run.said("verdict"):
            yield ExposedSeries(RUN_MEASURING, labels, begin_ns / 1e9)
            from_ns = begin_ns + limits.settle_us * 1000
            yield from _latencies(run, limits, from_ns)
            if (share := _negative_share(run, from_ns)) is not None:
                yield ExposedSeries(RUN_NEGATIVE_SHARE, labels, share)
    for field, value in limits.ListFields():
        if field.name in LIMITS:
            metric, divisor = LIMITS[field.name]
            yield ExposedSeries(metric, labels, value / divisor)
    for name, limit_us in sorted(limits.latency_us_max.items()):
        yield ExposedSeries(LIMIT_LATENCY, {**labels, QUANTILE_LABEL: QUANTILES[name]}, limit_us / 1e6)


def _grown(run: RunState, metric: Metric, begin_ns: int, end_ns: int | None) -> float:
    """What the counters of that metric grew by in the intervals that begin in that time."""
    return sum(
        point.value
        for series_id, series in run.series.items()
        if series_id.metric == metric and isinstance(series, CounterSeries)
        for point in series.history
        if begin_ns <= point.start_unix_ns and (end_ns is None or point.start_unix_ns < end_ns)
    )


def _measured(run: RunState, metric: Metric, from_ns: int) -> Iterator[tuple[SeriesId, HistogramInterval]]:
    """The intervals from then on of that histogram, of the measured phase."""
    for series_id, series in run.series.items():
        is_it = series_id.metric == metric and ("phase", "measured") in series_id.labels
        if is_it and isinstance(series, HistogramSeries):
            yield from ((series_id, each) for each in series.history if each.start_unix_ns >= from_ns)


def _negative_share(run: RunState, from_ns: int) -> float | None:
    """Of each stage how much of it ended before it began, in the intervals from then on: the most; None without any."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for series_id, interval in _measured(run, metric_names.STAGE, from_ns):
        of_stage = counts[dict(series_id.labels)["stage"]]
        of_stage[0] += interval.exact.negative
        of_stage[1] += interval.exact.count
    return max((negative / count for negative, count in counts.values() if count), default=None)


def _latencies(run: RunState, limits: RunLimits, from_ns: int) -> Iterator[ExposedSeries]:
    """The quantiles that have a limit, of the alerts that came in the intervals from then on."""
    if not limits.latency_us_max:
        return
    values = values_of(interval for _, interval in _measured(run, metric_names.END_TO_END, from_ns))
    for name in sorted(limits.latency_us_max):
        percent = float(QUANTILES[name]) * 100
        if values.count and (percent == 100 or values.supports(percent)):
            value_us = values.max_us if percent == 100 else values.percentile(percent)
            yield ExposedSeries(RUN_LATENCY, {"run_id": run.run_id, QUANTILE_LABEL: QUANTILES[name]}, value_us / 1e6)


def _of_sources(store: Store) -> Iterator[ExposedSeries]:
    """What the pushes of each source in a run amount to, and over its histograms what is below 0 or above an hour."""
    for run in store.runs():
        by_source: dict[str, list[Epoch]] = defaultdict(list)
        for epoch in sorted(run.epochs.values(), key=lambda epoch: epoch.epoch_unix_ns):
            by_source[epoch.source].append(epoch)
        histograms: dict[str, list[HdrCounts]] = defaultdict(list)
        for series_id, series in run.series.items():
            if isinstance(series, HistogramSeries):
                histograms[series_id.source].append(series.merged)
        for source, epochs in by_source.items():
            newest = epochs[-1]
            values: dict[Metric, float] = {
                PUSHES: sum(epoch.pushes for epoch in epochs), DUPLICATES: sum(epoch.duplicates for epoch in epochs),
                MISSING: sum(epoch.missing for epoch in epochs), DROPPED: sum(epoch.pushes_dropped for epoch in epochs),
                NEGATIVE: sum(merged.negative for merged in histograms[source]),
                OVERFLOW: sum(merged.overflow for merged in histograms[source]), STARTS: len(epochs),
                LAST_PUSH: newest.end_unix_ns / 1e9, CLOCK_SYNCHRONISED: float(newest.clock_synchronised),
            }  # fmt: skip
            if newest.clock_error_us >= 0:
                values[CLOCK_ERROR] = newest.clock_error_us / 1e6
            for metric, value in values.items():
                yield ExposedSeries(metric, {"source": source, "run_id": run.run_id}, value)
