"""Whose turn it is, and a folder that is gone on with."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from market_spread.common.errors import RunVoidError, UsageError
from market_spread.controller.cli.authoring import write as write_template
from market_spread.controller.compare.ab_session import ARMS, TakingTurns, order_of
from market_spread.controller.compare.runs import Place, read_place
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.plan.system import SystemWorkload
from market_spread.controller.session.subprocess import CarryOut
from tests.support.clock import ManualClock
from tests.unit.controller.compare.run_fixtures import assessments, write_run


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
        changes: dict[str, Any] = (
            {"verdict": "void", "reasons": ["the generator was late"]} if number in self._void else {}
        )
        write_run(runs_folder, number + len(list(runs_folder.parent.glob("*/*/result.json"))) * 100, **changes)


@pytest.fixture
def workloads(tmp_path: Path) -> tuple[Path, Path]:
    paths = (tmp_path / "before.yaml", tmp_path / "after.yaml")
    for path in paths:
        path.write_text(f"name: {path.stem}\n")
    return paths


def open_turns(
    folder: Path, workloads: Sequence[Path], *, pairs: int, seed: int, options: Sequence[str] = (), now_s: float = 0
) -> TakingTurns:
    """At a time after the start of the first run."""
    begin_s = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    clock = ManualClock(round((begin_s + now_s) * 1e9))
    return TakingTurns.open(folder, workloads, pairs=pairs, seed=seed, options=options, clock=clock)


def test_runs_of_another_state_of_a_working_tree_are_not_gone_on_with(
    tmp_path: Path, workloads: tuple[Path, Path]
) -> None:
    folder = tmp_path / "ab"

    def opened(*trees: str) -> TakingTurns:
        return TakingTurns.open(folder, workloads, pairs=3, seed=1, clock=ManualClock(), trees=trees)

    begun = opened("c0ffee", "decade")

    assert opened("c0ffee", "decade").session == begun.session
    with pytest.raises(UsageError, match="has runs of c0ffee, not of no working tree; name another"):
        opened()
    with pytest.raises(UsageError, match="has runs of decade, not of decade\\+1; name another"):
        opened("c0ffee", "decade+1")


def both(runs: CarryOut) -> dict[str, CarryOut]:
    return dict.fromkeys(ARMS, runs)


def say_nothing(line: str) -> None:
    pass


def orders(seed: int, pairs: int) -> tuple[str, ...]:
    return tuple(arm for number in range(1, pairs + 1) for arm in order_of(seed, number))


def test_every_pair_has_both_in_an_order_drawn_by_lot() -> None:
    drawn = [order_of(3, number) for number in range(1, 201)]

    assert set(drawn) == {("a", "b"), ("b", "a")}
    assert 70 <= drawn.count(("a", "b")) <= 130


def test_runs_are_made_in_the_order_and_keep_their_places(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    taking_turns = open_turns(tmp_path / "ab", workloads, pairs=3, seed=5)
    runs = FakeRuns()

    taking_turns.go_on(both(runs), say_nothing)

    assert tuple(runs.arms) == orders(5, 3)
    for arm in "ab":
        places = [run.place for run in taking_turns.runs_of(arm)]
        assert places == [Place(taking_turns.session, number, arm) for number in (1, 2, 3)]


def test_a_pair_with_a_void_run_is_made_again(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    taking_turns = open_turns(tmp_path / "ab", workloads, pairs=2, seed=5)
    runs = FakeRuns(void=[0, 2])  # the first of the first pair, and the second of the second

    taking_turns.go_on(both(runs), say_nothing)

    order = [order_of(5, number) for number in range(1, 5)]
    assert runs.arms == [order[0][0], *order[1], *order[2], *order[3]]
    assert taking_turns.whole_pairs() == 2
    assert taking_turns.next_place() is None


def test_a_run_that_ab_has_not_made_is_in_no_pair(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    taking_turns = open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)
    write_run(tmp_path / "ab" / "a", 77)

    taking_turns.go_on(both(FakeRuns()), say_nothing)

    assert [run.run_id for run in taking_turns.runs_of("a")] != ["20260101-000077-quick"]
    assert len(taking_turns.runs_of("a")) == 1


def test_a_void_run_is_said_with_its_reason(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    said: list[str] = []

    open_turns(tmp_path / "ab", workloads, pairs=1, seed=5).go_on(both(FakeRuns(void=[0])), said.append)

    assert "  void: the generator was late; the pair is made again" in said


def test_three_void_runs_in_a_row_end_it(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    taking_turns = open_turns(tmp_path / "ab", workloads, pairs=2, seed=5)

    with pytest.raises(RunVoidError, match=r"3 runs in a row were void \(the generator was late\)"):
        taking_turns.go_on(both(FakeRuns(void=range(9))), say_nothing)


def test_after_an_interruption_only_what_is_missing_is_made(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    first, second = FakeRuns(interrupted_at=3), FakeRuns()
    with pytest.raises(KeyboardInterrupt):
        open_turns(tmp_path / "ab", workloads, pairs=3, seed=5).go_on(both(first), say_nothing)

    open_turns(tmp_path / "ab", workloads, pairs=3, seed=99).go_on(both(second), say_nothing)

    assert (*first.arms, *second.arms) == orders(5, 3)


@pytest.mark.parametrize(("now_s", "gives_up"), [(3_599, False), (3_601, True)])
def test_a_pair_that_was_begun_more_than_an_hour_ago_is_given_up(
    tmp_path: Path, workloads: tuple[Path, Path], now_s: float, gives_up: bool
) -> None:
    with pytest.raises(KeyboardInterrupt):
        open_turns(tmp_path / "ab", workloads, pairs=1, seed=5).go_on(both(FakeRuns(interrupted_at=1)), say_nothing)
    runs, said = FakeRuns(), list[str]()

    taking_turns = open_turns(tmp_path / "ab", workloads, pairs=1, seed=5, now_s=now_s)
    taking_turns.go_on(both(runs), said.append)

    assert tuple(runs.arms) == (order_of(5, 2) if gives_up else order_of(5, 1)[1:])
    assert any("is given up: that is more than an hour ago" in line for line in said) is gives_up
    assert taking_turns.whole_pairs() == 1


def test_runs_that_take_long_are_no_reason_to_give_their_pair_up(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    runs = FakeRuns()

    open_turns(tmp_path / "ab", workloads, pairs=2, seed=5, now_s=1e6).go_on(both(runs), say_nothing)

    assert tuple(runs.arms) == orders(5, 2)


def test_a_pair_whose_run_was_interrupted_is_made_again(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    def interrupted(workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
        write_run(runs_folder, 1, verdict="void", verdicts=assessments("interrupted"), reasons=["interrupted"])
        raise KeyboardInterrupt

    taking_turns = open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)
    with pytest.raises(KeyboardInterrupt):
        taking_turns.go_on(both(interrupted), say_nothing)

    (run,) = [run for arm in "ab" for run in taking_turns.runs_of(arm)]
    assert (run.place, run.is_interrupted) == (Place(taking_turns.session, 1, order_of(5, 1)[0]), True)
    assert taking_turns.next_place() == Place(taking_turns.session, 2, order_of(5, 2)[0])


def test_a_folder_whose_plan_has_no_session_is_refused(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)
    (tmp_path / "ab" / "ab.json").write_text('{"pairs": 1, "seed": 5, "options": []}')

    with pytest.raises(UsageError, match="is damaged: its session is damaged; name another --runs-folder"):
        open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)


def test_a_damaged_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "pair.json").write_text('{"session": "s"}')

    with pytest.raises(UsageError, match=r"pair.json is damaged: .*; delete it, and the run is of no pair"):
        read_place(tmp_path)


def test_more_repeats_go_on_with_the_same_folder(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    open_turns(tmp_path / "ab", workloads, pairs=1, seed=5).go_on(both(FakeRuns()), say_nothing)
    more = FakeRuns()

    open_turns(tmp_path / "ab", workloads, pairs=2, seed=5).go_on(both(more), say_nothing)

    assert len(more.arms) == 2


def test_a_run_without_a_result_ends_it(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    def nothing(workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
        pass

    with pytest.raises(RunVoidError, match="the run left no result in"):
        open_turns(tmp_path / "ab", workloads, pairs=1, seed=5).go_on(both(nothing), say_nothing)


def test_a_folder_of_other_workloads_is_refused(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)
    workloads[1].write_text("name: changed\n")

    with pytest.raises(UsageError, match=r"ab has another workload, .*ab/b.yaml; name another"):
        open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)


def test_a_folder_of_other_run_options_is_refused(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    open_turns(tmp_path / "ab", workloads, pairs=1, seed=5, options=("--duration", "30"))

    with pytest.raises(
        UsageError, match="was begun with the run options --duration 30; use them, or another --runs-folder"
    ):
        open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)


def test_a_damaged_plan_is_said(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)
    (tmp_path / "ab" / "ab.json").write_text(json.dumps({"pairs": 1}))

    with pytest.raises(UsageError, match=r"ab.json is damaged: its options is damaged; name another --runs-folder"):
        open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)


def test_a_kept_workload_that_is_no_text_is_another_one(tmp_path: Path, workloads: tuple[Path, Path]) -> None:
    open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)
    (tmp_path / "ab" / "a.yaml").write_bytes(b"\xff\xfe")

    with pytest.raises(UsageError, match=r"has another workload, .*a\.yaml; name another --runs-folder"):
        open_turns(tmp_path / "ab", workloads, pairs=1, seed=5)


def test_a_system_is_found_from_the_folder_of_the_runs(tmp_path: Path) -> None:
    """The copy of the workload lies elsewhere than what it names."""
    for tree in ("base", "head"):
        write_template("loop", tmp_path / tree, kafka="")
    workloads = [tmp_path / tree / "workload.yaml" for tree in ("base", "head")]

    open_turns(tmp_path / "runs" / "ab", workloads, pairs=1, seed=5)

    for arm, workload in zip(ARMS, workloads, strict=True):
        kept = read_workload(tmp_path / "runs" / "ab" / f"{arm}.yaml")
        assert kept == read_workload(workload)
        assert isinstance(kept, SystemWorkload)
        assert kept.system.folder == str(workload.parent)
    open_turns(tmp_path / "runs" / "ab", workloads, pairs=2, seed=5)  # it is gone on with
