"""Runs that were really made: two workloads in turn, interrupted and gone on with, compared, swept, their history."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from market_spread.controller.compare.runs import read_run
from tests.integration.test_your_system import LENIENT, change, market_spread

COMMAND = str(Path(sys.executable).parent / "market-spread")
SMALL = Path(__file__).parent / "workloads" / "small.yaml"
TIMEOUT_S = 240

pytestmark = pytest.mark.timeout(3 * TIMEOUT_S)


@dataclass(frozen=True)
class Made:
    """Two workloads run in turn, once each, and interrupted on the way."""

    folder: Path
    interrupted_status: int
    interrupted_output: str
    status: int
    stdout: str
    stderr: str


def run(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [COMMAND, *map(str, words)], capture_output=True, text=True, check=False, timeout=2 * TIMEOUT_S
    )


@contextmanager
def started(*words: object) -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen(
        [COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def output_until(process: "subprocess.Popen[str]", words: str) -> str:
    """What it says until a line with these words, or to its end."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if words in line:
            return said
    raise AssertionError(f"{words!r} was not said: {said}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("turns")
    # A system that starts in a second: what is done with two runs does not depend on what was run.
    assert market_spread("init", "fares", folder=folder).returncode == 0
    change(folder / "fares", load={"profile": "constant", "messages_per_s": 100, "duration_s": 6}, slo={}, **LENIENT)
    change(folder / "fares", name="small", warm_up={"duration_s": 1})
    small, other = folder / "fares" / "workload.yaml", folder / "fares" / "other.yaml"
    (source,) = yaml.safe_load(small.read_text())["input"]
    other.write_text(small.read_text())
    change(folder / "fares", file="other.yaml", name="small-parts", input=[source | {"partitions": 3}])
    words = ("ab", small, other, "--repeats", 1, "--runs-folder", folder / "ab", "--seed", 1, "--", "--rate", 400)
    with started(*words) as process:
        said = output_until(process, "pair 1 of 1: ") + output_until(process, "pair 1 of 1: ")
        said += output_until(process, "measuring")
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=TIMEOUT_S)[0]
    ended = run(*words)
    return Made(folder, process.returncode, said, ended.returncode, ended.stdout, ended.stderr)


def results(folder: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted(folder.rglob("result.json"))]


def test_an_interrupted_comparison_ends_as_void_and_says_so(made: Made) -> None:
    assert made.interrupted_status == 3
    assert made.interrupted_output.endswith("market-spread: interrupted\n")


def test_the_same_command_makes_the_interrupted_pair_again_and_no_more(made: Made) -> None:
    verdicts = [result["verdict"] for result in results(made.folder / "ab")]
    runs = [read_run(path.parent) for path in (made.folder / "ab").rglob("pair.json")]
    places = [run.place for run in runs if run.place]

    assert made.stderr.count("pair 1 of 1: ") == 2
    assert verdicts.count("void") == 1
    assert len(verdicts) == 4
    assert sorted((place.number, place.arm) for place in places) == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    assert [run.place.number for run in runs if run.place and run.is_interrupted] == [1]


def test_one_run_of_each_is_undecided(made: Made) -> None:
    assert made.status == 3, made.stderr
    said = " ".join(made.stdout.split())
    assert "UNDECIDED other against workload: " in said
    assert "1 pair; a verdict needs 6" in said


def test_what_the_workloads_differ_in_stands_beside_the_figures(made: Made) -> None:
    ended = run("compare", made.folder / "ab" / "a", made.folder / "ab" / "b", "--skip-void", "--json")

    assert ended.returncode == 3, ended.stderr
    document = json.loads(ended.stdout)
    (name,) = [name for name in document["differences"] if "partitions" in name]
    assert [list(values) for values in document["differences"][name]] == [["2"], ["3"]]
    figures = {figure["figure"]: figure for figure in document["contrasts"][0]["figures"]}
    assert document["contrasts"][0]["pairs"] == 1
    assert figures["latency_ns.p50"]["before"]["estimate"] > 0
    assert figures["latency_ns.p50"]["verdict"] == "undecided"


def test_a_void_run_is_refused(made: Made) -> None:
    ended = run("compare", made.folder / "ab" / "a", made.folder / "ab" / "b")

    assert ended.returncode == 2
    assert "is void (" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_pages_are_whole_and_need_nothing_else(made: Made, tmp_path: Path) -> None:
    page, text = tmp_path / "c.html", tmp_path / "c.md"

    run(
        "compare", made.folder / "ab" / "a", made.folder / "ab" / "b", "--skip-void", "--html", page, "--markdown", text
    )

    assert '"contrasts":[{"first":"a","other":"b",' in page.read_text()
    assert not re.search(r"<(?:script|link|img)[^>]* (?:src|href)=\"(?!data:)", page.read_text())
    assert "| latency p50, ms | undecided |" in text.read_text()


def test_history_has_the_runs(made: Made) -> None:
    ended = run("history", made.folder / "ab" / "a")

    assert ended.returncode == 0, ended.stderr
    assert "0 changes in " in ended.stdout


def test_sweep_ends_at_the_highest_rate_it_may_try(tmp_path: Path) -> None:
    assert market_spread("init", "fares", folder=tmp_path).returncode == 0
    change(tmp_path / "fares", load={"profile": "constant", "messages_per_s": 400, "duration_s": 6}, slo={}, **LENIENT)
    change(tmp_path / "fares", warm_up={"duration_s": 1})
    words = (
        "sweep", tmp_path / "fares" / "workload.yaml", "--slo", "p50=60s", "--start", 400, "--to", 400, "--repeats", 1,
        "--no-curve", "--runs-folder", tmp_path / "sweep", "--html", tmp_path / "sweep.html",
    )  # fmt: skip

    first, again = run(*words), run(*words)

    assert first.returncode == 0, first.stderr
    assert "HELD    workload holds 400 messages/s or more under p50 ≤ 60,000 ms, loss ≤ 0 (1 run)" in first.stdout
    assert [result["offered_rate_per_s"] for result in results(tmp_path / "sweep")] == [400.0]
    assert again.stdout == first.stdout
    assert '"rates":[{"rate":400,' in (tmp_path / "sweep.html").read_text()


def test_a_run_that_cannot_be_made_ends_it(tmp_path: Path) -> None:
    ended = run("ab", SMALL, SMALL, "--runs-folder", tmp_path / "ab", "--", "--warp", "9")

    assert ended.returncode == 2
    assert "market-spread: no such option '--warp'; see market-spread run --help\n" in ended.stderr
    assert ended.stderr.endswith(
        "market-spread: no run could be made, as said above; fix that, then run the same command again\n"
    )
