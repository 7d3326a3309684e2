"""The document of a real run: what is in its folder, what is said of it, and a run that is gone on with."""

import json
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from market_spread.common.hdr.histogram import latency_summary_ns
from market_spread.controller.archive import jvm_pauses
from market_spread.controller.archive.store import RunStore
from market_spread.controller.host.timeline import Timeline
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.run_folder import Manifest, RunFolder, State
from tests.integration.test_run import COMMAND, SMALL, TIMEOUT_S, assert_nothing_left, running
from tests.support.golden import GoldenRun
from tests.support.interval_log import merged, read_interval_log

pytestmark = pytest.mark.timeout(2 * TIMEOUT_S)
KEPT = {"nbbo": "nbbo.messages", "orders": "orders.messages", "alerts": "alerts.ledger"}
PROCESSES = ("broker", "job", "metrics_aggregator", "receiver", "sender")


@pytest.fixture(scope="module")
def folder(golden_run: GoldenRun) -> RunFolder:
    return RunFolder(golden_run.folder)


def test_every_part_of_the_document_is_there(folder: RunFolder) -> None:
    result = json.loads(folder.result.read_text())

    assert result["schema_version"] == 4
    assert [result["verdicts"][name]["holds"] for name in ("correct", "valid", "objectives")] == [True, True, True]
    flow = result["conservation"]
    assert flow["sent"] == flow["processed"] + flow["invalid"]
    assert flow["in_flight"] == 0
    names = [step["name"] for step in result["steps"]]
    assert names[0] == "starting"
    assert [name for name in names if name in ("measuring", "draining", "judging")] == [
        "measuring", "draining", "judging",
    ]  # fmt: skip
    assert read_workload(folder.workload) == read_workload(SMALL)
    assert "**passed**" in folder.document.read_text()
    assert f"* {result['causes']['sentence']}\n" in folder.document.read_text()
    assert "gc" in {event["kind"] for event in result["causes"]["events"]}
    page = folder.report.read_text()
    assert 'id="report-data"' in page
    assert 'id="run-data"' in page
    state = State.read(folder.state)
    assert state is not None
    assert state["step"] == "done"
    assert not folder.samples.exists()


def test_every_alert_is_judged_and_what_was_kept_is_judged_alike(folder: RunFolder) -> None:
    """How many orders can be decided depends on the delays: test_run.py looks at that, with nothing beside it."""
    result = json.loads(folder.result.read_text())

    assert (result["verdict"], result["reasons"]) == ("passed", [])
    sent = [result[name] for name in ("messages_sent", "messages_processed", "orders_sent")]
    assert sent == [24_000, 24_000, 12_000]
    assert 0 < result["alerts_expected"] <= result["alerts_received"]
    assert result["alerts_received"] <= result["alerts_expected"] + result["alerts_undecided"]
    assert [result[f"alerts_{fault}"] for fault in ("missing", "unexpected", "duplicated", "wrong")] == [0, 0, 0, 0]
    assert result["invalid_records"] == 0
    latency = result["latency_ns"]
    assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"] <= latency["max"]
    assert latency["p99.99"] is None  # there are too few alerts to tell
    assert isinstance(result["cpu_us_per_message"], float)
    kept = [part for name, file in KEPT.items() for part in (f"--{name}", str(folder.path / file))]
    check = [*COMMAND, "check", *kept, "--without-warm-up"]
    assert subprocess.run(check, capture_output=True, check=False, timeout=60).returncode == 0


def test_manifest_has_what_was_read_back_from_the_processes(folder: RunFolder) -> None:
    manifest = Manifest.read(folder.manifest)

    sections = manifest.sections
    assert sections["spark"]["version"] == "4.3.0"
    assert sections["spark"]["spark.sql.shuffle.partitions"] == "1"
    assert sections["kafka"]["message.max.bytes"] == "8388608"
    assert sections["jvm_broker"]["flag.MaxHeapSize"] == str(1024**3)
    assert sections["jvm_job"]["flag.MaxHeapSize"] == str(1024**3)
    assert sections["workload"]["load.messages_per_s"] == 2_000
    assert set(sections["pinning"]) == set(PROCESSES)
    assert len(str(sections["data"]["measured.sha256"])) == 64
    assert json.loads(folder.result.read_text())["manifest_sha256"] == manifest.sha256
    text = folder.manifest.read_text()
    assert str(folder.path) not in text  # two runs of the same thing have the same hash
    assert folder.run_id not in text


def test_timeline_has_each_second_of_every_component(folder: RunFolder) -> None:
    timeline = Timeline.read(folder.timeline)
    result = json.loads(folder.result.read_text())

    assert pq.read_schema(folder.timeline).names == ["unix_s", "component", "name", "value"]
    for name in ("machine", "controller", *PROCESSES):
        assert len(timeline.series(name, "cpus")) > result["duration_s"], name
    seconds = timeline.series("machine", "cpus").unix_s.tolist()
    assert len(set(seconds)) == len(seconds)  # looked at in its middle, a second is never met twice
    assert len(timeline.series("job", "gc_pause_ms")) > 0
    assert len(timeline.series("broker", "safepoint_ms")) > 0
    assert timeline.series("path", "messages_sent").values.max() == result["messages_sent"]
    assert timeline.series("path", "latency_samples").values.sum() == result["alerts_received"]
    assert len(timeline.series("job", "switches_involuntary_per_s")) > 3
    assert timeline.series("job", "cpus_jit").values.max() > 0
    assert len(timeline.series("sender", "cpus_jit")) == 0


@pytest.mark.parametrize("jvm", ["job", "broker"])
def test_standstills_of_a_jvm_are_its_collections_with_what_they_waited_for_and_other_safepoints(
    folder: RunFolder, jvm: str
) -> None:
    found = list(jvm_pauses.read(folder.logs / f"{jvm}.gc.log"))

    collections_ms = [ms for _, ms, what in found if what == "GC"]
    assert {what.partition(" ")[0] for _, _, what in found} == {"GC", "safepoint"}
    assert sum(collections_ms) > Timeline.read(folder.timeline).series(jvm, "gc_pause_ms").values.sum()


def test_histograms_have_the_percentiles_of_the_result(folder: RunFolder) -> None:
    result = json.loads(folder.result.read_text())

    for name, said in (("latency", result["latency_ns"]), ("service_time", result["service_time_ns"])):
        written = merged(read_interval_log(folder.histograms / f"{name}.hlog").values())
        assert {k: v for k, v in latency_summary_ns(written).items() if k != "max"} == {
            k: v for k, v in said.items() if k != "max"
        }
    sent = merged(read_interval_log(folder.histograms / "send_lag.hlog").values())
    assert 0.9 * result["messages_sent"] <= sent.count <= 1.1 * result["messages_sent"] + 2_000


def test_logs_of_all_processes_are_there(folder: RunFolder) -> None:
    logs = {path.name for path in folder.logs.iterdir()}

    assert {f"{name}.log" for name in PROCESSES} | {"job.gc.log", "broker.gc.log"} <= logs


def test_a_run_is_listed_and_exported(golden_run: GoldenRun, folder: RunFolder, tmp_path: Path) -> None:
    (summary,) = RunStore(str(golden_run.runs)).summaries()

    files, _ = RunStore(str(tmp_path)).put(folder.path)

    assert (summary["verdict"], summary["step"]) == ("passed", "done")
    assert files > 20
    assert json.loads(RunStore(str(tmp_path)).text(folder.run_id, "result.json"))["run_id"] == folder.run_id


def test_a_run_that_broke_off_after_its_drain_is_judged_by_what_is_on_disk(folder: RunFolder, tmp_path: Path) -> None:
    broken = RunFolder(tmp_path / folder.run_id)
    shutil.copytree(folder.path, broken.path)
    state = json.loads(broken.state.read_text())
    broken.state.write_text(json.dumps({**state, "step": "judging"}))
    for path in (broken.result, broken.document, broken.report):
        path.unlink()

    with running(tmp_path, command=("run", "--resume", folder.run_id)) as run:
        ended = run.end()

    assert ended.exit_status == 0, ended.stderr
    before, after = json.loads(folder.result.read_text()), ended.result
    assert {**after, "steps": [], "resumed": 0} == {**before, "steps": []}
    assert after["resumed"] == 1
    assert broken.report.exists()


def test_a_killed_controller_takes_its_processes_along_and_its_run_begins_again_in_its_folder(tmp_path: Path) -> None:
    with running(tmp_path, "--duration", "60") as run:
        run.wait_until_said("measuring")
        run.process.kill()
        run.process.wait(10)
    assert_nothing_left(tmp_path)
    (path,) = tmp_path.iterdir()
    (path / "workload.yaml").write_text(SMALL.read_text())  # a shorter load, to be quick

    with running(tmp_path, command=("run", "--resume", path.name)) as run:
        ended = run.end()

    assert ended.exit_status == 0, ended.stderr
    assert (ended.result["run_id"], ended.result["resumed"]) == (path.name, 1)
    assert ended.result["messages_sent"] == 24_000
    assert list(tmp_path.iterdir()) == [path]
    assert_nothing_left(tmp_path)
