"""What a driver and its standby share, and what a standby keeps to itself."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from market_spread.common.errors import RunFailedError
from market_spread.common.telemetry.recorder import Recorder
from market_spread.streaming.applications.registry import find
from market_spread.streaming.driver.__main__ import _record, rehearsal_config
from market_spread.streaming.driver.checkpoint import CheckpointLock
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.driver.supervisor import JobState
from market_spread.v1.control_pb2 import Phase
from tests.support.clock import ManualClock


class Jvm:
    """Its channel gives the lock when it was asked for it so often; None: the JVM has ended."""

    def __init__(self, free_after: int | None) -> None:
        self._free_after = free_after
        self.opened: list[str] = []
        self.asked = 0
        channel = SimpleNamespace(tryLock=self._try_lock)
        file = SimpleNamespace(getChannel=lambda: channel)
        self.java = SimpleNamespace(io=SimpleNamespace(RandomAccessFile=lambda path, mode: self._open(path, file)))

    @property
    def session(self) -> SparkSession:
        return cast(SparkSession, SimpleNamespace(sparkContext=SimpleNamespace(_jvm=self)))

    def _open(self, path: str, file: Any) -> Any:
        self.opened.append(path)
        return file

    def _try_lock(self) -> object | None:
        self.asked += 1
        if self._free_after is None:
            raise Py4JNetworkError("no answer")
        return object() if self.asked > self._free_after else None


def test_the_lock_is_asked_for_until_it_is_ours_and_then_kept(tmp_path: Path) -> None:
    jvm = Jvm(free_after=2)
    lock = CheckpointLock(jvm.session, tmp_path / "new" / "checkpoint")

    assert [lock.acquire() for _ in range(5)] == [False, False, True, True, True]
    assert (jvm.opened, jvm.asked) == ([str(tmp_path / "new" / "checkpoint" / "lock")], 3)
    assert (tmp_path / "new" / "checkpoint").is_dir()


def test_a_standby_whose_jvm_has_ended_says_so(tmp_path: Path) -> None:
    lock = CheckpointLock(Jvm(free_after=None).session, tmp_path)

    with pytest.raises(RunFailedError, match="the job's JVM ended: no answer"):
        lock.acquire()


def test_a_rehearsal_reads_the_same_and_writes_elsewhere(tmp_path: Path) -> None:
    config = JobConfig(
        bootstrap_servers="broker:9092", checkpoint="/checkpoint", topics="orders=orders-7,alerts=alerts-7"
    )

    elsewhere = rehearsal_config(config, find("market_spread"), tmp_path)

    assert elsewhere.topic_names(("nbbo", "orders", "alerts", "invalid")) == {
        "nbbo": "nbbo", "orders": "orders-7", "alerts": "market-spread-rehearsal", "invalid": "market-spread-rehearsal",
    }  # fmt: skip
    assert elsewhere.checkpoint == str(tmp_path / "rehearsal")


def test_a_standby_tells_nothing_of_a_checkpoint_that_is_not_its_own() -> None:
    def told(phase: "Phase.ValueType") -> int:
        recorder = Recorder(source="job_1", clock=ManualClock(), run_id="")
        _record(recorder, 5.0, JobState(phase=phase), lambda ends: None)
        return sum(len(push.counters) + len(push.gauges) for push in recorder.take())

    assert told(Phase.PHASE_IDLE) == 0
    assert told(Phase.PHASE_RUNNING) == 6
