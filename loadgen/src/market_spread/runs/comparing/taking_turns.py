"""Two workloads run in turn into one folder, which remembers all that is needed to go on after an interruption.

    FOLDER/ab.json     how many pairs, the seed of their order, and the options of every run
    FOLDER/a.yaml      the first workload as it was when the first run was made; FOLDER/b.yaml the second
    FOLDER/a/, b/      the runs of each

What is done is what the folders hold, so there is no account that could differ from it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from market_spread.common.errors import RunVoidError, UsageError
from market_spread.runs.carrying import CarryOut
from market_spread.runs.comparing.recorded import RecordedRun, runs_below
from market_spread.runs.comparing.turns import ARMS, Turns
from market_spread.runs.pages.output import write_text

PLAN_FILE = "ab.json"
VOID_IN_A_ROW_MAX = 3


@dataclass(frozen=True, slots=True)
class TakingTurns:
    """The folder of two workloads that are run in turn."""

    folder: Path
    turns: Turns

    @staticmethod
    def open(
        folder: Path, workloads: Sequence[Path], *, pairs: int, seed: int, options: Sequence[str] = ()
    ) -> "TakingTurns":
        """The folder, new or to be gone on with. UsageError if it was begun with other workloads or options of runs.

        pairs may be another number than before. seed: of a new folder; one that was begun keeps its own.
        """
        if (folder / PLAN_FILE).exists():
            _require_same(folder, workloads)
            seed = _seed_of(folder, options)
        else:
            _begin(folder, workloads)
        plan = {"pairs": pairs, "seed": seed, "options": list(options)}
        write_text(folder / PLAN_FILE, json.dumps(plan) + "\n")
        return TakingTurns(folder, Turns(pairs, seed))

    def runs_of(self, arm: str) -> list[RecordedRun]:
        """The finished runs of an arm, void ones included."""
        return runs_below(self.folder / arm)

    def next_arm(self) -> str | None:
        """Whose turn it is; None if all valid runs are there."""
        return self.turns.next_arm([arm for arm in ARMS for run in self.runs_of(arm) if not run.is_void])

    def go_on(self, carry_out: CarryOut, say: Callable[[str], None]) -> None:
        """Make the runs that are missing. A void one is made again; RunVoidError after three of them in a row."""
        void_in_a_row = 0
        while (arm := self.next_arm()) is not None:
            valid = sum(not run.is_void for each in ARMS for run in self.runs_of(each))
            say(f"run {valid + 1} of {2 * self.turns.pairs}: {arm}")
            before = {run.run_id for run in self.runs_of(arm)}
            carry_out(self.folder / f"{arm}.yaml", runs_folder=self.folder / arm, options=())
            made = [run for run in self.runs_of(arm) if run.run_id not in before]
            if not made:
                raise RunVoidError(f"the run left no result in {self.folder / arm}; go on with the same command")
            void_in_a_row = void_in_a_row + 1 if made[-1].is_void else 0
            if void_in_a_row == VOID_IN_A_ROW_MAX:
                raise RunVoidError(
                    f"{VOID_IN_A_ROW_MAX} runs in a row were void ({made[-1].void_reasons[0]}); "
                    "mend that, and go on with the same command"
                )


def _begin(folder: Path, workloads: Sequence[Path]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}; name another --folder") from error
    for arm, workload in zip(ARMS, workloads, strict=True):
        write_text(folder / f"{arm}.yaml", workload.read_text())


def _require_same(folder: Path, workloads: Sequence[Path]) -> None:
    for arm, workload in zip(ARMS, workloads, strict=True):
        kept = folder / f"{arm}.yaml"
        if not kept.exists() or kept.read_text() != workload.read_text():
            raise UsageError(
                f"{folder} was begun with another workload than {workload} as {arm}; name another --folder"
            )


def _seed_of(folder: Path, options: Sequence[str]) -> int:
    """The seed of a folder that was begun."""
    try:
        plan = json.loads((folder / PLAN_FILE).read_text())
        seed, before = int(plan["seed"]), plan["options"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder / PLAN_FILE} is damaged; name another --folder") from error
    if before != list(options):
        raise UsageError(
            f"{folder} was begun with the run options {' '.join(before) or '(none)'}; use them, or another --folder"
        )
    return seed
