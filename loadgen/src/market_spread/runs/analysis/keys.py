"""Latency by what the orders' keys have to do with it: hot or cold, and the partition of the job's state."""

from collections.abc import Mapping

import numpy as np

from market_spread.common.codec import Int64s
from market_spread.common.histogram import HdrCounts, latency_summary_ns
from market_spread.loadgen.columns import Alerts, Texts, symbol_codes
from market_spread.loadgen.symbols import universe
from market_spread.runs.analysis.evidence import Criterion, Evidence
from market_spread.runs.plan import RunPlan
from market_spread.runs.state_partitions import state_partition_of

ONE_KEY_SHARE_MAX = 0.1
_SAMPLES_MIN = 500

LatencyNs = Mapping[str, int | None]


def latency_by_key(plan: RunPlan, alerts: Alerts) -> tuple[dict[str, LatencyNs], dict[str, LatencyNs]]:
    """Latencies of first alerts by heat of the key (`hot`, `cold`), and by the number of the state partition.

    Of a replay, whose market is not ours, by state partition only. A group without an alert is left out.
    """
    workload, latency_us = plan.workload, alerts.received_us - alerts.intended_us
    by_heat: dict[str, LatencyNs] = {}
    if plan.origin.get("source") == "market":
        is_hot = universe(workload.symbols, workload.partitions).is_hot(alerts.symbol)
        by_heat = {
            name: _summary(latency_us[which]) for name, which in (("hot", is_hot), ("cold", ~is_hot)) if which.any()
        }
    partition = state_partition_of(
        alerts.symbol, mode=workload.mode, buckets=workload.partitions, partitions=workload.shuffle_partitions
    )
    return by_heat, {str(number): _summary(latency_us[partition == number]) for number in np.unique(partition)}


def one_key(plan: RunPlan, symbols: Texts) -> Evidence:
    """Whether no key has so many of the samples that the latencies are its own. symbols: of the judged alerts."""
    limit = ONE_KEY_SHARE_MAX
    if plan.origin.get("source") != "market" or len(symbols) < _SAMPLES_MIN:
        why = "the orders are recorded ones" if plan.origin.get("source") != "market" else f"{len(symbols)} samples"
        return Evidence(Criterion.ONE_KEY, None, f"not evaluated: {why}", None, limit, "share")
    keys, counts = np.unique(symbol_codes(symbols), return_counts=True)
    share = float(counts.max() / counts.sum())
    text = f"of {counts.sum():,} samples one of {len(keys)} keys has {share:.1%}"
    if share > limit:
        text += f", at most {limit:.0%} may be; the latencies are that key's: have more probes, or a longer load"
    return Evidence(Criterion.ONE_KEY, share <= limit, text, share, limit, "share")


def _summary(latency_us: Int64s) -> LatencyNs:
    histogram = HdrCounts()
    histogram.record(latency_us)
    return latency_summary_ns(histogram)
