"""The commands compare, ab, sweep and history: what they print, how they end, and what they say of wrong usage."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from market_spread.controller.analysis.evidence import Verdict
from market_spread.controller.cli.main import main
from market_spread.controller.compare.runs import Place
from tests.support.paths import QUICK
from tests.unit.controller.compare.run_fixtures import judged, write_run

STEPS = """\
name: steps
seed: 1
load: {profile: steps, steps: [{messages_per_s: 10, duration_s: 10}]}
market: {symbols: 350, partitions: 1}
frames: {messages: 200, linger_ms: 2}
job: {}
warm_up: {duration_s: 5}
"""


def invoke(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """runs/before and runs/after, in turn; the second a tenth slower. runs/void has a void run, runs/few two runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    folder = tmp_path / "runs"
    for number in range(8):
        write_run(folder / "before", 2 * number, 20 + number / 10)
        write_run(folder / "after", 2 * number + 1, 22 + number / 10)
    write_run(folder / "few", 30), write_run(folder / "few", 31)
    write_run(folder / "void", 40, verdict="void", reasons=["the generator was late"])
    write_run(folder / "void", 41)
    return folder


def test_worse_is_exit_status_1(runs: Path) -> None:
    result = invoke("compare", "runs/before", "runs/after")

    assert result.exit_code == 1
    assert "  WORSE    after against before: 2 worse, 2 same (8 against 8 runs)" in result.stdout


def test_same_and_better_is_exit_status_0(runs: Path) -> None:
    assert invoke("compare", "runs/after", "runs/before").exit_code == 0
    assert invoke("compare", "runs/before", "runs/after", "--least", "30%").exit_code == 0


def test_too_few_runs_are_undecided_and_exit_status_3(runs: Path) -> None:
    write_run(runs / "fewer", 29), write_run(runs / "fewer", 32)

    result = invoke("compare", "runs/few", "runs/fewer")

    assert result.exit_code == 3
    assert "• undecided: 2 runs; a verdict needs 8 in each group" in result.stdout


def test_void_runs_are_refused_left_out_or_let_in(runs: Path) -> None:
    refused = invoke("compare", "runs/before", "runs/void")
    left_out = invoke("compare", "runs/before", "runs/void", "--skip-void")
    let_in = invoke("compare", "runs/before", "runs/void", "--force")

    assert refused.exit_code == 2
    assert refused.stderr.count("\n") == 1
    assert "run 20260101-000040-quick of void is void (the generator was late); leave void runs out" in refused.stderr
    assert left_out.exit_code == 3
    assert "left out: 1 void run of void" in left_out.stdout
    assert let_in.exit_code == 3
    assert "VOID: 20260101-000040-quick of void takes part by force" in let_in.stdout


def test_pages_are_written(runs: Path, tmp_path: Path) -> None:
    result = invoke("compare", "runs/before", "runs/after", "--html", "c.html", "--markdown", "c.md")

    assert result.exit_code == 1
    assert '"contrasts":[{"first":"before","other":"after",' in (tmp_path / "c.html").read_text()
    assert (tmp_path / "c.md").read_text().startswith("**worse**: after against before: ")
    assert sorted(path.name for path in tmp_path.glob("c.*")) == ["c.html", "c.md"]
    assert "latency p99" in result.stdout


def test_markdown_can_go_to_standard_output(runs: Path) -> None:
    result = invoke("compare", "runs/before", "runs/after", "--markdown", "-")

    assert result.stdout.startswith("**worse**: after against before")


def test_json_is_all_that_is_printed(runs: Path) -> None:
    result = invoke("compare", "runs/before", "runs/after", "--json")

    assert json.loads(result.stdout)["exit_status"] == result.exit_code == 1


def test_chosen_figures_alone_are_compared(runs: Path) -> None:
    result = invoke("compare", "runs/before", "runs/after", "--figure", "cpu_us_per_message")

    assert result.exit_code == 0
    assert "1 same" in result.stdout


@pytest.mark.parametrize(
    "command", [("compare", "runs/before", "runs/after"), ("history", "runs/before"), ("ab", "w.yaml", "w.yaml")]
)
def test_an_unknown_figure_is_refused_before_anything_is_done(runs: Path, command: tuple[str, ...]) -> None:
    Path("w.yaml").touch()

    result = invoke(*command, "--figure", "latency_ns.p99", "--figure", "latency_ns.p98")

    assert result.exit_code == 2
    assert "--figure latency_ns.p98 is no number of the result; use the right name: latency_ns.p99" in result.stderr


def test_a_chosen_figure_that_no_run_has_is_said(runs: Path) -> None:
    compared = invoke("compare", "runs/before", "runs/after", "--figure", "backlog.messages_max", "--html", "c.html")
    history = invoke("history", "runs/before", "--figure", "backlog.messages_max")

    assert compared.exit_code == 3
    assert "no values to compare" in compared.stdout
    assert "• no run has backlog.messages_max" in history.stdout


def test_history_shows_each_workload(runs: Path) -> None:
    result = invoke("history", "runs/before")

    assert result.exit_code == 0
    assert "0 changes in 8 runs" in result.stdout
    assert "▁▂▃▄▅▆▇█" in result.stdout
    document = json.loads(invoke("history", "runs/before", "--json").stdout)
    (quick,) = document["workloads"]
    p99 = next(figure for figure in quick["figures"] if figure["path"] == "latency_ns.p99")
    assert (document["left_out"], document["unreadable"], p99["changes"]) == ([], [], [])
    assert len(p99["values"]) == 8
    assert p99["values"]["20260101-000000-quick"] == pytest.approx(min(p99["values"].values()))


def test_history_leaves_void_runs_out(runs: Path) -> None:
    assert (
        "• left out as void: 1 run; the first is 20260101-000040-quick: the generator was late"
        in invoke("history", "runs/void").stdout
    )


BROKEN = {
    "cut": b'{"schema_version": 3, "run',
    "schema": b'{"schema_version": 9}',
    "not-utf-8": b"\xff\xfe{}",
    "list": b"[]",
}


@pytest.fixture
def with_broken(runs: Path) -> Path:
    for name, text in BROKEN.items():
        folder = runs / "before" / f"19990101-000000-{name}"
        folder.mkdir()
        (folder / "result.json").write_bytes(text)
    (runs / "before" / "19990101-000000-without").mkdir()
    return runs


def test_broken_documents_hide_no_other_from_history(with_broken: Path) -> None:
    result = invoke("history", "runs/before")

    assert result.exit_code == 0
    said = " ".join(result.stdout.split())
    assert "0 changes in 8 runs" in said
    assert said.count("left out: runs/before/19990101-000000-") == len(BROKEN)
    assert "schema_version 9; this version reads 4" in said


def test_broken_documents_hide_no_other_from_compare(with_broken: Path) -> None:
    document = json.loads(invoke("compare", "runs/before", "runs/after", "--json").stdout)

    assert len(document["groups"][0]["runs"]) == 8
    assert len(document["groups"][0]["unreadable"]) == len(BROKEN)
    assert "left out of before: " in invoke("compare", "runs/before", "runs/after").stdout


def test_a_group_of_broken_documents_alone_is_refused(runs: Path) -> None:
    (runs / "only").mkdir()
    (runs / "only" / "result.json").write_bytes(b"\xff")

    result = invoke("compare", "runs/before", "runs/only")

    assert result.exit_code == 2
    assert "is no document of a run" in result.stderr


def test_groups_made_one_after_the_other_are_exit_status_3(runs: Path) -> None:
    for number in range(8):
        write_run(runs / "later", 100 + number, 30)

    result = invoke("compare", "runs/before", "runs/later")

    assert result.exit_code == 3
    assert "• undecided: the runs of the groups were not made in turn" in result.stdout
    assert "make them in turn: market-spread ab" in " ".join(result.stdout.split())


def test_history_by_an_anchor(runs: Path) -> None:
    for number in range(3):
        write_run(runs / "before", 60 + number, 5, workload="null")

    result = invoke("history", "runs/before", "--anchor", "null")

    assert result.exit_code == 0
    assert "latency p99, by the anchor's" in result.stdout
    assert "null, 3 runs" not in result.stdout


@pytest.fixture
def turns(runs: Path, tmp_path: Path) -> Path:
    """A folder of `ab` with all its pairs."""
    folder = tmp_path / "ab"
    folder.mkdir()
    for arm, made in (("a", "before"), ("b", "after")):
        (folder / f"{arm}.yaml").write_text(QUICK.read_text())
        (runs / made).rename(folder / arm)
        for number, run in enumerate(sorted((folder / arm).iterdir()), 1):
            Place("s", number, arm).write(run)
    (folder / "ab.json").write_text('{"pairs": 8, "session": "s", "seed": 1, "options": []}')
    return folder


def test_finished_turns_are_compared_without_a_run(turns: Path) -> None:
    result = invoke("ab", QUICK, QUICK, "--runs-folder", turns)

    assert result.exit_code == 1
    assert "b (quick) against a (quick): 2 worse, 2 same (8 pairs)" in result.stdout
    assert "• void: 0 of 8 runs of a (quick), 0 of 8 runs of b (quick)" in result.stdout
    document = json.loads(invoke("ab", QUICK, QUICK, "--runs-folder", turns, "--json").stdout)
    assert (document["exit_status"], document["contrasts"][0]["pairs"]) == (1, 8)


def test_pairs_outlast_an_export(turns: Path, tmp_path: Path) -> None:
    for arm in "ab":
        for run in (turns / arm).iterdir():
            assert invoke("export", run.name, tmp_path / "kept" / arm, "--runs-folder", turns / arm).exit_code == 0

    assert "2 worse, 2 same (8 pairs)" in invoke("compare", "kept/a", "kept/b").stdout


def test_a_finished_sweep_is_told_without_a_run(runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    made = [
        (20_000, 20),
        (40_000, 99),
        (20_500, 80),
        (20_000, 21),
        (20_500, 70),
        (10_000, 9),
        (16_000, 15),
        (19_000, 15),
    ]
    for number, (rate, p99_ms) in enumerate(made):
        write_run(folder / "rates" / str(rate), number, p99_ms, offered_rate_per_s=rate)
    (folder / "workload.yaml").write_text(QUICK.read_text())
    (folder / "sweep.json").write_text('{"options": []}')
    words: tuple[object, ...] = ("sweep", QUICK, "--slo", "p99=50ms", "--runs-folder", folder, "--repeats", 1)
    words += ("--no-curve", "--runs-max", 8)  # so that a mistake ends it, and makes no run

    result = invoke(*words, "--html", "sweep.html")

    assert result.exit_code == 0
    assert "  HELD    quick holds 20,600 messages/s (95% interval " in result.stdout
    assert "under p99 ≤ 50 ms, loss ≤ 0 (8 runs)" in result.stdout
    assert '"latency_limits_ms":{"p99":50.0}' in (tmp_path / "sweep.html").read_text()
    assert json.loads(invoke(*words, "--json").stdout)["limit"]["is_bracketed"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare", "runs/before"], "a comparison needs two groups of runs or more; name another one"),
        (
            ["compare", "runs/before", "nothing"],
            "nothing is neither a folder of runs nor a run in runs; name one, or --runs-folder",
        ),
        (["compare", "runs/before", "runs/after", "--least", "7"], "--least 7; use a share such as 5% or 0.05"),
        (["compare", "runs/before", "runs/after", "--html", "no/c.html"], "no/c.html cannot be written: No such file"),
        (["ab", QUICK, "missing.yaml"], "the workload missing.yaml cannot be read: No such file or directory"),
        (["ab", QUICK], "quick.yaml is one workload; name another one, or two working trees with --checkout"),
        (["ab", QUICK, "--", "--duration", "9"], "quick.yaml is one workload; name another one"),
        (["ab", "w.yaml", "--checkout", "runs"], "--checkout runs; name two working trees"),
        (["ab", "w.yaml", "--checkout", "runs", "--checkout", "./runs"], "--checkout runs; name two working trees"),
        (
            ["ab", "w.yaml", "v.yaml", "--checkout", "runs", "--checkout", "."],
            "v.yaml is a second workload; with --checkout there is one, in both working trees",
        ),
        (
            ["ab", "w.yaml", "--checkout", "runs", "--checkout", "."],
            "the workload runs/w.yaml cannot be read: No such file or directory",
        ),
        (
            ["ab", QUICK, QUICK, "--runs-folder", "/dev/null/x"],
            "/dev/null/x cannot be made: Not a directory; name another",
        ),
        (["sweep", "missing.yaml"], "the workload missing.yaml cannot be read: No such file or directory"),
        (["sweep", "steps.yaml"], "steps has neither a constant profile nor a recorded one, whose rate a sweep sets"),
        (["sweep", QUICK, "--slo", "p99=fast"], "--slo p99=fast; use p50, p95, p99, p99.9, p99.99, max with a time"),
        (["sweep", QUICK, "--precision", "0"], "--precision 0; use a share such as 5% or 0.05"),
        (["sweep", QUICK, "--drift", "2"], "--drift 2; use a share such as 5% or 0.05"),
        (["sweep", QUICK, "--from", "10", "--to", "5"], "--from 10 --to 5; use rates that ascend, up to 10000000"),
        (["sweep", QUICK, "--start", "5"], "--start 5; use 100 to 10000000, which --from and --to allow"),
        (["history", "nothing"], "nothing is not a folder; name the one that holds the runs, which `run` makes"),
        (["history", "runs"], "runs has no valid run; name another folder, or make some"),
        (
            ["history", "runs/few", "--anchor", "x"],
            "runs/few has no valid run of the anchor x; name another one, or make",
        ),
        (
            ["history", "runs/few", "--workload", "x"],
            "runs/few has no valid run of the workload x; name another folder",
        ),
    ],
)
def test_an_error_is_one_line_and_2(words: list[object], said: str, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "steps.yaml").write_text(STEPS)

    result = invoke(*words)

    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output


def test_wrong_outputs_count_where_the_latencies_of_their_run_are_void(turns: Path) -> None:
    wrong = judged(Verdict.FAILED, "alerts_wrong", "late_generator", latencies_void=True)
    changed = write_run(turns / "b", 99, 22, **wrong)
    Place("s", 9, "b").write(changed)
    Place("s", 9, "a").write(write_run(turns / "a", 98, 22))

    result = invoke("ab", QUICK, QUICK, "--runs-folder", turns, "--least", "30%")

    assert result.exit_code == 1
    assert f"left out: 1 void run of b (quick); one is {changed.name}: alerts_wrong says so" in result.stdout


def test_a_copy_is_the_same_run(runs: Path) -> None:
    shutil.copytree(runs / "before", runs / "copy")

    result = invoke("compare", "runs/before", "runs/copy")

    assert result.exit_code == 2
    assert "is in before and in copy" in result.stderr


def test_a_run_that_ab_has_not_made_takes_the_pairs_from_no_other(turns: Path) -> None:
    write_run(turns / "b", 99, 22)

    assert "2 worse, 2 same (8 pairs)" in invoke("compare", turns / "a", turns / "b").stdout


@pytest.mark.parametrize("command", ["ab", "sweep"])
def test_a_workload_of_the_user_in_the_folder_is_not_overwritten(tmp_path: Path, command: str) -> None:
    names = {"ab": ("b.yaml", "a.yaml"), "sweep": ("workload.yaml", "other.yaml")}[command]
    for name in names:
        (tmp_path / name).write_text(QUICK.read_text().replace("name: quick", f"name: {Path(name).stem}"))
    before = [(tmp_path / name).read_bytes() for name in names]

    given = [tmp_path / name for name in (names if command == "ab" else names[1:])]
    result = invoke(command, *given, "--runs-folder", tmp_path)

    assert result.exit_code == 2
    assert "has another workload" in result.stderr
    assert [(tmp_path / name).read_bytes() for name in names] == before


def test_a_figure_that_is_given_twice_is_one(runs: Path) -> None:
    words = ["--figure", "latency_ns.p99:higher", "--figure", "latency_ns.p99:lower"]

    document = json.loads(invoke("compare", "runs/before", "runs/after", *words, "--json").stdout)

    assert [each["verdict"] for each in document["contrasts"][0]["figures"]] == ["worse"]
