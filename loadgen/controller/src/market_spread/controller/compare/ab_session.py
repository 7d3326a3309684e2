"""Two workloads run in turn into one folder, which remembers all that is needed to go on after an interruption.

They take turns in pairs, within a pair in an order drawn by lot: whatever drifts on the machine is as likely for one of
a pair as for the other. Each run keeps its place beside its result, so the pairs outlast copies of the runs.

    FOLDER/ab.json     how many pairs, the session, the seed of its order, the working trees, the options of every run
    FOLDER/a.yaml      the first workload as it was when the first run was made; FOLDER/b.yaml the second
    FOLDER/a/, b/      the runs of each, and in each run's folder its place, pair.json

What is done is what the folders hold, so there is no account that could differ from it.
"""

import json
import random
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from market_spread.common.clock import Clock
from market_spread.common.errors import RunVoidError, UsageError
from market_spread.controller.compare.runs import Place, RecordedRun, read_run, run_folders, runs_below
from market_spread.controller.plan.reading import standalone
from market_spread.controller.run_folder import begin_or_go_on
from market_spread.controller.session.subprocess import CarryOut
from market_spread.controller.views.output import write_text

ARMS = ("a", "b")
PLAN_FILE = "ab.json"
VOID_IN_A_ROW_MAX = 3
# After so long the machine may be another one: what differs within a pair is then of the time.
PAIR_AGE_S_MAX = 3600


def order_of(seed: int, number: int) -> tuple[str, ...]:
    """The arms of a pair in the order of their runs. The same seed gives the same order."""
    return tuple(random.Random(f"{seed}/{number}").sample(ARMS, k=len(ARMS)))


@dataclass(frozen=True, slots=True)
class TakingTurns:
    """The folder of two workloads that are run in turn."""

    folder: Path
    pairs: int
    seed: int
    session: str
    clock: Clock

    @staticmethod
    def open(
        folder: Path, workloads: Sequence[Path], *, pairs: int, seed: int, clock: Clock, options: Sequence[str] = (),
        trees: Sequence[str] = (),
    ) -> "TakingTurns":  # fmt: skip
        """The folder, new or to be gone on with. UsageError if it was begun with other workloads, options or trees.

        pairs may be another number than before. seed: of a new folder; one that was begun keeps its own. trees: the
        states of the working trees, if they are what is compared.
        """
        session = uuid.uuid4().hex
        texts = dict(zip(ARMS, map(standalone, workloads), strict=True))
        if begun := begin_or_go_on(folder / PLAN_FILE, texts, options, seed=int, session=str):
            for before, now in zip_longest(begun.get("trees", ()), trees, fillvalue="no working tree"):
                if before != now:
                    raise UsageError(f"{folder} has runs of {before}, not of {now}; name another --runs-folder")
            seed, session = begun["seed"], begun["session"]
        plan = {"pairs": pairs, "session": session, "seed": seed, "trees": list(trees), "options": list(options)}
        write_text(folder / PLAN_FILE, json.dumps(plan) + "\n")
        return TakingTurns(folder, pairs, seed, session, clock)

    def runs_of(self, arm: str) -> list[RecordedRun]:
        """The finished runs of an arm that are of a pair, void ones included."""
        return [run for run in runs_below(self.folder / arm) if run.place and run.place.session == self.session]

    def whole_pairs(self) -> int:
        """How many pairs have two runs that are not void."""
        return sum([run.is_void for run in runs] == [False, False] for runs in self._by_number().values())

    def begun(self) -> RecordedRun | None:
        """The first run of a pair that lacks its second."""
        made = self._by_number()
        of_last = made[max(made)] if made else []
        return of_last[0] if len(of_last) == 1 and not of_last[0].is_void else None

    def next_place(self, *, give_up: bool = False) -> Place | None:
        """Of the next run; None if all pairs are whole. A pair with a void run is given up for a new one.

        give_up: so is one that is begun.
        """
        number = max(self._by_number(), default=0)
        if not give_up and (begun := self.begun()):
            arm = next(arm for arm in ARMS if begun.place and begun.place.arm != arm)
            return Place(self.session, number, arm)
        if self.whole_pairs() >= self.pairs:
            return None
        return Place(self.session, number + 1, order_of(self.seed, number + 1)[0])

    def go_on(self, carry_outs: Mapping[str, CarryOut], say: Callable[[str], None]) -> None:
        """Make the runs that are missing. RunVoidError after three void ones in a row.

        carry_outs: by arm. A pair that was begun before, more than PAIR_AGE_S_MAX ago, is given up.
        """
        void_in_a_row, begun = 0, self.begun()
        give_up = begun is not None and self.clock.unix_ns() / 1e9 - begun.started_s > PAIR_AGE_S_MAX
        if begun and give_up:
            say(f"the pair that was begun with {begun.run_id} is given up: that is more than an hour ago")
        while (place := self.next_place(give_up=give_up)) is not None:
            give_up = False
            say(f"pair {self.whole_pairs() + 1} of {self.pairs}: {place.arm}")
            made = self._run_at(place, carry_outs[place.arm])
            void_in_a_row = void_in_a_row + 1 if made.is_void else 0
            if made.is_void:
                say(f"  void: {made.void_reasons[0]}; the pair is made again")
            if void_in_a_row == VOID_IN_A_ROW_MAX:
                raise RunVoidError(
                    f"{VOID_IN_A_ROW_MAX} runs in a row were void ({made.void_reasons[0]}); "
                    "fix that, then run the same command again"
                )

    def _run_at(self, place: Place, carry_out: CarryOut) -> RecordedRun:
        folder = self.folder / place.arm
        before = run_folders(folder)
        try:
            carry_out(self.folder / f"{place.arm}.yaml", runs_folder=folder, options=())
        finally:
            made = [each for each in run_folders(folder) if each not in before]
            for each in made:
                place.write(each)
        if not made:
            raise RunVoidError(f"the run left no result in {folder}; run the same command again")
        return read_run(made[-1])

    def _by_number(self) -> dict[int, list[RecordedRun]]:
        made: dict[int, list[RecordedRun]] = defaultdict(list)
        for run in (run for arm in ARMS for run in self.runs_of(arm)):
            made[run.place.number if run.place else 0].append(run)
        return made
