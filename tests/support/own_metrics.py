"""The metrics that no process may push: those that aggregator and host tuner serve of themselves."""

from types import ModuleType

from market_spread.common.telemetry import metrics
from market_spread.common.telemetry.metrics import METRICS, Metric
from market_spread.metrics_aggregator import prometheus_view


def _not_pushed(module: ModuleType) -> tuple[Metric, ...]:
    return tuple(it for it in vars(module).values() if isinstance(it, Metric) and it.name not in METRICS)


HOST_TUNER_METRICS = _not_pushed(metrics)
OWN_METRICS = (
    *(metric for metric in _not_pushed(prometheus_view) if metric not in HOST_TUNER_METRICS),
    *(metric for metric, _ in prometheus_view.LIMITS.values()),
)
