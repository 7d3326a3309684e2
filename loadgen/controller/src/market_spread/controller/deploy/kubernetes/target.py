"""`--target kubernetes`: the release that the command line names."""

from collections.abc import Callable
from pathlib import Path

from market_spread.common.clock import SystemClock
from market_spread.controller.deploy.base import Environment
from market_spread.controller.deploy.kubernetes.api import Cluster
from market_spread.controller.deploy.kubernetes.release import Release
from market_spread.controller.plan.plan import RunPlan


def release_of(
    plan: RunPlan, *, release: str, namespace: str, context: str | None, in_cluster: bool
) -> Callable[[str, Path], Environment]:
    """What makes the environment of a run in that release. UsageError if the cluster cannot be asked."""
    cluster = Cluster.around(namespace=namespace) if in_cluster else Cluster.of_context(context, namespace=namespace)

    def environment(_run_id: str, _folder: Path) -> Environment:
        return Release(cluster, release=release, workload=plan.workload, clock=SystemClock(), in_cluster=in_cluster)

    return environment
