"""The search that a workload and the options of the command describe."""

from market_spread.common.errors import UsageError
from market_spread.common.load.schedule import RATE_PER_S_MAX, Constant
from market_spread.controller.plan.workload import Workload
from market_spread.controller.sweep.search import Search


def search_of(
    workload: Workload,
    *,
    start: int | None,
    low: int,
    high: int,
    precision: float,
    repeats: int,
    drift_share: float,
    curve: bool,
) -> Search:
    """The search, from the workload's rate on if no start is given. UsageError for limits that allow none."""
    if not isinstance(workload.load, Constant):
        raise UsageError(f"{workload.name} has no constant profile; a sweep needs one, whose rate it sets")
    if not low <= high <= RATE_PER_S_MAX:
        raise UsageError(f"--from {low} --to {high}; use rates that ascend, up to {RATE_PER_S_MAX}")
    if start is not None and not low <= start <= high:
        raise UsageError(f"--start {start}; use {low} to {high}, which --from and --to allow")
    return Search(
        start=start if start is not None else min(max(workload.load.rate_per_s, low), high),
        low=low,
        high=high,
        precision=precision,
        repeats=repeats,
        drift_share=drift_share,
        curve=curve,
    )
