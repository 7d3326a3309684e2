"""The highest rate that a contender sustains: whole runs, searched as `market-spread sweep` does."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from contenders import COMMIT_S, Contender
from whole_run import run

from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.sweep.search import RateLimit, RateOutcome, Search, Trial, next_step

# A search near the limit of two cores that hold everything; each run takes more than a minute.
SEARCH = Search(start=100_000, low=12_500, high=1_600_000, precision=0.15, repeats=1, curve=False)
RUNS_MAX = 12
_RUN_SCALE = 1 / 3  # 20 s of warm-up, and as long a load as two commits take, or nearly
_OUTCOMES = {Verdict.PASSED: RateOutcome.HELD, Verdict.FAILED: RateOutcome.BROKEN, Verdict.VOID: RateOutcome.VOID}


@dataclass(frozen=True, slots=True)
class Sustained:
    """Messages a second: the highest rate that was held, 0 if none was, and the lowest above it that was not.

    broken_per_s: None if the search found none; is_rig_bound: the rig, not the system, ended the search.
    """

    held_per_s: int
    broken_per_s: int | None
    is_rig_bound: bool
    runs: int


def sustained(contender: Contender, *, runs_folder: Path, scale: float = 1.0) -> Sustained:
    """Search with whole runs, each judged as any run is."""

    def outcome_at(rate_per_s: int) -> RateOutcome:
        shortened = _RUN_SCALE * scale
        result = run(contender, rate_per_s, commit_s=COMMIT_S, runs_folder=runs_folder, scale=shortened)
        return _OUTCOMES[result.verdict]

    return searched(outcome_at)


def searched(outcome_at: Callable[[int], RateOutcome]) -> Sustained:
    """The ends of a search whose runs have these outcomes."""
    trials: list[Trial] = []
    while not isinstance(step := next_step(SEARCH, trials), RateLimit) and len(trials) < RUNS_MAX:
        trials.append(Trial(step.rate, outcome_at(step.rate)))
    if isinstance(step, RateLimit):
        return Sustained(step.held or 0, step.broken, step.is_rig_bound, len(trials))
    held = [trial.rate for trial in trials if trial.outcome is RateOutcome.HELD]
    broken = [trial.rate for trial in trials if trial.outcome is RateOutcome.BROKEN]
    return Sustained(max(held, default=0), min(broken, default=None), is_rig_bound=False, runs=len(trials))
