"""The tuner's metrics, as a scraper gets them."""

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from market_spread.common.telemetry.metrics import (
    HOST_APPLY_ERRORS,
    HOST_DRIFT,
    HOST_EXCLUSIVE_CPUS,
    HOST_PUBLISH_ERRORS,
    HOST_SETTING_OK,
    HOST_VERIFIED,
    HOST_WRITES,
    Metric,
)
from market_spread.host_tuner.report import Report
from market_spread.host_tuner.tuner import Counts

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

# They would be a series of their own beside every counter.
disable_created_metrics()  # type: ignore[no-untyped-call]


class TunerMetrics:
    """Figures of the newest look at the host, and counts since the tuner started."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._setting_ok = self._gauge(HOST_SETTING_OK)
        self._exclusive_cpus = self._gauge(HOST_EXCLUSIVE_CPUS)
        self._verified = self._gauge(HOST_VERIFIED)
        self._drift = _Count(HOST_DRIFT, self._registry)
        self._writes = _Count(HOST_WRITES, self._registry)
        self._errors = _Count(HOST_APPLY_ERRORS, self._registry)
        self._publish_errors = _Count(HOST_PUBLISH_ERRORS, self._registry)

    def update(self, report: Report, counts: Counts, *, publish_errors: int, unix_ns: int) -> None:
        """Take what was found just now."""
        self._setting_ok.clear()
        for outcome in report.outcomes:
            self._setting_ok.labels(outcome.setting).set(outcome.ok)
            self._drift.reach(counts.drifts[outcome.setting], outcome.setting)
            self._writes.reach(counts.written[outcome.setting], outcome.setting)
            self._errors.reach(counts.errors[outcome.setting], outcome.setting)
        self._publish_errors.reach(publish_errors)
        self._exclusive_cpus.set(report.exclusive_cpus)
        self._verified.set(unix_ns / 1e9)

    def exposition(self) -> bytes:
        """The text that a scraper gets."""
        return generate_latest(self._registry)

    def _gauge(self, metric: Metric) -> Gauge:
        return Gauge(metric.name, metric.meaning, metric.labels, registry=self._registry)


class _Count:
    """A counter that is set to a count kept elsewhere."""

    def __init__(self, metric: Metric, registry: CollectorRegistry) -> None:
        self._counter = Counter(metric.name, metric.meaning, metric.labels, registry=registry)
        self._reached: dict[tuple[str, ...], int] = {}

    def reach(self, count: int, *labels: str) -> None:
        counter = self._counter.labels(*labels) if labels else self._counter
        counter.inc(count - self._reached.get(labels, 0))
        self._reached[labels] = count
