"""What is asked of a system besides being correct, and whether it was met: one formula each, for runs and sweeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from market_spread.common.words import counted
from market_spread.controller.analysis.evidence import Criterion, Evidence, at_most
from market_spread.controller.plan.objectives import Objectives
from market_spread.controller.statistics.intervals import CLUSTERS_MIN, is_of_tail


@dataclass(frozen=True, slots=True)
class Achieved:
    """What a run came to. latency_ns: by percentile, None where too few alerts support it; lost: None if not known;
    clusters: in how many clusters of time the percentiles lie.
    """

    latency_ns: Mapping[str, int | None]
    offered_rate_per_s: float
    achieved_rate_per_s: float | None
    lost: int | None
    clusters: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of_result(result: Mapping[str, Any]) -> "Achieved":
        """Of a result as JSON has it."""
        lost, clusters = result.get("messages_lost"), result.get("latency_clusters", {}).get("latency_ns", {})
        return Achieved(
            result["latency_ns"], result["offered_rate_per_s"], result["achieved_rate_per_s"], lost, clusters
        )


NOTHING_ACHIEVED = Achieved({}, 0.0, None, None)


def assess(objectives: Objectives, achieved: Achieved) -> tuple[Evidence, ...]:
    """Evidence on each objective; one that cannot be evaluated neither holds nor fails."""
    evidence = [_percentile(name, limit, achieved) for name, limit in objectives.latency_ms.items()]
    if objectives.rate_share is not None:
        evidence.append(_rate(objectives.rate_share, achieved))
    if objectives.loss is not None:
        evidence.append(_loss(objectives.loss, achieved.lost))
    return tuple(evidence)


def _percentile(name: str, limit_ms: float, achieved: Achieved) -> Evidence:
    criterion = Criterion(f"latency_{name}")
    found_ns = achieved.latency_ns.get(name)
    if found_ns is None:
        text = f"not evaluated: there are too few alerts for {name}; the objective is {limit_ms:g} ms"
        return Evidence(criterion, None, text, None, limit_ms, "ms")
    text = f"{name} is {found_ns / 1e6:.1f} ms; the objective is {limit_ms:g} ms"
    if (clusters := achieved.clusters.get(name, CLUSTERS_MIN)) < CLUSTERS_MIN and is_of_tail(name):
        # What was observed meets a limit or does not; only an estimate of other runs needs the clusters.
        text += f" (of this run alone: {counted(clusters, 'cluster')}, {CLUSTERS_MIN} needed for more)"
    return at_most(criterion, found_ns / 1e6, limit_ms, unit="ms", text=text)


def _rate(share: float, achieved: Achieved) -> Evidence:
    found, offered = achieved.achieved_rate_per_s, achieved.offered_rate_per_s
    if found is None:
        return Evidence(Criterion.RATE, None, "no rate was achieved", None, share * offered, "messages/s")
    text = f"{found:,.0f} messages/s were achieved; the objective is {share:.1%} of {offered:,.0f}"
    return Evidence(Criterion.RATE, found >= share * offered, text, found, share * offered, "messages/s")


def _loss(allowed: int, lost: int | None) -> Evidence:
    if lost is None:
        text = "not evaluated: the run was not judged, so no loss is known"
        return Evidence(Criterion.LOSS, None, text, None, allowed, "messages")
    text = f"{lost:,} messages and alerts were lost; the objective is {allowed:,}"
    return at_most(Criterion.LOSS, lost, allowed, unit="messages", text=text)
