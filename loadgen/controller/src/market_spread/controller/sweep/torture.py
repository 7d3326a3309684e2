"""Runs of one workload under random faults, seed after seed; what they survived, and how to make each again.

FOLDER/torture.json        the options of its runs
FOLDER/workload.yaml       the workload as it was at first
FOLDER/seeds/7/            workload.yaml with seed 7, and the run that it made
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from market_spread.common.clock import Clock
from market_spread.common.documents import json_object
from market_spread.common.errors import RunVoidError, UsageError, usage_errors
from market_spread.common.words import counted
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.compare.runs import DAMAGED, RecordedRun, runs_below
from market_spread.controller.plan.reading import read_workload, standalone, to_yaml
from market_spread.controller.run_folder import RunFolder, begin_or_go_on
from market_spread.controller.session.subprocess import CarryOut
from market_spread.controller.views.output import Page, Sentences, Table, write_text

_PLAN_FILE, _WITHOUT_RESULT_MAX = "torture.json", 3
_HEAD = ("fault", "times", "longest recovery, s", "longest silence, s", "lost", "doubled")


@dataclass(frozen=True, slots=True)
class Torture:
    """The folder of a torture."""

    folder: Path
    clock: Clock

    @staticmethod
    def open(folder: Path, workload: Path, *, clock: Clock, options: Sequence[str] = ()) -> "Torture":
        """The folder, new or to be gone on with. UsageError if it was begun otherwise, or no seed draws its faults."""
        faults = read_workload(workload).faults
        if faults is None or faults.random is None:
            raise UsageError(f"{workload} has no faults.random; add it, as a seed draws nothing else")
        begin_or_go_on(folder / _PLAN_FILE, {"workload": standalone(workload)}, options)
        write_text(folder / _PLAN_FILE, json.dumps({"options": list(options)}) + "\n")
        return Torture(folder, clock)

    def runs(self) -> Mapping[int, RecordedRun | None]:
        """The last run of each seed that was begun, ascending; None if it came to no result."""
        seeds = sorted(int(path.name) for path in (self.folder / "seeds").glob("*") if path.name.isdecimal())
        return {seed: next(reversed(runs_below(self._of(seed))), None) for seed in seeds}

    def go_on(self, carry_out: CarryOut, say: Callable[[str], None], *, seed: int, hours: float) -> None:
        """Run this seed and those after it that have no run yet, until the hours are over; the last run is finished.

        RunVoidError if three in a row come to no result: what was planned does not begin then.
        """
        until_ns, without = self.clock.monotonic_ns() + round(hours * 3600e9), 0
        made = {each for each, run in self.runs().items() if run}
        while self.clock.monotonic_ns() < until_ns:
            if seed not in made:
                say(f"seed {seed}")
                folder = self._of(seed)
                folder.mkdir(parents=True, exist_ok=True)
                workload = read_workload(self.folder / "workload.yaml").changed(seed=seed, faults={"seed": seed})
                write_text(folder / "workload.yaml", to_yaml(workload))
                carry_out(folder / "workload.yaml", runs_folder=folder, options=())
                run = self.runs()[seed]
                without = 0 if run else without + 1
                say(f"  {': '.join([run.verdict.value, *run.reasons[:1]]) if run else f'no result in {folder}'}")
                if without == _WITHOUT_RESULT_MAX:
                    raise RunVoidError(f"{without} runs in a row left no result; the last one said why: see {folder}")
            seed += 1

    def _of(self, seed: int) -> Path:
        return self.folder / "seeds" / str(seed)


def torture_page(name: str, runs: Mapping[int, RecordedRun | None]) -> tuple[Page, dict[str, Any]]:
    """How many seeds were survived, what each kind of fault did at worst, and what was not survived; also as JSON."""
    judged = {seed: run for seed, run in runs.items() if run}
    verdicts = Counter(run.verdict for run in judged.values())
    worst = next((each for each in (Verdict.FAILED, Verdict.PASSED) if verdicts[each]), Verdict.VOID)
    faults: dict[str, list[Mapping[str, Any]]] = {}
    said = [f"seed {seed} came to no result" for seed, run in runs.items() if not run]
    for seed, run in judged.items():
        with usage_errors(f"the result of seed {seed} is damaged", f"delete {run.folder} and go on", DAMAGED):
            for fault in json_object(RunFolder(run.folder).result.read_bytes())["planned_faults"]:
                _worst([fault])  # reads all of it
                faults.setdefault(fault["text"].partition(" for ")[0], []).append(fault)
        if run.verdict is not Verdict.PASSED:
            again = f"market-spread run {run.folder.parent / 'workload.yaml'}"
            said.append(f"seed {seed}, {run.verdict.value}: {'; '.join(run.reasons)}; to make it again: {again}")
    rows = tuple((kind, f"{len(of):,}", *_worst(of)) for kind, of in sorted(faults.items()))
    counts = ", ".join(f"{verdicts[each]:,} {each.value}" for each in Verdict)
    headline = f"{name}: {counted(len(runs), 'seed')}, {counts}; {counted(sum(map(len, faults.values())), 'fault')}"
    seeds = [{"seed": at, "run_id": run.run_id, "verdict": run.verdict.value} for at, run in judged.items()]
    document = {"verdict": worst.value, "seeds": seeds, "faults": faults}
    return Page(worst.value, headline, (Table("", _HEAD, rows), Sentences(tuple(said)))), document


def _worst(faults: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    recovered = [each["recovered_s"] for each in faults]
    longest = "never" if None in recovered else f"{max(recovered):.1f}"
    lost, doubled = (sum(each[name] for each in faults) for name in ("lost", "doubled"))
    return longest, f"{max(each['silence_s'] for each in faults):.1f}", f"{lost:,}", f"{doubled:,}"
