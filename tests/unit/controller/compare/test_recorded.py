"""A run's folder, read: what the result says, and nothing derived anew."""

import json
from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.compare.runs import read_run, runs_below
from tests.unit.controller.compare.run_fixtures import judged, write_run


def test_numbers_of_the_result_are_figures_by_their_path(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, p99_ms=20.0))

    assert run.figures["latency_ns.p99"] == 20_000_000
    assert run.figures["achieved_rate_per_s"] == 19_990.0
    assert "latency_ns.p99.9" not in run.figures
    assert "workload" not in run.figures


def test_without_a_manifest_the_facts_are_in_the_result(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path))

    assert run.facts == {
        "machine.cores": "2",
        "machine.cpu_model": "A CPU",
        "settings.seed": "1",
        "settings.load.profile": "constant",
        "settings.load.messages_per_s": "20000",
        "workload": "quick",
        "mode": "real-time",
    }


def test_facts_are_those_of_the_manifest_if_there_is_one(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    manifest = {"version": 1, "sha256": "0", "sections": {"code": {"git_commit": "abc", "git_dirty": False}}}
    (folder / "manifest.json").write_text(json.dumps(manifest))

    assert read_run(folder).facts == {"code.git_commit": "abc", "code.git_dirty": "false"}


def test_a_void_run_has_the_results_reasons(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, **judged(Verdict.VOID, "late_generator", "alerts_missing")))

    assert run.void_reasons == ("late_generator says so", "alerts_missing says so")
    assert (run.wrong_reasons, run.lag_reasons) == ((), ())


def test_a_wrong_run_is_not_void_unless_the_result_calls_its_latencies_so(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, **judged(Verdict.FAILED, "alerts_wrong")))
    both = judged(Verdict.FAILED, "alerts_wrong", "stolen", latencies_void=True)
    spoiled = read_run(write_run(tmp_path, 1, **both))

    assert (run.is_void, run.wrong_reasons) == (False, ("alerts_wrong says so",))
    assert (spoiled.void_reasons, spoiled.wrong_reasons) == (("stolen says so",), ("alerts_wrong says so",))


def test_a_lag_that_grows_is_the_systems_doing(tmp_path: Path) -> None:
    """Found by attack S1: with `undecided` failing beside it, four readers said four things of one result."""
    run = read_run(write_run(tmp_path, **judged(Verdict.FAILED, "lag_growing", "undecided")))

    assert (run.is_void, run.lag_reasons) == (False, ("lag_growing says so",))


def test_the_verdict_is_the_stored_one_whatever_the_evidence_would_say(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, **{**judged(Verdict.PASSED), "verdict": "void", "reasons": ["as told"]}))

    assert (run.verdict, run.void_reasons) == (Verdict.VOID, ("as told",))


def test_an_objective_knows_its_clusters(tmp_path: Path) -> None:
    few = {**judged(Verdict.PASSED), "latency_clusters": {"latency_ns": {"p99": 6}}}

    assert read_run(write_run(tmp_path, **few)).achieved.clusters == {"p99": 6}


def test_runs_come_by_their_start_and_other_folders_not_at_all(tmp_path: Path) -> None:
    for number in (3, 1, 2):
        write_run(tmp_path, number)
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "bench.json").write_text("{}")

    assert [run.run_id[9:15] for run in runs_below(tmp_path)] == ["000001", "000002", "000003"]
    assert runs_below(tmp_path / "missing") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no document of a run: Expecting"),
        ("[]", "is no document of a run: it is no JSON object; leave its run out"),
        ('{"schema_version": 9}', "has schema_version 9; this version reads 4"),
        ('{"schema_version": 3}', "has schema_version 3; this version reads 4"),
        ('{"schema_version": 4}', "is no result of a run: 'verdict'; leave the folder out"),
    ],
)
def test_a_document_that_is_none_is_said_in_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(text)

    with pytest.raises(UsageError) as raised:
        read_run(tmp_path)

    assert said in str(raised.value)
    assert str(tmp_path / "result.json") in str(raised.value)
