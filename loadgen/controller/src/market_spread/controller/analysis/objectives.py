"""What is asked of a system besides being correct, and whether it was met: one formula each, for runs and sweeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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


def assess(objectives: Objectives, achieved: Achieved) -> tuple[Evidence, ...]:
    """Evidence on each objective; one that cannot be evaluated neither holds nor fails."""
    evidence = [_percentile(name, limit, achieved) for name, limit in objectives.latency_ms.items()]
    if (share := objectives.rate_share) is not None:
        found, offered = achieved.achieved_rate_per_s, achieved.offered_rate_per_s
        holds, text = None, "no rate was achieved"
        if found is not None:
            holds = found >= share * offered
            text = f"{found:,.0f} messages/s were achieved; the objective is {share:.1%} of {offered:,.0f}"
        evidence.append(Evidence(Criterion.RATE, holds, text, found, share * offered, "messages/s"))
    if (allowed := objectives.loss) is not None:
        text = "not evaluated: the run was not judged, so no loss is known"
        if achieved.lost is not None:
            text = f"{achieved.lost:,} messages were lost, on the way there or back; the objective is {allowed:,}"
        evidence.append(at_most(Criterion.LOSS, achieved.lost, allowed, unit="messages", text=text))
    return tuple(evidence)


def _percentile(name: str, limit_ms: float, achieved: Achieved) -> Evidence:
    criterion = Criterion(f"latency_{name}")
    if (found_ns := achieved.latency_ns.get(name)) is None:
        text = f"not evaluated: there are too few samples for {name}; the objective is {limit_ms:g} ms"
        return at_most(criterion, None, limit_ms, unit="ms", text=text)
    text = f"{name} is {found_ns / 1e6:.1f} ms; the objective is {limit_ms:g} ms"
    if (clusters := achieved.clusters.get(name, CLUSTERS_MIN)) < CLUSTERS_MIN and is_of_tail(name):
        # What was observed meets a limit or does not; only an estimate of other runs needs the clusters.
        text += f" (of this run alone: {counted(clusters, 'cluster')}, {CLUSTERS_MIN} needed for more)"
    return at_most(criterion, found_ns / 1e6, limit_ms, unit="ms", text=text)
