"""Whose turn it is, and a folder that is gone on with."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from market_spread.common.errors import RunVoidError, UsageError
from market_spread.runs.comparing.taking_turns import TakingTurns
from market_spread.runs.comparing.turns import Turns
from tests.unit.runs.comparing.made import write_run


class FakeRuns:
    """Carries out runs by writing their results; of the void ones by number, the next is the run again."""

    def __init__(self, void: Sequence[int] = (), interrupted_at: int | None = None) -> None:
        self._void = void
        self._interrupted_at = interrupted_at
        self.arms: list[str] = []

    def __call__(self, workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
        number = len(self.arms)
        if number == self._interrupted_at:
            raise KeyboardInterrupt
        assert runs_folder.name == workload.stem
        self.arms.append(workload.stem)
        changes = {"verdict": "void", "reasons": ["the generator was late"]} if number in self._void else {}
        write_run(runs_folder, number + len(list(runs_folder.parent.glob("*/*/result.json"))) * 100, **changes)


@pytest.fixture
def workloads(tmp_path: Path) -> tuple[Path, Path]:
    paths = (tmp_path / "before.yaml", tmp_path / "after.yaml")
    for path in paths:
        path.write_text(f"name: {path.stem}\n")
    return paths


def say_nothing(line: str) -> None:
    pass


def test_every_pair_has_both_in_an_order_drawn_by_lot() -> None:
    order = Turns(50, seed=3).order

    pairs = {order[at : at + 2] for at in range(0, 100, 2)}
    assert pairs == {("a", "b"), ("b", "a")}


def test_more_pairs_only_add_to_the_order() -> None:
    assert Turns(8, seed=3).order == Turns(20, seed=3).order[:16]


def test_next_is_the_first_in_the_order_that_is_not_made() -> None:
    turns = Turns(4, seed=3)

    done: list[str] = []
    while (arm := turns.next_arm(done)) is not None:
        done.append(arm)

    assert tuple(done) == turns.order


def test_runs_are_made_in_the_order(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    taking_turns = TakingTurns.open(tmp_path / "ab", workloads, pairs=3, seed=5)
    runs = FakeRuns()

    taking_turns.go_on(runs, say_nothing)

    assert tuple(runs.arms) == Turns(3, 5).order
    assert [len(taking_turns.runs_of(arm)) for arm in "ab"] == [3, 3]


def test_a_void_run_is_made_again(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    taking_turns = TakingTurns.open(tmp_path / "ab", workloads, pairs=2, seed=5)
    runs = FakeRuns(void=[0, 2])

    taking_turns.go_on(runs, say_nothing)

    assert len(runs.arms) == 6
    assert runs.arms[0] == runs.arms[1]
    assert taking_turns.next_arm() is None


def test_three_void_runs_in_a_row_end_it(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    taking_turns = TakingTurns.open(tmp_path / "ab", workloads, pairs=2, seed=5)

    with pytest.raises(RunVoidError, match=r"3 runs in a row were void \(the generator was late\)"):
        taking_turns.go_on(FakeRuns(void=range(9)), say_nothing)


def test_after_an_interruption_only_what_is_missing_is_made(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    first, second = FakeRuns(interrupted_at=3), FakeRuns()
    with pytest.raises(KeyboardInterrupt):
        TakingTurns.open(tmp_path / "ab", workloads, pairs=3, seed=5).go_on(first, say_nothing)

    TakingTurns.open(tmp_path / "ab", workloads, pairs=3, seed=99).go_on(second, say_nothing)

    assert (*first.arms, *second.arms) == Turns(3, 5).order


def test_more_repeats_go_on_with_the_same_folder(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    TakingTurns.open(tmp_path / "ab", workloads, pairs=1, seed=5).go_on(FakeRuns(), say_nothing)
    more = FakeRuns()

    TakingTurns.open(tmp_path / "ab", workloads, pairs=2, seed=5).go_on(more, say_nothing)

    assert len(more.arms) == 2


def test_a_run_without_a_result_ends_it(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    def nothing(workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
        pass

    with pytest.raises(RunVoidError, match="the run left no result in"):
        TakingTurns.open(tmp_path / "ab", workloads, pairs=1, seed=5).go_on(nothing, say_nothing)


def test_a_folder_of_other_workloads_is_refused(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    TakingTurns.open(tmp_path / "ab", workloads, pairs=1, seed=5)
    workloads[1].write_text("name: changed\n")

    with pytest.raises(UsageError, match=r"ab was begun with another workload than .*after.yaml as b; name another"):
        TakingTurns.open(tmp_path / "ab", workloads, pairs=1, seed=5)


def test_a_folder_of_other_run_options_is_refused(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    TakingTurns.open(tmp_path / "ab", workloads, pairs=1, seed=5, options=("--duration", "30"))

    with pytest.raises(UsageError, match="was begun with the run options --duration 30; use them, or another --folder"):
        TakingTurns.open(tmp_path / "ab", workloads, pairs=1, seed=5)


def test_a_damaged_plan_is_said(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    TakingTurns.open(tmp_path / "ab", workloads, pairs=1, seed=5)
    (tmp_path / "ab" / "ab.json").write_text(json.dumps({"pairs": 1}))

    with pytest.raises(UsageError, match=r"ab.json is damaged; name another --folder"):
        TakingTurns.open(tmp_path / "ab", workloads, pairs=1, seed=5)
