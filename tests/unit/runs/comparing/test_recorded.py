"""A run's folder, read: both versions of the document."""

import json
from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.runs.comparing.recorded import read_run, runs_below
from tests.unit.runs.comparing.made import second_schema, write_run


def test_numbers_of_the_result_are_figures_by_their_path(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, p99_ms=20.0))

    assert run.figures["latency_ns.p99"] == 20_000_000
    assert run.figures["achieved_rate_per_s"] == 19_990.0
    assert "latency_ns.p99.9" not in run.figures
    assert "workload" not in run.figures


def test_first_version_has_its_facts_in_the_result(tmp_path: Path) -> None:
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


def test_first_version_is_void_by_its_verdict(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, verdict="void", reasons=["the run was interrupted"]))

    assert run.is_void
    assert run.wrong_reasons == ()


def test_first_version_is_wrong_by_its_alerts(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, verdict="failed", reasons=["2 alerts are missing"], alerts_missing=2))

    assert not run.is_void
    assert run.wrong_reasons == ("2 alerts are missing",)


def test_second_version_is_void_by_its_validity(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, **second_schema(valid=False, failed=["late_generator", "interrupted"])))

    assert run.void_reasons == ("late_generator says so", "interrupted says so")
    assert run.lag_reasons == ()


def test_second_version_is_wrong_by_its_correctness(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, **second_schema(correct=False, failed=["oracle"])))

    assert not run.is_void
    assert run.wrong_reasons == ("oracle says so",)


def test_second_version_of_a_good_run_has_nothing_against_it(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, **second_schema()))

    assert (run.void_reasons, run.wrong_reasons, run.lag_reasons) == ((), (), ())


def test_a_lag_that_grows_is_the_systems_doing_and_makes_no_run_void(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, **second_schema(valid=False, failed=["not_steady", "lag_growing"])))

    assert not run.is_void
    assert run.lag_reasons == ("lag_growing says so", "not_steady says so")


@pytest.mark.parametrize("failed", [["not_steady"], ["lag_growing", "late_generator"]])
def test_what_the_rig_spoiled_is_void_even_if_the_lag_grew(failed: list[str], tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, **second_schema(valid=False, failed=failed)))

    assert run.is_void
    assert run.lag_reasons == ()


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
        ("{", "is no JSON: "),
        ("[]", "is no JSON object; leave its run out"),
        ('{"schema_version": 9}', "has schema_version 9; this version reads 1 or 2"),
        ('{"schema_version": 1}', "is no result of a run: 'reasons'; leave the folder out"),
    ],
)
def test_a_document_that_is_none_is_said_in_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(text)

    with pytest.raises(UsageError) as raised:
        read_run(tmp_path)

    assert said in str(raised.value)
    assert str(tmp_path / "result.json") in str(raised.value)
