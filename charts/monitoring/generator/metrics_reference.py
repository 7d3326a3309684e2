"""docs/metrics.md: every metric that there is, from the registry and from what we read of others."""

from collections.abc import Iterable, Mapping, Sequence

from market_spread.common.hdr.histogram import PERCENTILES
from market_spread.common.telemetry.exposition import (
    EDGES_US,
    QUANTILE_LABEL,
    RECENT_S,
    quantile_name,
    recent_quantile_name,
)
from market_spread.common.telemetry.metrics import HOST_TUNER_METRICS, METRICS, Metric, MetricKind
from market_spread.metrics_aggregator.prometheus_view import OWN_METRICS

_PAGE = """\
# Metrics

Written by `make generated` from `common/telemetry/metrics.py`, `metrics_aggregator/prometheus_view.py`
and `charts/monitoring/foreign_metrics.yaml`; a test proves it fresh. What is done with these metrics: the dashboards
and rules in `charts/monitoring/`, and the [runbook](runbook.md).

Names follow Prometheus's conventions: base units, `_total` for counters. The metrics-aggregator serves them at
`/metrics`, but for those of the host tuner. Histograms are HdrHistogram's, pushed in microseconds and exposed in
seconds.

## Pushed by the processes

Every metric has the labels `source` (the process) and `run_id` besides those in the table. No process can push another
name.

{pushed}

`phase` is `warm_up` or `measured`; `stage` is `send_lag`, `ingest`, `compute` or `delivery`.

### Buckets

A histogram is exposed as a classic one. Its {edges} edges are 2^k and 1.5 * 2^k microseconds, {first:g} us to
{last:.1f} s. Each is an edge of HdrHistogram's buckets as well, so `_bucket`, `_count` and `_sum` are exact, and the
same as those in the UI. `le` includes its own value, so it is a microsecond less than the edge: `le="0.098303"`
counts what took less than 98.304 ms.

### Exact quantiles

Beside each histogram stand gauges with its quantiles, computed from all its buckets: since the begin of the run, and,
as long as values come, of the last {recent} s. Their label `{quantile_label}` is {quantiles}, or 1 for the exact
maximum; a quantile stands when at least ten values lie above it. Quantiles cannot be averaged or added, so no
dashboard does it.

{quantile_gauges}

## Of the aggregator itself

Limits are those that the run controller has said; where it says none there is no series, and no rule fires by it.

{own}

## Of the host tuner

Each node's tuner serves its own, at `/metrics` on port 9850; see [host tuning](host-tuning.md).

{host_tuner}

## Of others

Spark's and Kafka's are there where the processes were started with `--monitored`, or are set up so otherwise. Only
those that a rule or dashboard uses are listed.

{foreign}
"""


def metrics_reference(foreign: Mapping[str, Mapping[str, str]]) -> str:
    """The text. foreign: who has them, to metrics and their meanings."""
    return _PAGE.format(
        pushed=_table(METRICS.values()),
        own=_table(OWN_METRICS),
        host_tuner=_table(HOST_TUNER_METRICS),
        edges=len(EDGES_US),
        first=EDGES_US[0],
        last=EDGES_US[-1] / 1e6,
        quantile_label=QUANTILE_LABEL,
        recent=RECENT_S,
        quantiles=", ".join(f"{percent / 100:.6g}" for percent in PERCENTILES),
        quantile_gauges=_quantile_gauges(),
        foreign="\n\n".join(_foreign(who, metrics) for who, metrics in foreign.items()),
    )


def _table(metrics: Iterable[Metric]) -> str:
    rows = ((f"`{metric.name}`", metric.kind.value, _labels(metric.labels), metric.meaning) for metric in metrics)
    return _rows(("metric", "kind", "labels", "meaning"), rows)


def _quantile_gauges() -> str:
    def histograms(metrics: Iterable[Metric]) -> list[Metric]:
        return [metric for metric in metrics if metric.kind is MetricKind.HISTOGRAM]

    rows = [
        *((quantile_name(metric), recent_quantile_name(metric)) for metric in histograms(METRICS.values())),
        *((quantile_name(metric), "") for metric in histograms(OWN_METRICS)),
    ]
    return _rows(
        ("since the begin", f"of the last {RECENT_S} s"), [[name and f"`{name}`" for name in row] for row in rows]
    )


def _foreign(who: str, metrics: Mapping[str, str]) -> str:
    rows = ((f"`{name}`", meaning) for name, meaning in metrics.items())
    return f"### {who}\n\n" + _rows(("metric", "meaning"), rows)


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join([_row(head), "|" + "---|" * len(head), *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def _labels(labels: Iterable[str]) -> str:
    return ", ".join(f"`{label}`" for label in labels)
