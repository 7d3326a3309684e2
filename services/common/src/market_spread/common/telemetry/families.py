"""Counters and gauges in Prometheus's text format; without numpy, which not every process that serves them has."""

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import cast

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from market_spread.common.telemetry.metrics import Metric, MetricKind

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


def numbers(metric: Metric, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float]]) -> Family:
    """A counter or gauge: its values, each behind those of its labels."""
    of_kind = CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily
    family = of_kind(metric.name, metric.meaning, labels=labels)
    for of_labels, value in values:
        family.add_metric(of_labels, value)
    return family


def as_text(families: Iterable[Family]) -> bytes:
    """What a scraper gets."""
    return generate_latest(cast(Collector, SimpleNamespace(collect=lambda: families)))
