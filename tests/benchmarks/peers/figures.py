"""The figures of a contender: how each is measured."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contenders import COMMIT_S, Contender
from draining import drained
from recovering import recovered
from sustained import sustained
from whole_run import steady

from market_spread.common.job_contract import BATCH_S_MIN, MICRO_BATCH

RATES_PER_S = (1_000, 20_000, 100_000)
OTHER_COMMITS_S = (1.0, 30.0)
COMMITS_RATE_PER_S = 20_000


@dataclass(frozen=True, slots=True)
class Figure:
    """What is measured of a contender in one go. minutes: about how long that takes; commit_s: see `takes`."""

    name: str
    measure: Callable[[Contender, Path, float], Any]
    minutes: float
    commit_s: float = COMMIT_S

    def takes(self, contender: Contender) -> bool:
        """Whether the contender can commit as often as this figure asks; one that does as it likes has one figure."""
        if self.commit_s == COMMIT_S:
            return True
        is_free = contender.commit_s is not None or contender.mode == MICRO_BATCH
        return not is_free and (contender.peer is not None or self.commit_s >= BATCH_S_MIN[contender.mode])


def _at(name: str, rate_per_s: int, commit_s: float = COMMIT_S) -> Figure:
    def measure(contender: Contender, runs_folder: Path, scale: float) -> Any:
        return steady(contender, rate_per_s, commit_s=commit_s, runs_folder=runs_folder, scale=scale)

    return Figure(name, measure, 2.4 + commit_s / 60, commit_s)


FIGURES = (
    *(_at(f"rate-{rate_per_s}", rate_per_s) for rate_per_s in RATES_PER_S),
    Figure("drain", lambda contender, _, scale: drained(contender, scale=scale), 1.5),
    Figure("recovery", lambda contender, _, scale: recovered(contender, scale=scale), 1.8),
    Figure("sustained", lambda contender, runs, scale: sustained(contender, runs_folder=runs, scale=scale), 12),
    *(_at(f"commit-{commit_s:g}", COMMITS_RATE_PER_S, commit_s) for commit_s in OTHER_COMMITS_S),
)
