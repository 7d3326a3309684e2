"""Whether a run holds its rate: its own verdict, then the objectives of the search."""

from dataclasses import dataclass
from enum import Enum

from market_spread.common.errors import UsageError
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.analysis.objectives import assess
from market_spread.controller.compare.runs import RecordedRun
from market_spread.controller.plan.objectives import Objectives


class RateOutcome(Enum):
    """What a run at a rate says."""

    HELD = "held"
    BROKEN = "broken"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Finding:
    """An outcome, and why, in the first sentence that speaks for it; empty if it is held."""

    outcome: RateOutcome
    reason: str = ""


def judge(run: RecordedRun, objectives: Objectives) -> Finding:
    """Whether the run's rate is held. UsageError if it has too few alerts for a percentile that is asked for."""
    if run.verdict is not Verdict.PASSED:
        outcome = RateOutcome.VOID if run.verdict is Verdict.VOID else RateOutcome.BROKEN
        return Finding(outcome, run.reasons[0] if run.reasons else f"the run is {run.verdict.value}")
    evidence = assess(objectives, run.achieved)
    for each in evidence:
        if each.holds is None and each.unit == "ms":
            raise UsageError(
                f"--slo {each.criterion.removeprefix('latency_')}: run {run.run_id} has too few alerts for it; "
                "make the runs longer with -- --duration, or have more probes in the workload"
            )
    return next(
        (Finding(RateOutcome.BROKEN, each.text) for each in evidence if each.holds is False), Finding(RateOutcome.HELD)
    )
