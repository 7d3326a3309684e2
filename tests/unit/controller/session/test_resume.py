"""What can be gone on with, and what cannot."""

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from market_spread.common.clock import SystemClock
from market_spread.common.errors import RunVoidError, UsageError
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.archive import observation
from market_spread.controller.archive.provenance import data_section
from market_spread.controller.cli.main import main
from market_spread.controller.plan.reading import read_workload, to_yaml
from market_spread.controller.run_folder import Manifest
from market_spread.controller.session.execute import interrupted_run, judge_again
from market_spread.metrics_aggregator.http.archive import Archive
from tests.support.paths import QUICK


def a_run(runs: Path, *, step: str, can_be_judged: bool = False, source: str = "market") -> str:
    folder = runs / "20260101-120000-quick"
    folder.mkdir()
    state = {"version": 1, "step": step, "source": source, "can_be_judged": can_be_judged, "resumed": 0}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "workload.yaml").write_text(to_yaml(read_workload(QUICK)))
    return folder.name


@pytest.mark.parametrize(("step", "can_be_judged"), [("warming up", False), ("measuring", False), ("judging", True)])
def test_a_run_that_broke_off_has_the_plan_of_its_workload(tmp_path: Path, step: str, can_be_judged: bool) -> None:
    run_id = a_run(tmp_path, step=step, can_be_judged=can_be_judged)

    folder, plan, is_all_there = interrupted_run(tmp_path, run_id)

    assert folder.run_id == run_id
    assert plan.workload == read_workload(QUICK)
    assert is_all_there is can_be_judged


def test_a_run_that_is_judged_from_disk_has_its_verdict_in_log_page_and_report(tmp_path: Path) -> None:
    name, said = a_run(tmp_path, step="judging", can_be_judged=True), StringIO()
    folder, plan, _ = interrupted_run(tmp_path, name)
    broken = Observed(started=datetime(2026, 1, 1, tzinfo=UTC), error=RunVoidError("the broker ended"))
    observation.write(folder, broken)

    result = judge_again(folder, plan, clock=SystemClock(), console=Console(file=said, width=200))

    (head,) = Archive(tmp_path, clock=SystemClock(), history_bytes_max=10**6).heads()
    assert (head["verdict"], head["outcome"]) == ("void", "void (rig)") == (result.verdict, result.outcome)
    assert "run-data" in (folder.path / "metrics.html").read_text()
    assert '"outcome": "void (rig)"' in folder.report.read_text().replace('":"', '": "')
    assert "**void (rig)**\n" in folder.document.read_text()
    assert [Path(line).name for line in said.getvalue().splitlines()[-2:]] == ["metrics.html", "report.html"]


def test_a_run_of_other_messages_than_this_version_draws_is_not_judged(tmp_path: Path) -> None:
    name = a_run(tmp_path, step="judging", can_be_judged=True)
    folder, plan, _ = interrupted_run(tmp_path, name)
    observation.write(folder, Observed(started=datetime(2026, 1, 1, tzinfo=UTC)))
    data = {**data_section(plan), "measured.sha256": "0" * 64}
    Manifest({"code": {"git_commit": "1a83ca6"}, "data": data}).write(folder.manifest)

    with pytest.raises(UsageError, match="draws other messages than 1a83ca6 did; resume it with that one"):
        judge_again(folder, plan, clock=SystemClock(), console=Console(file=StringIO()))
    assert interrupted_run(tmp_path, name)[2]  # nothing of it has changed

    Manifest({"code": {}, "data": data_section(plan)}).write(folder.manifest)
    judge_again(folder, plan, clock=SystemClock(), console=Console(file=StringIO(), width=200))
    assert folder.report.exists()


def test_a_run_that_has_ended_is_not_resumed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has ended; show it with"):
        interrupted_run(tmp_path, a_run(tmp_path, step="done"))


@pytest.mark.parametrize("run_id", ["", "nothing", "../elsewhere"])
def test_a_run_that_is_not_there_is_not_resumed(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(UsageError, match="there is no run"):
        interrupted_run(tmp_path, run_id)


def test_a_replay_is_not_resumed(tmp_path: Path) -> None:
    run_id = a_run(tmp_path, step="measuring", source="recorded")

    with pytest.raises(UsageError, match="its messages are not drawn from the market; start it anew"):
        interrupted_run(tmp_path, run_id)


def test_a_workload_and_a_run_to_resume_exclude_each_other() -> None:
    ended = CliRunner().invoke(main, ["run", str(QUICK), "--resume", "a-run"])

    assert ended.exit_code == 2
    assert "name a WORKLOAD, or a run with --resume" in ended.stderr
