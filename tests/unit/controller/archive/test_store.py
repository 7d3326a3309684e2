"""Runs in a folder and in a store that is no folder: listed, shown, copied."""

import json
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from click.testing import CliRunner

from market_spread.common.errors import UsageError
from market_spread.controller.archive.store import RunStore, listing
from market_spread.controller.cli.main import main
from market_spread.controller.run_folder import RunFolder, locked

RESULT = {
    "schema_version": 4, "workload": "quick", "verdict": "passed", "offered_rate_per_s": 20_000.0,
    "latency_ns": {"p50": 6_900_000, "p99": None}, "cpu_us_per_message": 3.254,
    "cause": None,
}  # fmt: skip


@pytest.fixture
def memory() -> Iterator[str]:
    """An address of a file system that is no local one, as S3 is none."""
    files = fsspec.filesystem("memory")
    yield "memory://runs"
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def a_run(folder: Path, *, ended: bool = True) -> Path:
    (folder / "histograms").mkdir(parents=True)
    (folder / "processes" / "checkpoint").mkdir(parents=True)
    (folder / "processes" / "checkpoint" / "0").write_text("state")
    (folder / "histograms" / "latency.hlog").write_text("a log")
    (folder / "state.json").write_text(json.dumps({"step": "done" if ended else "measuring"}))
    if ended:
        (folder / "run.md").write_text("# Run\n")
        (folder / "result.json").write_text(json.dumps(RESULT))
    return folder


def test_runs_are_listed_newest_first_with_the_step_of_those_that_broke_off(tmp_path: Path) -> None:
    a_run(tmp_path / "20260101-120000-quick")
    a_run(tmp_path / "20260102-120000-quick", ended=False)

    assert listing(RunStore(str(tmp_path)).summaries()).splitlines() == [
        "run                    verdict  offered/s  p50 ms  p99 ms  CPU us  step",
        "20260102-120000-quick  -        -          -       -       -       measuring, interrupted",
        "20260101-120000-quick  passed   20,000     6.9     -       3.25    done",
    ]


def test_a_run_that_goes_on_is_not_listed_as_interrupted(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "20260102-120000-quick", ended=False)

    with locked(RunFolder(folder)):
        (going_on,) = RunStore(str(tmp_path)).summaries()
    (killed,) = RunStore(str(tmp_path)).summaries()

    assert [(each["step"], each["interrupted"]) for each in (going_on, killed)] == [
        ("measuring", False), ("measuring", True)
    ]  # fmt: skip
    assert listing([going_on]).endswith("  measuring")


def test_whether_a_run_elsewhere_goes_on_cannot_be_told(memory: str) -> None:
    fsspec.filesystem("memory").pipe("/runs/a/state.json", b'{"step": "measuring"}')

    (summary,) = RunStore(memory).summaries()

    assert (summary["step"], summary["interrupted"]) == ("measuring", False)


def test_a_run_is_listed_with_the_cause_of_its_verdict_and_that_its_latencies_are_void(tmp_path: Path) -> None:
    failed = {**RESULT, "verdict": "failed", "cause": "system", "latencies_void": True}
    (a_run(tmp_path / "well") / "result.json").write_text(json.dumps(failed))

    (summary,) = RunStore(str(tmp_path)).summaries()

    assert (summary["verdict"], summary["cause"]) == ("failed", "system")
    assert "  failed (system); latencies void  20,000 " in listing([summary])


def test_an_older_or_a_damaged_result_is_shown_and_marked(tmp_path: Path) -> None:
    old = a_run(tmp_path / "old")
    (old / "result.json").write_text(json.dumps({**RESULT, "schema_version": 2}))

    shown = CliRunner().invoke(main, ["show", "old", "--runs-folder", str(tmp_path)])

    assert (shown.exit_code, shown.stdout) == (0, "# Run\n")
    assert shown.stderr == "old: schema 2\n"
    (old / "result.json").write_text("{")
    torn = CliRunner().invoke(main, ["show", "old", "--runs-folder", str(tmp_path)])
    assert torn.stderr == "old: result.json cannot be read\n"


def test_an_older_or_a_damaged_result_is_listed_and_marked(tmp_path: Path) -> None:
    for name, text in {
        "old": json.dumps({"schema_version": 2, "verdict": "failed"}),
        "torn": '{"verd',
        "odd": "[]",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(text)
    a_run(tmp_path / "well")

    lines = {line.split()[0]: line for line in listing(RunStore(str(tmp_path)).summaries()).splitlines()}

    assert lines["old"].endswith("- schema 2")
    assert "failed" in lines["old"]
    assert lines["torn"].endswith("- result.json cannot be read")
    assert lines["odd"].endswith("- result.json cannot be read")
    assert "passed" in lines["well"]


def test_a_result_with_values_of_other_kinds_is_listed_without_them_and_marked(tmp_path: Path) -> None:
    result = RESULT | {"verdict": ["a"], "latency_ns": 5, "latencies_void": True}
    (a_run(tmp_path / "odd") / "result.json").write_text(json.dumps(result))

    (summary,) = RunStore(str(tmp_path)).summaries()

    assert (summary["workload"], summary["verdict"], summary["p50_ns"]) == ("quick", None, None)
    assert summary["note"] == "its latency_ns is damaged"
    assert summary["latencies_void"] is True


def test_a_run_is_copied_without_what_its_processes_left_and_is_read_there(tmp_path: Path, memory: str) -> None:
    store = RunStore(memory)

    count, _ = store.put(a_run(tmp_path / "20260101-120000-quick"))

    assert count == 4
    assert store.run_ids() == ["20260101-120000-quick"]
    assert store.text("20260101-120000-quick", "histograms/latency.hlog") == "a log"
    assert [path for path in fsspec.filesystem("memory").find("/runs") if "processes" in path] == []


def test_a_run_without_a_result_is_not_copied(tmp_path: Path, memory: str) -> None:
    with pytest.raises(UsageError, match="holds no run that has a result"):
        RunStore(memory).put(a_run(tmp_path / "20260102-120000-quick", ended=False))


@pytest.mark.parametrize("address", ["nosuch://runs", "/nowhere/at/all"])
def test_a_store_that_is_not_there_is_one_sentence(address: str) -> None:
    ended = CliRunner().invoke(main, ["list", address])

    assert ended.exit_code == 2
    assert len(ended.stderr.splitlines()) == 1


def test_commands_list_show_and_export(tmp_path: Path) -> None:
    a_run(tmp_path / "runs" / "20260101-120000-quick")
    run, runs = CliRunner().invoke, str(tmp_path / "runs")

    exported = run(main, ["export", "20260101-120000-quick", str(tmp_path / "archive"), "--runs-folder", runs])

    assert exported.exit_code == 0
    assert exported.output.startswith("4 files, ")
    archive = str(tmp_path / "archive")
    assert "20260101-120000-quick  passed" in run(main, ["list", archive]).output
    assert run(main, ["show", "20260101-120000-quick", "--runs-folder", archive]).output == "# Run\n"
    assert json.loads(run(main, ["show", "20260101-120000-quick", "--runs-folder", archive, "--json"]).output) == RESULT
    missing = run(main, ["show", "nothing", "--runs-folder", archive])
    assert missing.exit_code == 2
    assert "there is no run.md of a run nothing" in missing.stderr
