"""A search on disk, whose runs are in a folder for each rate, with all that is needed to go on; and what it found.

FOLDER/sweep.json          the search, its objectives and the options of its runs
FOLDER/workload.yaml       the workload as it was when the search began
FOLDER/rates/20000/        the runs at 20,000 messages a second
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from market_spread.common.errors import RunVoidError, UsageError
from market_spread.common.words import counted
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.compare.figures import PERCENTILES, short_number
from market_spread.controller.compare.runs import RecordedRun, read_run, run_folders, runs_below
from market_spread.controller.plan.objectives import Objectives
from market_spread.controller.plan.reading import standalone
from market_spread.controller.run_folder import begin_or_go_on
from market_spread.controller.session.subprocess import CarryOut
from market_spread.controller.sweep.search import RateLimit, RateOutcome, Search, Trial, next_step, round_rate
from market_spread.controller.views.output import Page, Sentences, Table, write_text

PLAN_FILE = "sweep.json"
SCHEMA_VERSION = 1


def judge(rate: int, run: RecordedRun, objectives: Objectives) -> Trial:
    """Whether the rate is held, by the run's verdict, then the objectives; nothing if too few samples tell one."""
    if run.verdict is not Verdict.PASSED:
        outcome = RateOutcome.VOID if run.verdict is Verdict.VOID else RateOutcome.BROKEN
        return Trial(rate, outcome, run.reasons[0] if run.reasons else f"the run is {run.verdict.value}")
    evidence = run.achieved.assess(objectives)
    for each in evidence:
        if each.holds is None and each.unit == "ms":
            why = f"--slo {each.criterion.removeprefix('latency_')}: run {run.run_id} has too few samples for it"
            return Trial(rate, RateOutcome.VOID, f"{why}; make longer runs with -- --duration in another --runs-folder")
    broken = (Trial(rate, RateOutcome.BROKEN, each.text) for each in evidence if each.holds is False)
    return next(broken, Trial(rate, RateOutcome.HELD))


# The runs at a rate, by their start, and what each says; and those of all rates that were tried, ascending.
JudgedRuns = Sequence[tuple[RecordedRun, Trial]]
Points = Mapping[int, JudgedRuns]


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
        begin_or_go_on(folder / PLAN_FILE, {"workload": standalone(workload)}, options)
        document = {"search": asdict(search), "objectives": asdict(objectives), "options": list(options)}
        write_text(folder / PLAN_FILE, json.dumps(document, indent=2) + "\n")
        return Probing(folder, search, objectives)

    def points(self) -> Points:
        """All rates that were tried, ascending."""
        rates = sorted(int(path.name) for path in (self.folder / "rates").glob("*") if path.name.isdecimal())
        runs = {rate: [run for run in runs_below(self._runs_at(rate)) if not run.is_interrupted] for rate in rates}
        return {rate: [(run, judge(rate, run, self.objectives)) for run in of] for rate, of in runs.items() if of}

    def go_on(self, carry_out: CarryOut, say: Callable[[str], None], *, runs_max: int) -> RateLimit:
        """Make runs until the rate is found; RunVoidError if that takes more than runs_max of them.

        UsageError after one with too few samples for an objective, but for the curve, when the rate is found.
        """
        while True:
            made = [each for runs in self.points().values() for each in runs]
            made.sort(key=lambda each: (each[0].started, each[0].run_id))
            step = next_step(self.search, [trial for _, trial in made])
            if isinstance(step, RateLimit):
                return step
            if len(made) >= runs_max:
                so_many = counted(len(made), "run")
                raise RunVoidError(f"{so_many} gave no answer; allow more with --runs-max, or lengthen the runs")
            of_rate = [each for each in made if each[1].rate == step.rate and each[1].outcome is RateOutcome.VOID]
            too_few = [trial.reason for run, trial in of_rate if run.verdict is not Verdict.VOID]
            if too_few and step.purpose != "curve":
                raise UsageError(too_few[0])
            say(f"run {len(made) + 1}, {step.purpose}: {step.rate:,} messages/s")
            folder = self._runs_at(step.rate)
            before = run_folders(folder)
            carry_out(self.folder / "workload.yaml", runs_folder=folder, options=("--rate", str(step.rate)))
            if not (new := [each for each in run_folders(folder) if each not in before]):
                raise RunVoidError(f"the run left no result in {folder}; run the same command again")
            trial = judge(step.rate, read_run(new[-1]), self.objectives)
            say(f"  {trial.outcome.value}: {trial.reason}" if trial.reason else f"  {trial.outcome.value}")

    def _runs_at(self, rate: int) -> Path:
        return self.folder / "rates" / str(rate)


def search_page(name: str, found: RateLimit, points: Points, objectives: Objectives) -> Page:
    """The answer, how it stands, and every rate that was tried."""
    head = ("", "runs", "messages/s", "achieved", *(f"{name}, ms" for name in PERCENTILES), "CPU, us/message")
    rows = tuple(_row(rate, runs) for rate, runs in points.items())
    table = Table("Medians over the runs of each rate", head, rows, text_columns=2)
    headline = f"{name} {_answer(found)} under {objectives.text} ({counted(sum(map(len, points.values())), 'run')})"
    return Page(found.verdict, headline, (Sentences(_sentences(found, points)), table))


def search_document(found: RateLimit, points: Points, objectives: Objectives) -> dict[str, Any]:
    """The answer for programs, versioned by `schema_version`; rates in messages a second, latencies medians."""
    return {
        "schema_version": SCHEMA_VERSION,
        "objectives": objectives.text,
        "latency_limits_ms": objectives.latency_ms,
        **asdict(found),
        "rates": [
            {
                "rate": rate,
                "outcome": _verdict(runs).value,
                "latency_ms": {name: _median(runs, f"latency_ns.{name}", 1e6) for name in PERCENTILES},
            }
            for rate, runs in points.items()
        ],
        "runs": [
            {"rate": trial.rate, "run_id": run.run_id, "outcome": trial.outcome.value, "reason": trial.reason}
            for runs in points.values()
            for run, trial in runs
        ],
    }


def _answer(found: RateLimit) -> str:
    limit = found.limit
    if found.verdict == "undecided":
        return "has no limit that its runs agree on" if limit else "has no valid run at the lowest rate"
    if limit is not None:
        rate, low, high = map(round_rate, (limit.rate, limit.low, limit.high))
        return f"holds {rate:,} messages/s (95% interval {low:,} to {high:,})"
    return f"holds {found.held:,} messages/s or more" if found.held else "holds no rate that was tried"


def _sentences(found: RateLimit, points: Points) -> tuple[str, ...]:
    said = []
    if (limit := found.limit) is not None and limit.is_bracketed:
        said.append(
            f"half of the runs hold {round_rate(limit.rate):,} messages/s; 95% interval "
            f"{round_rate(limit.search_low):,} to {round_rate(limit.search_high):,} for the machine as it was during "
            "the search; the wider one in the headline is for other hours (--drift)"
        )
    elif limit is not None:
        said.append(
            f"not bracketed: by its runs the limit may be anywhere from {round_rate(limit.search_low):,} to "
            f"{round_rate(limit.search_high):,} messages/s; allow more of them with --repeats, make them longer with "
            "-- --duration, or search again at another hour with another --runs-folder"
        )
    if found.held:
        said.append(f"{found.held:,} messages/s: {_counts(points[found.held])}")
    if found.broken is None:
        said.append("no higher rate was tried: it is the highest that --to allows")
    else:
        reason = next((trial.reason for _, trial in points[found.broken] if trial.reason), "")
        said.append(f"{found.broken:,} messages/s: {_counts(points[found.broken])}; {reason}")
    if found.is_rig_bound:
        said.append(f"the runs at {found.broken:,} are void, so the system may hold more than the rig can show here")
    return tuple(said)


def _counts(runs: JudgedRuns) -> str:
    counts = Counter(trial.outcome for _, trial in runs)
    return ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in RateOutcome if counts[outcome])


def _verdict(runs: JudgedRuns) -> RateOutcome:
    counts = Counter(trial.outcome for _, trial in runs)
    if counts[RateOutcome.HELD] > counts[RateOutcome.BROKEN]:
        return RateOutcome.HELD
    return RateOutcome.BROKEN if counts[RateOutcome.BROKEN] else RateOutcome.VOID


def _row(rate: int, runs: JudgedRuns) -> tuple[str, ...]:
    latencies = (_median(runs, f"latency_ns.{name}", 1e6) for name in PERCENTILES)
    values = (_median(runs, "achieved_rate_per_s"), *latencies, _median(runs, "cpu_us_per_message"))
    shown = ("-" if value is None else short_number(value) for value in values)
    return (_verdict(runs).value, _counts(runs), f"{rate:,}", *shown)


def _median(runs: JudgedRuns, path: str, divisor: float = 1.0) -> float | None:
    """Over the runs that were judged; over the void ones if there are no others."""
    judged = [run for run, trial in runs if trial.outcome is not RateOutcome.VOID] or [run for run, _ in runs]
    values = [run.figures[path] for run in judged if path in run.figures]
    return float(np.median(values)) / divisor if values else None
