"""Groups of runs, as they are named on the command line."""

from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.compare.groups import Group, read_groups, refuse_unusable, without_void
from tests.unit.controller.compare.run_fixtures import group, run, write_run


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """runs/before with three runs, runs/after with two, and a run beside them."""
    monkeypatch.chdir(tmp_path)
    for number in (1, 2, 3):
        write_run(tmp_path / "runs" / "before", number)
    for number in (4, 5):
        write_run(tmp_path / "runs" / "after", number)
    write_run(tmp_path / "runs", 6)
    return tmp_path


def read(*named: str) -> list[tuple[str, int]]:
    return [(each.name, len(each.runs)) for each in read_groups(named, runs_folder=Path("runs"))]


def test_a_folder_of_runs_is_a_group_of_its_name(folders: Path) -> None:
    assert read("runs/before", "runs/after") == [("before", 3), ("after", 2)]


def test_a_pattern_is_a_group(folders: Path) -> None:
    assert read("runs/before/*-00000[12]-*", "runs/after") == [("*-00000[12]-*", 2), ("after", 2)]


def test_the_folder_of_a_run_and_run_ids_are_groups(folders: Path) -> None:
    assert read(
        "runs/20260101-000006-quick", "new=runs/after/20260101-000004-quick,runs/after/20260101-000005-quick"
    ) == [
        ("20260101-000006-quick", 1),
        ("new", 2),
    ]


def test_run_ids_are_looked_up_in_the_runs_folder(folders: Path) -> None:
    assert read("20260101-000006-quick", "runs/after")[0] == ("20260101-000006-quick", 1)


def test_a_name_goes_before_the_group(folders: Path) -> None:
    assert read("old=runs/before", "new=runs/after") == [("old", 3), ("new", 2)]


def test_groups_of_the_same_short_name_are_named_in_full(folders: Path) -> None:
    write_run(folders / "other" / "before", 9)

    assert read("runs/before", "other/before") == [("runs/before", 3), ("other/before", 1)]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (("runs/before",), "a comparison needs two groups of runs or more; name another one"),
        (("runs/before", "runs/missing"), "runs/missing is neither a folder of runs nor a run in runs; name one, or"),
        (
            ("runs/before", "runs/x*"),
            "runs/x* has no finished run; name a folder of runs, a pattern in quotes, or run ids",
        ),
        (
            ("runs/before", "old=runs/before"),
            "run 20260101-000001-quick is in before and in old; name groups without it",
        ),
    ],
)
def test_what_is_no_group_is_said(folders: Path, named: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(*named)

    assert said in str(raised.value)


VOID = run(7, void_reasons=("the generator was late",))
WRONG = run(8, wrong_reasons=("2 alerts are missing",))


def test_void_runs_are_refused_with_the_remedy() -> None:
    with pytest.raises(UsageError) as raised:
        refuse_unusable([group("a", [1.0]), Group("b", (VOID, WRONG))])

    assert str(raised.value) == (
        "run run-7 of b is void (the generator was late), and so are 1 more; "
        "leave void runs out with --skip-void, or let all of them in, marked, with --force"
    )


def test_runs_with_wrong_alerts_are_refused() -> None:
    with pytest.raises(UsageError, match=r"run run-8 of b has wrong alerts \(2 alerts are missing\); "):
        refuse_unusable([Group("b", (WRONG,))])


def test_good_runs_are_not_refused() -> None:
    refuse_unusable([group("a", [1.0, 2.0])])


def test_void_runs_can_be_left_out_and_are_remembered() -> None:
    kept = without_void(Group("b", (VOID, run(9))))

    assert [each.run_id for each in kept.runs] == ["run-9"]
    assert kept.left_out == (VOID,)


def test_a_group_of_void_runs_alone_is_no_group() -> None:
    with pytest.raises(UsageError, match=r"all 1 runs of b are void \(the generator was late\); make more"):
        without_void(Group("b", (VOID,)))
