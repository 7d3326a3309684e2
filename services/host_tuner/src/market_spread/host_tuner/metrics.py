"""The tuner's metrics, as a scraper gets them."""

from collections.abc import Mapping

from market_spread.common.telemetry.families import as_text, numbers
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


def exposition(report: Report, counts: Counts, *, publish_errors: int, unix_ns: int) -> bytes:
    """Figures of a look at the host, at that time, and counts since the tuner started."""
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
    families = [numbers(metric, (), [((), value)]) for metric, value in alone.items()]
    for metric, found in by_setting.items():
        names = dict.fromkeys((*settings, *found))
        families.append(numbers(metric, metric.labels, [((name,), found.get(name, 0)) for name in names]))
    return as_text(families)
