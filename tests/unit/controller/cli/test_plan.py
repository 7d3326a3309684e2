"""`market-spread plan`: what it prints, and what it refuses."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from market_spread.controller.cli.main import main
from tests.support.paths import QUICK, ROOT

THROUGHPUT = ROOT / "loadgen" / "workloads" / "throughput.yaml"
LOAD = ["--rate", "3000000", "--symbols", "35000"]


def plan(*words: object) -> Result:
    return CliRunner().invoke(main, ["plan", *(str(word) for word in words)])


def test_plan_has_its_figures_with_intervals_and_reasons() -> None:
    found = plan(*LOAD)

    assert found.exit_code == 0
    assert "3,000,000 messages/s, 35,000 symbols, on c4.8xlarge at core speed 1" in found.output
    for name in ("partitions of each topic", "executors", "brokers", "senders", "network in, and out", "disk", "p99"):
        assert f"\n{name}" in found.output
        assert f"• {name}" in found.output
    assert "extrapolated" in found.output


def test_plan_as_json_has_the_same_figures() -> None:
    document = json.loads(plan(*LOAD, "--core-speed", "2", "--json").output)

    assert (document["machine"], document["core_speed"]) == ("c4.8xlarge", 2)
    job = next(each for each in document["figures"] if each["name"] == "CPU of the job, cores")
    assert 0 < job["low"] <= job["value"] <= job["high"]
    assert job["extrapolated"]["messages_per_s"][0] == 3_000_000


def test_plan_takes_the_frames_of_a_workload() -> None:
    def records(*words: object) -> float:
        figures = json.loads(plan(*words, *LOAD, "--json").output)["figures"]
        (job,) = (each for each in figures if each["name"] == "tasks at once")
        return float(job["extrapolated"]["records_per_s"][0])

    # Of quick a frame has 200 messages at most, by default 900.
    assert records(QUICK) > 3 * records()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rate", "0"], "--rate 0; use a whole number from 1 to 10000000"),
        (["--rate", "20000000"], "--rate 20000000; use a whole number from 0 to 10000000"),
        (["--symbols", "7"], "--symbols 7; use a whole number from 350 to 100000"),
        (["--symbols", "100001"], "--symbols 100001; use a whole number from 350 to 100000"),
        (["--machine", "m9"], "--machine m9; use one of c4.8xlarge, this"),
        ([THROUGHPUT], "0 runs are of micro-batch mode; make 6 or more, each of another load"),
        (["--measured", "missing.json"], "missing.json has no measured runs: No such file or directory"),
        (["missing.yaml"], "the workload missing.yaml cannot be read: No such file or directory"),
    ],
)
def test_mistake_is_a_sentence_and_2(
    words: list[object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    found = plan(*words)

    assert found.exit_code == 2
    assert found.stderr.startswith("market-spread: ")
    assert said in found.stderr
    assert found.stderr.count("\n") == 1
