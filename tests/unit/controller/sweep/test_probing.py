"""A search on disk, and its page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from market_spread.common.errors import RunVoidError, UsageError
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.plan.objectives import Objectives
from market_spread.controller.sweep.search import RateLimit, Search
from market_spread.controller.sweep.session import Probing, search_document, search_page
from market_spread.controller.views.output import markdown_view
from tests.unit.controller.compare.run_fixtures import judged, write_run

LIMIT = 70_000
OBJECTIVES = Objectives(p99_ms=50.0, loss=0)
SEARCH = Search(start=20_000, low=100, high=1_000_000, precision=0.1, curve=False)


class FakeRuns:
    """Carries out runs of a system that is slow above its limit; interrupted before the run of that number."""

    def __init__(self, interrupted_at: int | None = None, *, samples_from: int = 0) -> None:
        """samples_from: the lowest rate at which a run has enough for its p99."""
        self._interrupted_at, self._samples_from = interrupted_at, samples_from
        self.rates: list[int] = []

    def __call__(self, workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
        if len(self.rates) == self._interrupted_at:
            raise KeyboardInterrupt
        name, rate = options
        assert (name, workload.name) == ("--rate", "workload.yaml")
        self.rates.append(int(rate))
        p99_ms = 20 + int(rate) / 10_000 if int(rate) <= LIMIT else 900.0
        number = len(list(runs_folder.parent.glob("*/*/result.json")))
        few: dict[str, Any] = {} if int(rate) >= self._samples_from else {"latency_ns": {"p50": 9_000_000, "p99": None}}
        write_run(runs_folder, number, p99_ms, offered_rate_per_s=int(rate), achieved_rate_per_s=int(rate) - 7, **few)


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "quick.yaml"
    path.write_text("name: quick\n")
    return path


def say_nothing(line: str) -> None:
    pass


def test_rate_is_found_and_every_run_is_in_the_folder_of_its_rate(tmp_path: Path, workload: Path) -> None:
    probing = Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES)
    runs = FakeRuns()

    found = probing.go_on(runs, say_nothing, runs_max=40)

    assert (found.held, found.broken) == (67_300, 73_400)
    assert runs.rates[:6] == [20_000, 40_000, 80_000, 56_600, 67_300, 73_400]
    assert len(runs.rates) == 6 + 2 * SEARCH.repeats
    assert list(probing.points()) == sorted(set(runs.rates))


def test_after_an_interruption_only_what_is_missing_is_made(tmp_path: Path, workload: Path) -> None:
    first, second = FakeRuns(interrupted_at=4), FakeRuns()
    with pytest.raises(KeyboardInterrupt):
        Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES).go_on(first, say_nothing, runs_max=40)

    found = Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES).go_on(second, say_nothing, runs_max=40)

    assert (found.held, found.broken) == (67_300, 73_400)
    assert len(first.rates) + len(second.rates) == 14


def test_a_finished_search_is_judged_anew_by_other_objectives(tmp_path: Path, workload: Path) -> None:
    Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES).go_on(FakeRuns(), say_nothing, runs_max=40)
    stricter = Probing.open(tmp_path / "sweep", workload, SEARCH, Objectives(p99_ms=25.0, loss=0))

    found = stricter.go_on(FakeRuns(), say_nothing, runs_max=40)

    assert found.held is not None
    assert 45_000 <= found.held <= 50_000


def test_too_few_samples_end_a_search_that_they_leave_open(tmp_path: Path, workload: Path) -> None:
    probing = Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES)

    with pytest.raises(UsageError, match=r"--slo p99: run .* has too few samples for it; make longer runs with"):
        probing.go_on(FakeRuns(samples_from=30_000), say_nothing, runs_max=40)
    again = FakeRuns(samples_from=30_000)
    with pytest.raises(UsageError, match="has too few samples"):
        probing.go_on(again, say_nothing, runs_max=40)
    assert again.rates == []


def test_runs_that_the_user_interrupted_say_nothing_of_the_rig(tmp_path: Path, workload: Path) -> None:
    """Three at one rate were the limit of what the rig can show."""

    def interrupted(workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
        number = len(list(runs_folder.parent.glob("*/*/result.json")))
        write_run(runs_folder, number, **judged(Verdict.VOID, "interrupted"))
        raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES).go_on(interrupted, say_nothing, runs_max=40)
    found = Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES).go_on(FakeRuns(), say_nothing, runs_max=40)

    assert (found.held, found.broken, found.is_rig_bound) == (67_300, 73_400, False)


def test_a_run_that_cannot_be_read_is_said(tmp_path: Path, workload: Path) -> None:
    def of_another_version(workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
        write_run(runs_folder, schema_version=3)

    with pytest.raises(UsageError, match=r"has schema_version 3; this version reads 4"):
        Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES).go_on(
            of_another_version, say_nothing, runs_max=40
        )


def test_too_few_samples_of_the_curve_lose_no_answer(tmp_path: Path, workload: Path) -> None:
    """Half of the limit is offered when the limit is known, which was lost with the answer."""
    search = replace(SEARCH, start=50_000, curve=True)
    probing = Probing.open(tmp_path / "sweep", workload, search, OBJECTIVES)
    runs, said = FakeRuns(samples_from=40_000), list[str]()

    found = probing.go_on(runs, said.append, runs_max=40)

    assert found.verdict == "held"
    assert found.limit is not None
    assert 0.9 < found.limit.rate / LIMIT < 1.1
    few = [rate for rate in runs.rates if rate < 40_000]
    assert len(few) == 3
    assert sum("has too few samples" in line for line in said) == 3
    table = markdown_view(search_page("quick", found, probing.points(), OBJECTIVES))
    assert f"| void | 3 void | {few[0]:,} |" in table


def test_too_many_runs_end_it(tmp_path: Path, workload: Path) -> None:
    with pytest.raises(RunVoidError, match="5 runs gave no answer; allow more with --runs-max, or lengthen the runs"):
        Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES).go_on(FakeRuns(), say_nothing, runs_max=5)


def test_a_run_without_a_result_ends_it(tmp_path: Path, workload: Path) -> None:
    def nothing(workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
        pass

    with pytest.raises(RunVoidError, match="the run left no result in"):
        Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES).go_on(nothing, say_nothing, runs_max=5)


def test_a_folder_of_another_workload_or_other_options_is_refused(tmp_path: Path, workload: Path) -> None:
    Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES, options=("--duration", "5"))

    with pytest.raises(
        UsageError, match="was begun with the run options --duration 5; use them, or another --runs-folder"
    ):
        Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES)
    workload.write_text("name: other\n")
    with pytest.raises(UsageError, match="has another workload, "):
        Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES)


def test_page_has_the_answer_and_the_table_and_the_document_the_curve(tmp_path: Path, workload: Path) -> None:
    probing = Probing.open(tmp_path / "sweep", workload, SEARCH, OBJECTIVES)
    found = probing.go_on(FakeRuns(), say_nothing, runs_max=40)

    page = search_page("quick", found, probing.points(), OBJECTIVES)

    text = markdown_view(page)
    assert text.startswith("**held**: quick holds 70,300 messages/s (95% interval ")
    assert "* half of the runs hold 70,300 messages/s; 95% interval " in text
    assert "* 67,300 messages/s: " in text
    assert "broken; p99 is 900.0 ms; the objective is 50 ms" in text
    document = search_document(found, probing.points(), OBJECTIVES)
    assert document["limit"]["low"] < document["limit"]["search_low"] < 70_300 < document["limit"]["search_high"]
    assert len(document["runs"]) == 14
    assert {
        "rate": 80_000,
        "run_id": "20260101-000002-quick",
        "outcome": "broken",
        "reason": "p99 is 900.0 ms; the objective is 50 ms",
    } in document["runs"]
    assert document["latency_limits_ms"] == {"p99": 50.0}
    rates = {of["rate"]: (of["outcome"], of["latency_ms"]["p99"]) for of in document["rates"]}
    assert rates[67_300] == ("held", pytest.approx(26.73, abs=0.01))
    assert rates[73_400] == ("broken", 900.0)


def test_page_says_when_nothing_is_held(tmp_path: Path, workload: Path) -> None:
    probing = Probing.open(tmp_path / "sweep", workload, Search(start=90_000, low=80_000, high=100_000), OBJECTIVES)
    found = probing.go_on(FakeRuns(), say_nothing, runs_max=40)

    text = markdown_view(search_page("quick", found, probing.points(), OBJECTIVES))

    assert text.startswith("**broken**: quick holds no rate that was tried under")


def test_page_says_when_only_void_runs_came_at_the_lowest_rate(tmp_path: Path, workload: Path) -> None:
    probing = Probing.open(tmp_path / "sweep", workload, Search(start=90_000, low=80_000, high=100_000), OBJECTIVES)

    page = search_page("quick", RateLimit(None, 80_000, is_rig_bound=True), {80_000: []}, probing.objectives)

    assert (page.verdict, page.headline.partition(" under ")[0]) == (
        "undecided", "quick has no valid run at the lowest rate",
    )  # fmt: skip
    assert "* the runs at 80,000 are void, so the system may hold more than the rig can show here" in markdown_view(
        page
    )
