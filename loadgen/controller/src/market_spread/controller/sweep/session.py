"""A search on disk: its runs are in a folder for each rate, and with them all that is needed to go on.

FOLDER/sweep.json          the search, its objectives and the options of its runs
FOLDER/workload.yaml       the workload as it was when the search began
FOLDER/rates/20000/        the runs at 20,000 messages a second
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from market_spread.common.errors import RunVoidError, UsageError
from market_spread.common.words import counted
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.analysis.objectives import assess
from market_spread.controller.compare.runs import RecordedRun, runs_below
from market_spread.controller.plan.objectives import Objectives
from market_spread.controller.run_folder.folder import begin_or_go_on
from market_spread.controller.session.subprocess import CarryOut
from market_spread.controller.sweep.search import RateLimit, RateOutcome, Search, Trial, next_step
from market_spread.controller.views.output import write_text

PLAN_FILE = "sweep.json"


@dataclass(frozen=True, slots=True)
class Finding:
    """An outcome, and why, in the first sentence that speaks for it; empty if it is held."""

    outcome: RateOutcome
    reason: str = ""


def judge(run: RecordedRun, objectives: Objectives) -> Finding:
    """Whether the rate is held, by the run's verdict, then the objectives. UsageError if too few alerts tell of one."""
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


@dataclass(frozen=True, slots=True)
class RatePoint:
    """A rate that was tried, with its runs and what they say."""

    rate: int
    runs: tuple[RecordedRun, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Probing:
    """The folder of a search."""

    folder: Path
    search: Search
    objectives: Objectives

    @staticmethod
    def open(
        folder: Path, workload: Path, search: Search, objectives: Objectives, *, options: Sequence[str] = ()
    ) -> "Probing":
        """The folder, new or to be gone on with. UsageError if it was begun with another workload or other run options.

        Search and objectives may be others than before: what the runs say is found out anew from their documents.
        """
        begin_or_go_on(folder / PLAN_FILE, {"workload": workload}, options)
        document = {"search": asdict(search), "objectives": asdict(objectives), "options": list(options)}
        write_text(folder / PLAN_FILE, json.dumps(document, indent=2) + "\n")
        return Probing(folder, search, objectives)

    def points(self) -> list[RatePoint]:
        """All rates that were tried, ascending."""
        folders = (self.folder / "rates").glob("*") if (self.folder / "rates").is_dir() else iter(())
        rates = sorted(int(path.name) for path in folders if path.name.isdecimal())
        runs = {rate: tuple(runs_below(self.folder / "rates" / str(rate))) for rate in rates}
        return [
            RatePoint(rate, of, tuple(judge(run, self.objectives) for run in of)) for rate, of in runs.items() if of
        ]

    def go_on(self, carry_out: CarryOut, say: Callable[[str], None], *, runs_max: int) -> RateLimit:
        """Make runs until the rate is found. RunVoidError if that takes more than runs_max of them."""
        while True:
            points = self.points()
            step = next_step(self.search, _trials(points))
            if isinstance(step, RateLimit):
                return step
            made = sum(len(point.runs) for point in points)
            if made >= runs_max:
                raise RunVoidError(
                    f"{counted(made, 'run')} gave no answer; allow more with --runs-max, or lengthen the runs"
                )
            say(f"run {made + 1}, {step.purpose}: {step.rate:,} messages/s")
            self._run_at(step.rate, carry_out)
            say(f"  {_last_finding(self.points(), step.rate)}")

    def _run_at(self, rate: int, carry_out: CarryOut) -> None:
        folder = self.folder / "rates" / str(rate)
        before = len(runs_below(folder))
        carry_out(self.folder / "workload.yaml", runs_folder=folder, options=("--rate", str(rate)))
        if len(runs_below(folder)) == before:
            raise RunVoidError(f"the run left no result in {folder}; run the same command again")


def _trials(points: Sequence[RatePoint]) -> list[Trial]:
    """In the order of the runs' starts."""
    made = [
        (run.started, run.run_id, point.rate, finding.outcome)
        for point in points
        for run, finding in zip(point.runs, point.findings, strict=True)
    ]
    return [Trial(rate, outcome) for _, _, rate, outcome in sorted(made, key=lambda run: run[:3])]


def _last_finding(points: Sequence[RatePoint], rate: int) -> str:
    finding = next(point.findings[-1] for point in points if point.rate == rate)
    return f"{finding.outcome.value}: {finding.reason}" if finding.reason else finding.outcome.value
