"""docs/metrics.md: every metric that there is, from the registry and from what we read of others."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from market_spread.common.hdr.histogram import PERCENTILES
from market_spread.common.telemetry import exposition, recorder
from market_spread.common.telemetry.metrics import HOST_TUNER_METRICS, METRICS, Metric, MetricKind
from market_spread.controller.views.output import markdown_table
from market_spread.metrics_aggregator.prometheus_view import OWN_METRICS

_PAGE = Path(__file__).with_name("metrics_reference.txt").read_text()


def metrics_reference(foreign: Mapping[str, Mapping[str, str]]) -> str:
    """The text. foreign: who has them, to metrics and their meanings."""
    return _PAGE.format(
        pushed=_table(METRICS.values()),
        own=_table(OWN_METRICS),
        partition_series=recorder.PARTITION_SERIES_MAX,
        others=recorder.OTHERS,
        host_tuner=_table(HOST_TUNER_METRICS),
        edges=len(exposition.EDGES_US),
        first=exposition.EDGES_US[0],
        last=exposition.EDGES_US[-1] / 1e6,
        quantile_label=exposition.QUANTILE_LABEL,
        recent=exposition.RECENT_S,
        quantiles=", ".join(f"{percent / 100:.6g}" for percent in PERCENTILES),
        quantile_gauges=_quantile_gauges(),
        foreign="\n\n".join(_foreign(who, metrics) for who, metrics in foreign.items()),
    )


def _table(metrics: Iterable[Metric]) -> str:
    rows = (
        (f"`{metric.name}`", metric.kind.value, ", ".join(f"`{label}`" for label in metric.labels), metric.meaning)
        for metric in metrics
    )
    return _rows(("metric", "kind", "labels", "meaning"), rows)


def _quantile_gauges() -> str:
    rows = []
    for metric in (*METRICS.values(), *OWN_METRICS):
        if metric.kind is MetricKind.HISTOGRAM:
            recent = f"`{exposition.quantile_name(metric, recent=True)}`" if metric.name in METRICS else ""
            rows.append((f"`{exposition.quantile_name(metric)}`", recent))
    return _rows(("since the begin", f"of the last {exposition.RECENT_S} s"), rows)


def _foreign(who: str, metrics: Mapping[str, str]) -> str:
    rows = ((f"`{name}`", meaning) for name, meaning in metrics.items())
    return f"### {who}\n\n" + _rows(("metric", "meaning"), rows)


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return markdown_table(head, rows).replace("|  |", "| |")
