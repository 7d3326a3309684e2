"""The driver's answers to control calls."""

from typing import cast

import grpc
import pytest

from market_spread.streaming.driver.control_service import JobService
from market_spread.streaming.driver.progress import Commit, QueryProgress
from market_spread.streaming.driver.supervisor import JobState, Supervisor
from market_spread.v1.control_pb2 import (
    CommittedBatch,
    DescribeJobRequest,
    DrainJobRequest,
    JobStatusRequest,
    PartitionOffset,
    Phase,
)
from tests.support.clock import ManualClock

COMMITS = [
    Commit(3, {("nbbo", 0): 5, ("nbbo", 1): 6}, 11, 110, 1_700_000_000_000_000_000, 5_300_000_000),
    Commit(4, {("orders", 0): 7}, 7, 70, 1_700_000_005_300_000_000, 5_200_000_000),
]


SETTINGS = {"spark": {"spark.sql.shuffle.partitions": "1"}, "jvm": {"name": "OpenJDK"}}


class FakeSupervisor:
    """Has a state, and remembers what it was asked."""

    def __init__(self) -> None:
        progress = QueryProgress()
        for commit in COMMITS:
            progress = progress.after_commit(commit)
        self.state = JobState(Phase.PHASE_RUNNING, "a detail", 2, progress.with_live(1, 9))
        self.drained: list[tuple[dict[tuple[str, int], int], float]] = []

    def drain(self, until: dict[tuple[str, int], int], timeout_s: float) -> dict[tuple[str, int], int]:
        self.drained.append((until, timeout_s))
        return {("orders", 0): 7, ("nbbo", 1): 6}


class Call:
    """A call's context."""

    def __init__(self, left_s: float | None = None) -> None:
        self._left_s = left_s

    def time_remaining(self) -> float | None:
        return self._left_s


@pytest.fixture
def supervisor() -> FakeSupervisor:
    return FakeSupervisor()


@pytest.fixture
def service(supervisor: FakeSupervisor) -> JobService:
    return JobService(cast(Supervisor, supervisor), mode="real-time", settings=SETTINGS, clock=ManualClock())


def call(left_s: float | None = None) -> grpc.ServicerContext:
    return cast(grpc.ServicerContext, Call(left_s))


def test_status_says_what_is_committed_and_what_is_live(service: JobService) -> None:
    status = service.Status(JobStatusRequest(), call())

    assert (status.phase, status.detail, status.mode) == (Phase.PHASE_RUNNING, "a detail", "real-time")
    assert (status.batch_id, status.restarts) == (4, 2)
    assert (status.messages_committed, status.messages_processed, status.records_read) == (180, 189, 19)
    assert list(status.committed) == [
        PartitionOffset(topic="nbbo", partition=0, offset=5),
        PartitionOffset(topic="nbbo", partition=1, offset=6),
        PartitionOffset(topic="orders", partition=0, offset=7),
    ]
    assert list(status.batches) == [
        CommittedBatch(
            batch_id=3, start_unix_ns=1_700_000_000_000_000_000, duration_ns=5_300_000_000, messages=110
        ),
        CommittedBatch(batch_id=4, start_unix_ns=1_700_000_005_300_000_000, duration_ns=5_200_000_000, messages=70),
    ]  # fmt: skip
    assert status.cpu_us > 0
    assert status.process_ids


def test_job_describes_the_settings_in_effect(service: JobService) -> None:
    described = service.Describe(DescribeJobRequest(), call())

    assert {"spark": dict(described.spark), "jvm": dict(described.jvm)} == SETTINGS


def test_drain_answers_with_what_is_committed(service: JobService, supervisor: FakeSupervisor) -> None:
    request = DrainJobRequest(until=[PartitionOffset(topic="orders", partition=0, offset=7)])

    answer = service.Drain(request, call(20.0))

    assert supervisor.drained[0][0] == {("orders", 0): 7}
    assert list(answer.committed) == [
        PartitionOffset(topic="nbbo", partition=1, offset=6),
        PartitionOffset(topic="orders", partition=0, offset=7),
    ]


@pytest.mark.parametrize(
    ("left_s", "timeout_s"),
    [(20.0, 19.8), (0.1, 0.0), (5_000.0, 600.0), (9.2e18, 600.0), (None, 600.0)],
    ids=["answers before the caller gives up", "no time left", "at most 10 minutes", "no deadline", "unknown"],
)
def test_drain_waits_within_the_callers_deadline(
    service: JobService, supervisor: FakeSupervisor, left_s: float | None, timeout_s: float
) -> None:
    service.Drain(DrainJobRequest(), call(left_s))

    assert supervisor.drained[0][1] == pytest.approx(timeout_s)
