"""The aggregator itself as plain values, for the JSON that the web side serves."""

from typing import Any

from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.prometheus_view import own_counts
from market_spread.metrics_aggregator.self_metrics import Times


def aggregator_view(store: Store) -> dict[str, Any]:
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


def _percentiles(name: str, times: Times) -> dict[str, int]:
    """The median, the 99th percentile and the maximum, microseconds."""
    p50, p99 = times.recorded.percentiles((50, 99))
    return {f"{name}_us_p50": p50, f"{name}_us_p99": p99, f"{name}_us_max": times.recorded.max_us}
