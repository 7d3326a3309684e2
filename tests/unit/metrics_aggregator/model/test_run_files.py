"""The logs of runs on disk: what is appended, what a restart finds, what a full disk leaves."""

import errno
import os
from pathlib import Path

import pytest

from market_spread.common.errors import UnavailableError, UsageError
from market_spread.common.telemetry.metrics import FRAMES_LATE
from market_spread.metrics_aggregator.model.hlog import push_block
from market_spread.metrics_aggregator.model.push_validation import read_push
from market_spread.metrics_aggregator.model.run_files import OPEN_MAX, RunFiles
from market_spread.metrics_aggregator.model.series import CounterSeries
from market_spread.metrics_aggregator.model.store import Store
from market_spread.v1.metrics_pb2 import NoteRequest, PushRequest, Sample, SeriesKey
from tests.support.clock import ManualClock

SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND


def push(sequence: int, run_id: str = "r1") -> PushRequest:
    return PushRequest(
        source="sender-0",
        run_id=run_id,
        epoch_unix_ns=BEGIN,
        sequence=sequence,
        start_unix_ns=BEGIN + (sequence - 1) * SECOND,
        end_unix_ns=BEGIN + sequence * SECOND,
        counters=[Sample(key=SeriesKey(name=FRAMES_LATE.name), value=10 * sequence)],
    )


def block(sequence: int, run_id: str) -> bytes:
    request = push(sequence, run_id)
    return push_block(request, read_push(request))


def store_on(folder: Path, *, after: Store | None = None) -> Store:
    """The store of a process, which begins when that of another one has ended."""
    if after is not None:
        assert isinstance(after._log, RunFiles)
        after._log.close()
    return Store(clock=ManualClock(BEGIN), log=RunFiles(folder))


def value_of(store: Store) -> float:
    ((_, series),) = store.series()
    assert isinstance(series, CounterSeries)
    return series.value


def log_of(folder: Path, run_id: str = "r1") -> Path:
    return folder / run_id / "metrics.hlog"


def test_a_restart_finds_what_was_acknowledged_and_merges_nothing_twice(tmp_path: Path) -> None:
    first = store_on(tmp_path)
    for sequence in (1, 2, 4):
        first.push(push(sequence))
    first.note(NoteRequest(run_id="r1", unix_ns=BEGIN + 5, kind="phase", name="measuring"))

    second = store_on(tmp_path, after=first)
    run = second.restore("r1")

    second.push(push(4))
    assert (value_of(second), run.said("phase")) == (40, "measuring")
    epoch = run.epochs["sender-0", BEGIN]
    assert (epoch.sequence, epoch.pushes, epoch.missing, epoch.duplicates) == (4, 3, 1, 1)
    ((_, before),), ((_, after),) = first.series(), second.series()
    assert list(after.history) == list(before.history)


def test_a_run_that_is_pushed_for_again_is_read_back_first(tmp_path: Path) -> None:
    first = store_on(tmp_path)
    first.push(push(1))
    other = store_on(tmp_path, after=first)

    other.push(push(2))

    assert value_of(other) == 20
    assert [point.value for _, series in other.series() for point in series.history] == [10, 10]  # type: ignore[union-attr]


def test_a_torn_tail_is_left_out_and_cut_off(tmp_path: Path) -> None:
    first = store_on(tmp_path)
    first.push(push(1))
    whole = log_of(tmp_path).read_bytes()
    first.push(push(2))
    log_of(tmp_path).write_bytes(log_of(tmp_path).read_bytes()[:-7])

    second = store_on(tmp_path, after=first)
    assert second.restore("r1").epochs["sender-0", BEGIN].sequence == 1
    second.push(push(2))

    text = log_of(tmp_path).read_bytes()
    assert text.startswith(whole)
    assert text.count(b"\n#end ") == text.count(b"\n#push ") == 2
    assert value_of(store_on_restored(tmp_path)) == 20


def store_on_restored(folder: Path) -> Store:
    store = store_on(folder)
    store.restore("r1")
    return store


def test_a_file_that_is_torn_from_the_beginning_begins_anew(tmp_path: Path) -> None:
    log_of(tmp_path).parent.mkdir()
    log_of(tmp_path).write_bytes(b"#[Histogram log form")

    store_on(tmp_path).push(push(1))

    assert log_of(tmp_path).read_bytes().startswith(b"#[Histogram log format version 1.2]\n")
    assert value_of(store_on_restored(tmp_path)) == 10


def test_a_full_disk_refuses_the_push_whole_and_takes_it_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_on(tmp_path)
    store.push(push(1))
    before = log_of(tmp_path).read_bytes()
    written = os.write

    def full(descriptor: int, block: memoryview) -> int:
        written(descriptor, block[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UnavailableError, match=r"metrics.hlog cannot be written: No space left on device; the push is"):
        store.push(push(2))
    monkeypatch.undo()

    assert log_of(tmp_path).read_bytes() == before
    assert (store.unwritten, store.refused, value_of(store)) == (1, 0, 10)
    store.push(push(2))
    assert value_of(store_on_restored(tmp_path)) == value_of(store) == 20


def test_a_second_aggregator_cannot_write_the_same_run(tmp_path: Path) -> None:
    first = store_on(tmp_path)
    first.push(push(1))

    with pytest.raises(UnavailableError, match="another metrics-aggregator writes it"):
        store_on(tmp_path).push(push(2))


def test_few_files_are_open_however_many_runs_there_are(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    runs = [f"r{number}" for number in range(OPEN_MAX + 5)]
    before = len(os.listdir("/proc/self/fd"))

    for sequence in (1, 2):
        for run_id in runs:
            files.append(run_id, block(sequence, run_id), BEGIN)

    assert len(os.listdir("/proc/self/fd")) - before <= OPEN_MAX
    files.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert [len(list(files.entries(run_id))) for run_id in runs] == [2] * len(runs)


def test_runs_that_changed_lately_are_found(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    for run_id in ("r1", "r2"):
        files.append(run_id, block(1, run_id), BEGIN)
    os.utime(log_of(tmp_path, "r1"), ns=(5 * SECOND, 5 * SECOND))
    (tmp_path / "r3").mkdir()
    (tmp_path / ".hidden").mkdir()

    assert files.changed_since(6 * SECOND) == ["r2"]
    assert RunFiles(tmp_path / "none").changed_since(0) == []


def test_what_is_pushed_outside_a_run_is_not_written(tmp_path: Path) -> None:
    store_on(tmp_path).push(push(1, run_id=""))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("run_id", ["..", "../r1", "a/b", ".hidden", "-x", "a\0b", "a b", "é"])
def test_a_run_id_that_is_no_name_of_a_folder_is_refused(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"use letters, digits, '\.', '_' and '-'"):
        store_on(tmp_path / "runs").push(push(1, run_id=run_id))

    assert list(tmp_path.iterdir()) == []
