"""What a run leaves on disk is read back as it was: workload, state, observation, histograms, settings."""

import dataclasses
import struct
import zlib
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from market_spread.common.errors import RunVoidError, UsageError
from market_spread.common.hdr.histogram import HdrCounts, latency_summary_ns
from market_spread.common.telemetry.metrics import END_TO_END, FRAME_DELAY, FRAMES_LATE, SEND_LAG, SERVICE, STAGE
from market_spread.common.telemetry.recorder import Recorder
from market_spread.controller.analysis.latency import STAGES
from market_spread.controller.analysis.observed import CpuReading, Observed
from market_spread.controller.analysis.validity import push_gaps
from market_spread.controller.archive import histograms, observation
from market_spread.controller.archive.histograms import by_second, judged_histograms
from market_spread.controller.clients.services import RoundTrip
from market_spread.controller.deploy.local.jvms import jvm_options, stable
from market_spread.controller.host.facts import MachineKeys
from market_spread.controller.plan.objectives import Limits, Objectives, VoidLimits
from market_spread.controller.plan.reading import read_workload, to_yaml
from market_spread.controller.run_folder import RunFolder, State, locked
from market_spread.loadgen.columns import Alerts
from market_spread.metrics_aggregator.model.hlog import push_block
from market_spread.metrics_aggregator.model.push_validation import read_push
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.model.store import Store
from market_spread.v1.control_pb2 import JobStatusResponse, SenderStatusResponse
from market_spread.v1.metrics_pb2 import PushRequest, Sample, SeriesKey
from tests.support.clock import ManualClock
from tests.support.interval_log import merged, read_interval_log
from tests.support.paths import ROOT

WORKLOADS = sorted((ROOT / "loadgen" / "workloads").glob("*.yaml"))


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_a_workload_is_read_back_as_it_was_run(path: Path, tmp_path: Path) -> None:
    workload = read_workload(path)

    (tmp_path / "workload.yaml").write_text(to_yaml(workload))

    assert read_workload(tmp_path / "workload.yaml") == workload


def test_all_that_a_workload_asks_for_is_read_back(tmp_path: Path) -> None:
    workload = dataclasses.replace(
        read_workload(WORKLOADS[0]),
        purpose="to see: a test",
        decisions="all",
        slo=Objectives(p50_ms=5.0, p99_9_ms=80.0, max_ms=500.0, rate_share=0.99, loss=3),
        void=VoidLimits(stolen_share=0.5, drift_share=3),
        preflight="strict",
        machine=MachineKeys(4, 8.0, ("smt",)),
        limits=Limits(p99_ms=50.0),
    )

    (tmp_path / "workload.yaml").write_text(to_yaml(workload))

    assert read_workload(tmp_path / "workload.yaml") == workload


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("preflight: maybe", "preflight='maybe'; use one of none, warn, strict"),
        ("machine: {without: [noise]}", "machine.without[0]='noise'; use one of governor,"),
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
    State(tmp_path / "state.json", clock=clock).enter("warming up")  # an earlier attempt, which broke off
    state = State(tmp_path / "state.json", clock=clock)

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
        drained=True,
        error=RunVoidError("the broker ended"),
        failed_step="draining",
        ledger=b"",
        decisions_ledger=b"D1\n",
    )
    folder = RunFolder(tmp_path)

    observation.write(folder, observed)
    read = observation.read(folder)

    assert (read.sent, read.job, read.starts_unix_ns) == (observed.sent, observed.job, observed.starts_unix_ns)
    assert (read.stolen_share, read.failed_step) == (0.25, "draining")
    assert read.decisions_ledger == b"D1\n"
    assert isinstance(read.error, RunVoidError)
    assert str(read.error) == "the broker ended"
    assert read.alerts is not None
    assert len(read.alerts) == 0


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

    intervals = read_interval_log(path)
    assert [(start_s, histogram.count) for start_s, histogram in intervals.items()] == [(1.0, 2), (3.0, 2)]
    total = merged(intervals.values())
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


def test_settings_of_the_job_are_those_that_every_run_shares() -> None:
    described = {"spark.app.id": "local-7", "spark.sql.shuffle.partitions": "1", "spark.driver.port": "4711"}

    assert stable(described) == {"spark.sql.shuffle.partitions": "1"}
    assert stable({}) == {}


def test_settings_of_one_run_alone_are_left_out() -> None:
    places = dict.fromkeys(("log.dirs", "spark.local.dir", "spark.python.unix.domain.socket.dir"), "/tmp/run-7")
    settings = {"listeners": "a", "num.io.threads": "2", **places}

    assert stable(settings) == {"num.io.threads": "2"}


def test_of_a_jvms_arguments_those_count_that_change_how_it_runs() -> None:
    arguments = ["-Xmx2g", "-Dname=value", "--add-opens=a", "-Xlog:gc:file=x", "-XX:+UseG1GC"]

    assert jvm_options(arguments) == ["-Xmx2g", "-XX:+UseG1GC"]


def test_what_the_page_is_told_is_what_the_result_has() -> None:
    random, orders = np.random.default_rng(5), np.arange(3_000)
    intended_us = 1_000_000 + orders * 1_000
    stages_us = random.integers(100, 30_000, (4, len(orders)))
    sent_us, read_us, emitted_us, received_us = intended_us + np.cumsum(stages_us, axis=0)
    zeros = np.zeros(len(orders), np.int64)
    alerts = Alerts(
        orders, zeros.astype("S6"), zeros.astype(np.uint8), zeros, zeros, zeros, intended_us, zeros, zeros,
        zeros, sent_us, read_us, emitted_us, received_us,
    )  # fmt: skip
    again = dataclasses.replace(alerts, received_us=received_us + 5_000_000)
    observed = Observed(started=datetime(2026, 11, 21, tzinfo=UTC), alerts=Alerts.concatenate([alerts, again]))
    lags = HdrCounts()
    lags.record(np.array([3, 5, 900], np.int64))
    observed.sent.send_lag_histogram = lags.encode()

    told: dict[tuple[str, str | None], dict[str, Any]] = {
        (each.key.name, each.key.labels.get("stage")): latency_summary_ns(HdrCounts.decode(each.encoded))
        for each in judged_histograms(observed, from_us=2_000_000)
    }

    judged = intended_us >= 2_000_000
    expected: dict[tuple[str, str | None], HdrCounts] = {
        (END_TO_END.name, None): HdrCounts((received_us - intended_us)[judged]),
        (SERVICE.name, None): HdrCounts((received_us - sent_us)[judged]),
    }
    expected |= {
        (STAGE.name, stage): HdrCounts(values_us[judged]) for stage, values_us in zip(STAGES, stages_us, strict=True)
    }
    expected |= {(SEND_LAG.name, None): lags}
    for key, histogram in expected.items():
        percentiles = {name: told[key][name] for name in ("p50", "p95", "p99", "p99.9")}
        assert percentiles == {name: latency_summary_ns(histogram)[name] for name in percentiles}
    assert told.keys() == expected.keys()
    assert judged_histograms(observed, from_us=10**12) == []


def test_looks_and_round_trips_are_read_back(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    looks = (CpuReading(1, 2, 3, 4, None, 6, 1), CpuReading(2, 3, 4, 5, 6, None))
    trips = {"before": {"sender": RoundTrip(1, 2, 3)}, "after": {}}
    observation.write(folder, Observed(datetime(2026, 11, 21, tzinfo=UTC), looks=looks, round_trips=trips))

    read = observation.read(folder)

    assert (read.looks, read.round_trips) == (looks, trips)


def test_histograms_of_a_load_have_all_of_it_and_nothing_of_the_warm_up(tmp_path: Path) -> None:
    """The load begins in the middle of what was one push, half a second after the sender was told of it."""
    clock = ManualClock(1_700_000_000_000_000_000)
    recorder = Recorder(source="sender-0", clock=clock, run_id="r1")
    log = RunFiles(tmp_path)

    def push() -> None:
        for taken in recorder.take():
            log.append("r1", push_block(taken, read_push(taken)), taken.start_unix_ns)

    def send(count: int, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            recorder.histogram(FRAME_DELAY).record_us(np.full(count, 700))
            clock.advance_ns(100_000_000)

    send(3, 1.2)  # the warm-up
    push()
    send(3, 0.3)
    recorder.begin_interval()
    begin_ns = clock.unix_ns() + 500_000_000
    clock.advance_ns(500_000_000)
    send(2, 0.2)
    push()
    send(2, 1.0)
    push()
    send(2, 0.1)
    end_ns = clock.unix_ns()
    push()

    pushed = list(histograms.pushed(log.path("r1"), FRAME_DELAY.name, from_unix_ns=begin_ns, to_unix_ns=end_ns))

    assert merged(histogram for *_, histogram in pushed).count == 2 * 13
    assert len(pushed) == 3


def test_pushes_lost_at_the_begin_of_a_process_are_missing(tmp_path: Path) -> None:
    """Those with 40 to 42 came, the others were dropped: by the controller as by the aggregator 39 are missing."""
    log, store = RunFiles(tmp_path), Store()
    for sequence in (40, 41, 42):
        push = PushRequest(
            source="sender-0", run_id="r1", epoch_unix_ns=1, sequence=sequence, pushes_dropped=39, host="boot-1",
            start_unix_ns=sequence, end_unix_ns=sequence + 1,
            counters=[Sample(key=SeriesKey(name=FRAMES_LATE.name), value=sequence)],
        )  # fmt: skip
        log.append("r1", push_block(push, read_push(push)), push.start_unix_ns)
        store.push(push)

    assert push_gaps(log.path("r1")) == (3, 39, 1)
    assert [epoch.missing for run in store.runs() for epoch in run.epochs.values()] == [39]
