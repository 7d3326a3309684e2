"""From counters over the sampler's stream to the timeline's series."""

from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.archive import jvm_pauses
from market_spread.controller.archive.jvm_pauses import log_option
from market_spread.controller.host import timeline
from market_spread.controller.host.counters import MachineCounters, ProcessCounters, Rates, sign_of_run
from market_spread.controller.host.timeline import SCHEMA, Sampler, Timeline
from tests.support.clock import ManualClock

STAT = "42 (a (name)) S 1 42 42 0 -1 0 10 0 {faults} 0 {user} {system} 0 0 20 0 {threads} 0 100 4096 250 0\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def a_process(proc: Path, pid: int, *, user: int = 0, system: int = 0, children: str = "", name: str = "a") -> None:
    write(proc / str(pid) / "stat", STAT.format(faults=3, user=user, system=system, threads=2))
    write(proc / str(pid) / "task" / str(pid) / "children", children)
    write(proc / str(pid) / "task" / str(pid) / "schedstat", "1000000000 2500000000 7")
    write(
        proc / str(pid) / "task" / str(pid) / "status",
        f"Name:\t{name}\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t20\n",
    )


def a_machine(proc: Path, *, stolen: int, idle: int = 500) -> None:
    write(proc / "stat", f"cpu  100 0 50 {idle} 10 0 0 {stolen} 0 0\ncpu0 1 1 1 1\nctxt 9000\nprocs_running 3\n")
    write(proc / "vmstat", "pswpin 4\npswpout 6\nother 1\n")
    write(proc / "pressure" / "cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n")
    write(proc / "net" / "snmp", "Tcp: InSegs OutSegs RetransSegs InErrs\nTcp: 10 20 3 0\n")
    write(proc / "net" / "netstat", "TcpExt: ListenDrops TCPTimeouts\nTcpExt: 1 2\nIpExt: A\nIpExt: 5\n")
    write(proc / "net" / "dev", "head\nhead\n lo: 100 1 0 2 0 0 0 0 300 1 0 5 0 0 0 0\n")


def test_counts_of_a_process_are_those_of_its_descendants_too(tmp_path: Path) -> None:
    a_process(tmp_path, 42, user=200, system=100, children="43")
    a_process(tmp_path, 43, user=100, name="C2 CompilerThre")

    counts, levels = ProcessCounters(42, tmp_path).read()

    assert counts["cpu_s"] == 4.0
    assert counts["switches_voluntary"] == 300
    assert counts["switches_involuntary"] == 40
    assert counts["run_delay_s"] == 5.0
    assert counts["jit_s"] == 1.0, "of the compiler's thread alone"
    assert levels["threads"] == 4


def test_counts_of_a_process_that_has_ended_are_none(tmp_path: Path) -> None:
    assert ProcessCounters(42, tmp_path).read() == ({}, {})


def test_counts_of_the_machine_are_those_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    a_machine(tmp_path, stolen=70)
    unix = "Num RefCount Path\n0: 1 @market-spread-run-a\n1: 1 /run/a\n2: 1 @market-spread-run-b\n"
    write(tmp_path / "net" / "unix", unix)
    write(tmp_path / "cgroup" / "cpu.stat", "usage_usec 5\nnr_throttled 4\nthrottled_usec 1500000\n")

    counts, levels = MachineCounters(tmp_path / "cgroup").read()

    assert (counts["cpu_s"], counts["stolen_s"], counts["idle_s"]) == (1.5, 0.7, 5.0)
    assert (counts["pswpin"], counts["pswpout"], counts["context_switches"]) == (4, 6, 9000)
    assert (counts["pressure_cpu_s"], counts["throttled_s"], counts["throttled_periods"]) == (2.5, 1.5, 4)
    assert (counts["tcp_retrans_segs"], counts["tcp_listen_drops"], counts["tcp_timeouts"]) == (3, 1, 2)
    assert (counts["net_received_bytes"], counts["net_sent_bytes"], counts["net_dropped"]) == (100, 300, 7)
    assert levels == {"running": 3, "runs": 2}


def test_a_run_has_a_sign_that_the_kernel_tells_and_that_goes_with_it() -> None:
    with sign_of_run() as sign:
        name = sign.getsockname().decode().replace("\0", "@")

        assert name.startswith("@market-spread-run-")
        assert name in Path("/proc/net/unix").read_text()
    assert name not in Path("/proc/net/unix").read_text()


def test_rates_are_by_the_time_that_went_by() -> None:
    rates = Rates()

    assert rates.of("job", {"cpu_s": 1.0, "pswpin": 5}, 10.0) == {}
    assert rates.of("job", {"cpu_s": 4.0, "pswpin": 5}, 12.0) == {"cpus": 1.5, "pswpin_per_s": 0.0}
    assert rates.of("job", {"cpu_s": 2.0}, 13.0) == {}  # another process in its place


def test_what_is_sampled_and_told_is_in_the_timeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Just past the middle of a second: its thread does not sample before that of the next one.
    proc, clock = tmp_path / "proc", ManualClock(1_700_000_000_500_000_001)
    a_machine(proc, stolen=0)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(proc))
    sampler = Sampler(tmp_path / "samples", clock=clock, processes=dict, machine=MachineCounters())
    sampler.start()
    sampler.tell("path", {"messages_sent": 5.0})
    sampler.sample()
    sampler.tell("path", {"messages_sent": 7.0})  # the end of a run need not wait for the next second
    sampler.close()

    path = timeline.write(
        tmp_path / "samples", tmp_path / "timeline.parquet", [(1_700_000_005, "job", "gc_pause_ms", 7.5)]
    )

    read = Timeline.read(path)
    assert read.series("machine", "running").values.tolist() == [3.0]
    assert read.series("machine", "running").unix_s.tolist() == [1_700_000_000]
    assert read.series("job", "gc_pause_ms").values.tolist() == [7.5]
    assert read.series("path", "messages_sent").values.tolist() == [5.0, 7.0]
    assert read.series("path", "messages_sent").unix_s.tolist() == [1_700_000_000, 1_700_000_001]
    assert len(read.series("job", "nothing")) == 0


def test_a_stream_that_was_cut_counts_as_far_as_it_goes(tmp_path: Path) -> None:
    schema = SCHEMA
    with pa.OSFile(str(tmp_path / "whole"), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for second in range(3):
            columns = [[second], ["machine"], ["cpus"], [1.0]]
            writer.write_batch(
                pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
            )
    data = (tmp_path / "whole").read_bytes()
    (tmp_path / "cut").write_bytes(data[: len(data) * 3 // 4])

    path = timeline.write(tmp_path / "cut", tmp_path / "timeline.parquet", [])

    assert 1 <= len(Timeline.read(path).series("machine", "cpus")) < 3


def test_without_samples_there_is_an_empty_timeline(tmp_path: Path) -> None:
    assert Timeline.read(timeline.write(tmp_path / "none", tmp_path / "t.parquet", [])).names == []


def test_sums_are_over_the_seconds_that_there_are(tmp_path: Path) -> None:
    rows = [(1, "a", "cpus", 1.0), (2, "a", "cpus", 2.0), (2, "b", "cpus", 5.0), (1, "c", "memory", 9.0)]
    read = Timeline.read(timeline.write(tmp_path / "none", tmp_path / "t.parquet", rows))

    total = read.sum_of("cpus", ("a", "b", "c"))

    assert (total.unix_s.tolist(), total.values.tolist()) == ([1, 2], [1.0, 7.0])
    assert total.within(2, 3).values.tolist() == [7.0]
    assert np.array_equal(read.sum_of("cpus", ("c",)).values, [])


def test_what_is_no_timeline_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("no")

    with pytest.raises(UsageError, match=r"^the timeline .* cannot be read: .*name the folder of another run$"):
        Timeline.read(tmp_path / "t.parquet")


GC_LOG = """\
[1700000001100ms] Using G1
[1700000001200ms] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 25M->5M(514M) 8.599ms
[1700000001300ms] GC(1) Pause Full (System.gc()) 25M->5M(514M) 100.000ms
[1700000001400ms] GC(2) Concurrent Mark Cycle 12.345ms
[1700000002777ms] Safepoint "Cleanup", Time since last: 1088528790 ns, At safepoint: 9 ns, Total:      226345 ns
[1700000003500ms] Safepoint "G1CollectForAllocation", Time since last: 1 ns, At safepoint: 9 ns, Total: 49173666 ns
[1700000003600ms] Safepoint "ParallelGCFailedAllocation", Time since last: 1 ns, At safepoint: 9 ns, Total: 2000000 ns
"""


def test_pauses_of_a_jvm_are_read_from_its_log(tmp_path: Path) -> None:
    (tmp_path / "gc.log").write_text(GC_LOG)

    assert list(jvm_pauses.read(tmp_path / "gc.log")) == [
        (1_700_000_002_777, 0.226345, "safepoint Cleanup"),
        (1_700_000_003_500, 49.173666, "GC"),
        (1_700_000_003_600, 2.0, "GC"),
    ]
    assert jvm_pauses.rows("job", tmp_path / "gc.log") == [
        (1_700_000_001, "job", "gc_collections", 2.0),
        (1_700_000_001, "job", "gc_pause_ms", pytest.approx(108.599)),
        (1_700_000_002, "job", "safepoint_ms", pytest.approx(0.226345)),
        (1_700_000_003, "job", "safepoint_ms", pytest.approx(51.173666)),
    ]
    assert list(jvm_pauses.read(tmp_path / "none")) == []


def test_a_path_that_no_option_can_name_has_no_log() -> None:
    assert log_option(Path("/runs/a/gc.log")) == "-Xlog:gc,safepoint:file=/runs/a/gc.log:tm:filecount=0"
    assert log_option(Path("/my runs/gc.log")) is None
