"""Seeds of random faults on disk, and the page of what they survived."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from market_spread.common.errors import RunVoidError, UsageError
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.sweep.torture import Torture, torture_page
from market_spread.controller.views.output import html_view, markdown_view
from tests.support.clock import ManualClock
from tests.support.paths import ROOT
from tests.unit.controller.compare.run_fixtures import assessments, write_run

HOUR_S = 3600
FAULT = {"text": "kill of the job", "recovered_s": 20.0, "silence_s": 18.0, "lost": 0, "doubled": 7}
WORKLOAD = (ROOT / "loadgen" / "workloads" / "torture.yaml").read_text()


class FakeRuns:
    """Half an hour each. Of these seeds the run fails or leaves no result; interrupted before the run of a number."""

    def __init__(self, clock: ManualClock, *, failing: Sequence[int] = (), without: Sequence[int] = ()) -> None:
        self._clock, self._failing, self._without = clock, failing, without
        self.interrupted_at: int | None = None
        self.seeds: list[int] = []

    def __call__(self, workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
        if len(self.seeds) == self.interrupted_at:
            raise KeyboardInterrupt
        seed = yaml.safe_load(workload.read_text())["faults"]["seed"]
        self.seeds.append(seed)
        self._clock.sleep_ns(HOUR_S // 2 * 10**9)
        if seed in self._without:
            return
        failed: Mapping[str, Any] = {
            "verdict": "failed", "verdicts": assessments("recovered"), "reasons": ["it has not recovered"],
            "planned_faults": [{**FAULT, "text": "kill of the job for 2 s", "recovered_s": None, "lost": 3}],
        }  # fmt: skip
        write_run(runs_folder, **(failed if seed in self._failing else {"planned_faults": [FAULT, FAULT]}))


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "soak.yaml"
    path.write_text(WORKLOAD)
    return path


def tortured(tmp_path: Path, workload: Path, runs: FakeRuns, clock: ManualClock, *, hours: float = 2) -> Torture:
    torture = Torture.open(tmp_path / "torture", workload, clock=clock)
    torture.go_on(runs, lambda line: None, seed=5, hours=hours)
    return torture


def test_each_seed_has_its_own_faults_until_the_hours_are_over(tmp_path: Path, workload: Path) -> None:
    runs = FakeRuns(clock := ManualClock())

    torture = tortured(tmp_path, workload, runs, clock)

    assert runs.seeds == [5, 6, 7, 8]
    drawn = [read_workload(tmp_path / "torture" / "seeds" / str(seed) / "workload.yaml") for seed in torture.runs()]
    assert [(each.seed, len(each.planned_faults)) for each in drawn] == [(seed, 4) for seed in runs.seeds]
    assert len({each.planned_faults for each in drawn}) == 4


def test_after_an_interruption_it_goes_on_with_the_seeds_that_have_no_run(tmp_path: Path, workload: Path) -> None:
    runs = FakeRuns(clock := ManualClock())
    runs.interrupted_at = 2
    with pytest.raises(KeyboardInterrupt):
        tortured(tmp_path, workload, runs, clock)
    runs.interrupted_at = None

    tortured(tmp_path, workload, runs, clock, hours=1)

    assert runs.seeds == [5, 6, 7, 8]


def test_a_seed_that_is_not_survived_is_told_with_how_to_make_it_again(tmp_path: Path, workload: Path) -> None:
    torture = tortured(tmp_path, workload, FakeRuns(clock := ManualClock(), failing=[6], without=[8]), clock)

    page, document = torture_page("soak", torture.runs())

    again = tmp_path / "torture" / "seeds" / "6" / "workload.yaml"
    assert page.headline == "soak: 4 seeds, 2 passed, 1 failed, 0 void; 5 faults"
    assert (page.verdict, document["verdict"]) == ("failed", "failed")
    text = markdown_view(page)
    assert "| kill of the job | 5 | never | 18.0 | 3 | 35 |" in text
    assert "* seed 8 came to no result" in text
    assert f"seed 6, failed: it has not recovered; to make it again: market-spread run {again}" in text
    assert [(each["seed"], each["verdict"]) for each in document["seeds"]] == [
        (5, "passed"), (6, "failed"), (7, "passed"),
    ]  # fmt: skip
    assert html_view(page, document)


def test_all_survived_is_passed_and_none_judged_is_void(tmp_path: Path, workload: Path) -> None:
    torture = tortured(tmp_path, workload, FakeRuns(clock := ManualClock()), clock)

    assert torture_page("soak", torture.runs())[0].verdict == "passed"
    assert torture_page("soak", {5: None})[0].verdict == "void"


@pytest.mark.parametrize(
    "faults", [None, ["kill"], [{}], [{"text": 5}], [{"text": "kill for 1 s", "recovered_s": "x"}]]
)
def test_a_damaged_result_is_named_with_the_remedy(tmp_path: Path, workload: Path, faults: object) -> None:
    torture = tortured(tmp_path, workload, FakeRuns(clock := ManualClock()), clock)
    run = torture.runs()[6]
    assert run is not None
    result = run.folder / "result.json"
    result.write_text(json.dumps(json.loads(result.read_text()) | {"planned_faults": faults}))

    with pytest.raises(UsageError, match=rf"the result of seed 6 is damaged: .*; delete {run.folder} and go on"):
        torture_page("soak", torture.runs())


def test_three_runs_in_a_row_without_a_result_end_it(tmp_path: Path, workload: Path) -> None:
    runs = FakeRuns(clock := ManualClock(), without=[5, 7, 8, 9])

    with pytest.raises(RunVoidError, match=r"3 runs in a row left no result; the last one said why: see .*seeds/9"):
        tortured(tmp_path, workload, runs, clock, hours=9)

    assert runs.seeds == [5, 6, 7, 8, 9]


def test_a_workload_without_random_faults_and_a_folder_of_another_one_are_refused(
    tmp_path: Path, workload: Path
) -> None:
    Torture.open(tmp_path / "torture", workload, clock=ManualClock())

    workload.write_text(WORKLOAD[: WORKLOAD.index("faults:")])
    with pytest.raises(UsageError, match=r"soak.yaml has no faults.random; add it, as a seed draws nothing else"):
        Torture.open(tmp_path / "other", workload, clock=ManualClock())
    workload.write_text(WORKLOAD.replace("5000", "2000"))
    with pytest.raises(UsageError, match="has another workload, "):
        Torture.open(tmp_path / "torture", workload, clock=ManualClock())
