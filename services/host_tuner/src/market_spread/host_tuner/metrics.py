"""The tuner's metrics, as a scraper gets them."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector, CollectorRegistry

from market_spread.common.telemetry.metrics import (
    HOST_APPLY_ERRORS,
    HOST_DRIFT,
    HOST_EXCLUSIVE_CPUS,
    HOST_PUBLISH_ERRORS,
    HOST_SETTING_OK,
    HOST_VERIFIED,
    HOST_WRITES,
    Metric,
    MetricKind,
)
from market_spread.host_tuner.report import Report
from market_spread.host_tuner.tuner import Counts

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class TunerMetrics(Collector):
    """Figures of the newest look at the host, and counts since the tuner started; nothing before the first look."""

    def __init__(self) -> None:
        self._families: list[Family] = []

    def update(self, report: Report, counts: Counts, *, publish_errors: int, unix_ns: int) -> None:
        """Take what was found just now."""
        settings = [outcome.setting for outcome in report.outcomes]
        by_setting: Mapping[Metric, Mapping[str, float]] = {
            HOST_SETTING_OK: {outcome.setting: outcome.ok for outcome in report.outcomes},
            HOST_DRIFT: counts.drifts,
            HOST_WRITES: counts.written,
            HOST_APPLY_ERRORS: counts.errors,
        }
        alone = {
            HOST_EXCLUSIVE_CPUS: report.exclusive_cpus,
            HOST_PUBLISH_ERRORS: publish_errors,
            HOST_VERIFIED: unix_ns / 1e9,
        }
        self._families = [
            *(
                _family(metric, {(name,): found.get(name, 0) for name in (*settings, *found)})
                for metric, found in by_setting.items()
            ),
            *(_family(metric, {(): value}) for metric, value in alone.items()),
        ]

    def collect(self) -> Iterator[Family]:
        yield from self._families

    def exposition(self) -> bytes:
        """The text that a scraper gets."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)


def _family(metric: Metric, values: Mapping[tuple[str, ...], float]) -> Family:
    """The metric with its values by their labels."""
    of_kind = CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily
    family = of_kind(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
