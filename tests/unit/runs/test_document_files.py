"""What a run leaves on disk is read back as it was: workload, state, observation, histograms, settings."""

import dataclasses
import json
import struct
import zlib
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from market_spread.common.clock import ManualClock
from market_spread.common.errors import RunVoidError, UsageError
from market_spread.runs.document import histograms, observation
from market_spread.runs.document.effective import job_settings, jvm_options, stable
from market_spread.runs.document.folder import RunFolder, locked
from market_spread.runs.document.histograms import by_second, merged
from market_spread.runs.document.state import State
from market_spread.runs.run import Observed
from market_spread.runs.terms import MACHINE_CHECKS, Objectives, VoidLimits, Wanted
from market_spread.runs.workload import read_workload, to_yaml
from market_spread.v1.control_pb2 import JobStatusResponse, SenderStatusResponse

WORKLOADS = sorted((Path(__file__).parents[3] / "loadgen" / "workloads").glob("*.yaml"))


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_a_workload_is_read_back_as_it_was_run(path: Path, tmp_path: Path) -> None:
    workload = read_workload(path)

    (tmp_path / "workload.yaml").write_text(to_yaml(workload))

    assert read_workload(tmp_path / "workload.yaml") == workload


def test_all_that_a_workload_asks_for_is_read_back(tmp_path: Path) -> None:
    workload = dataclasses.replace(
        read_workload(WORKLOADS[0]),
        purpose="to see: a test",
        slo=Objectives({"p50": 5.0, "p99.9": 80.0, "max": 500.0}, 0.99, 3),
        void=VoidLimits(stolen_share=0.5, drift_share=3),
        wanted=Wanted("strict", 4, 8.0, tuple(name for name in MACHINE_CHECKS if name != "smt")),
        p99_ms_max=50.0,
    )

    (tmp_path / "workload.yaml").write_text(to_yaml(workload))

    assert read_workload(tmp_path / "workload.yaml") == workload


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("gate: maybe", "gate='maybe'; use one of none, warn, strict"),
        ("machine: {without: [noise]}", "machine.without=['noise']; use a list of governor,"),
        ("slo: {p75_ms: 3}", "slo.p75_ms is unknown; leave it out"),
        ("slo: {p99_ms: 0}", "slo.p99_ms=0; use a number from 0.001 to 3.6e+06"),
        ("void: {foreign_share: 2}", "void.foreign_share=2; use a number from 0 to 1"),
    ],
)
def test_what_is_wrong_with_the_terms_is_told(tmp_path: Path, line: str, error: str) -> None:
    path = tmp_path / "workload.yaml"
    text = WORKLOADS[0].read_text()
    path.write_text(text.partition("\nvoid:")[0] + f"\n{line}\n")

    with pytest.raises(UsageError) as raised:
        read_workload(path)

    assert error in str(raised.value)


def test_the_state_has_each_step_and_how_long_it_took(tmp_path: Path) -> None:
    clock = ManualClock()
    state = State(tmp_path / "state.json", clock=clock, resumed=1)

    state.enter("starting")
    clock.advance_ns(2_500_000_000)
    state.enter("measuring")
    state.enter("measuring")
    state.fail("the broker ended")

    read = State.read(tmp_path / "state.json")
    assert read is not None
    assert (read["step"], read["resumed"], read["error"]) == ("measuring", 1, "the broker ended")
    assert [(step["name"], step["duration_s"]) for step in read["steps"]] == [("starting", 2.5), ("measuring", None)]
    assert read["steps"][0]["started"] == "2023-11-14T22:13:20.000+00:00"


def test_there_may_be_no_state_but_none_that_is_damaged(tmp_path: Path) -> None:
    assert State.read(tmp_path / "state.json") is None
    (tmp_path / "state.json").write_text('{"version": 9}')

    with pytest.raises(UsageError, match="it has version 9"):
        State.read(tmp_path / "state.json")


def test_an_observation_is_read_back(tmp_path: Path) -> None:
    observed = Observed(
        started=datetime(2026, 11, 21, tzinfo=UTC),
        sent=SenderStatusResponse(messages_sent=5, frame_delay_histogram=b"\x01\x02"),
        job=JobStatusResponse(messages_committed=7, batch_id=3),
        starts_unix_ns={"initial": 1, "measured": 2},
        stolen_share=0.25,
        broker_cpu_us=None,
        drained=True,
        error=RunVoidError("the broker ended"),
        failed_step="draining",
        ledger=b"",
    )
    folder = RunFolder(tmp_path)

    observation.write(folder, observed, {"target": "local"})
    read = observation.read(folder)

    assert (read.sent, read.job, read.starts_unix_ns) == (observed.sent, observed.job, observed.starts_unix_ns)
    assert (read.stolen_share, read.broker_cpu_us, read.failed_step) == (0.25, None, "draining")
    assert isinstance(read.error, RunVoidError)
    assert str(read.error) == "the broker ended"
    assert read.alerts is not None
    assert len(read.alerts) == 0
    assert json.loads(folder.evidence.read_text())["environment"] == {"target": "local"}


def test_an_observation_that_is_damaged_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="start the run anew"):
        observation.read(RunFolder(tmp_path))


def test_a_run_is_carried_out_by_one_process(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)

    with locked(folder), pytest.raises(UsageError, match="is going on in another process"), locked(folder):
        pass


def test_histograms_by_second_lose_nothing(tmp_path: Path) -> None:
    times = np.array([3_000_000, 1_500_000, 1_000_000, 3_999_999], np.int64)
    values = np.array([40, 20, 10, 5_000_000], np.int64)

    path = histograms.write(tmp_path / "h" / "latency.hlog", by_second(times, values))

    intervals = histograms.read(path)
    assert [(each.start_unix_ns, each.histogram.count) for each in intervals] == [
        (1_000_000_000, 2),
        (3_000_000_000, 2),
    ]
    total = merged(intervals)
    assert (total.count, total.percentile(50), total.min_us) == (4, 20, 10)
    assert list(by_second(np.empty(0, np.int64), np.empty(0, np.int64))) == []


def test_any_hdr_tool_reads_the_logs(tmp_path: Path) -> None:
    values = np.array([10, 20, 70_000], np.int64)
    path = histograms.write(tmp_path / "latency.hlog", by_second(np.full(3, 1_000_000, np.int64), values))

    (line,) = [line for line in path.read_text().splitlines() if line[0].isdigit()]

    theirs = HdrHistogram.decode(line.rsplit(",", 1)[1])
    assert (theirs.get_total_count(), theirs.get_value_at_percentile(50)) == (3, 20)
    assert line.startswith("1.000,1.000,70.000,")
    assert zlib.decompress(b64decode(line.rsplit(",", 1)[1])[8:])[:4] == struct.pack(">I", 0x1C849313)


def test_what_is_no_histogram_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.hlog").write_text("1.0,1.0,1.0,AAAA\n")

    with pytest.raises(UsageError, match="cannot be read: it is no compressed histogram"):
        histograms.read(tmp_path / "a.hlog")


def test_settings_of_the_job_are_found_in_its_log(tmp_path: Path) -> None:
    told = {
        "event": "job.settings",
        "spark": {"spark.app.id": "local-7", "spark.sql.shuffle.partitions": "1", "spark.driver.port": "4711"},
        "jvm": {"name": "OpenJDK", "arguments": "-Xmx2g"},
    }
    (tmp_path / "job.log").write_text(f"WARN something\n{json.dumps(told)}\n")

    assert job_settings(tmp_path / "job.log") == (
        {"spark.sql.shuffle.partitions": "1"},
        {"name": "OpenJDK", "arguments": "-Xmx2g"},
    )
    assert job_settings(tmp_path / "none") == ({}, {})


def test_settings_of_one_run_alone_are_left_out() -> None:
    settings = {"listeners": "a", "log.dirs": "b", "num.io.threads": "2", "spark.local.dir": "c"}

    assert stable(settings) == {"num.io.threads": "2"}


def test_of_a_jvms_arguments_those_count_that_change_how_it_runs() -> None:
    assert jvm_options("-Xmx2g -Dname=value --add-opens=a -Xlog:gc:file=x -XX:+UseG1GC") == ["-Xmx2g", "-XX:+UseG1GC"]
