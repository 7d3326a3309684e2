"""Replicas of the job, seen as one."""

import pytest

from market_spread.controller.clients.together import merged_replicas
from market_spread.v1.control_pb2 import CommittedBatch, JobStatusResponse, PartitionOffset, Phase


def replica(**changes: object) -> JobStatusResponse:
    values: dict[str, object] = {
        "phase": Phase.PHASE_RUNNING,
        "mode": "real-time",
        "batch_id": 4,
        "committed": [PartitionOffset(topic="nbbo", partition=0, offset=10)],
        "messages_committed": 100,
        "records_read": 7,
        "messages_processed": 120,
        "restarts": 1,
        "cpu_us": 1_000,
        "process_ids": [11],
    }
    return JobStatusResponse(**{**values, **changes})  # type: ignore[arg-type]


def test_one_replica_is_itself() -> None:
    assert merged_replicas([replica()]) == replica()


def test_done_is_what_all_have_done_and_used_what_they_used_together() -> None:
    behind = replica(batch_id=3, messages_committed=90, records_read=9, messages_processed=110, process_ids=[12, 13])

    both = merged_replicas([replica(), behind])

    assert (both.batch_id, both.records_read, both.messages_processed) == (3, 7, 110)
    assert (both.restarts, both.cpu_us, list(both.process_ids)) == (2, 2_000, [11, 12, 13])


def test_messages_are_committed_once_one_replica_has_committed_them() -> None:
    behind = replica(messages_committed=90)

    assert merged_replicas([replica(), behind]).messages_committed == 100
    assert merged_replicas([behind, replica()]).messages_committed == 100


def test_committed_is_what_every_replica_has_committed() -> None:
    offsets = [PartitionOffset(topic="nbbo", partition=0, offset=12), PartitionOffset(topic="orders", offset=5)]

    both = merged_replicas([replica(), replica(committed=offsets)])

    assert list(both.committed) == [PartitionOffset(topic="nbbo", partition=0, offset=10)]


def test_phase_is_that_of_the_first_that_does_not_run() -> None:
    waiting = replica(phase=Phase.PHASE_STARTING, detail="waiting 3.0 s for its turn")

    assert merged_replicas([replica(), replica()]).phase == Phase.PHASE_RUNNING
    both = merged_replicas([replica(), waiting])
    assert (both.phase, both.detail) == (Phase.PHASE_STARTING, "waiting 3.0 s for its turn")


def test_batches_come_in_the_order_of_their_starts() -> None:
    first = replica(batches=[CommittedBatch(batch_id=0, start_unix_ns=5), CommittedBatch(batch_id=1, start_unix_ns=35)])
    second = replica(batches=[CommittedBatch(batch_id=0, start_unix_ns=20)])

    assert [batch.start_unix_ns for batch in merged_replicas([first, second]).batches] == [5, 20, 35]


def test_replica_that_does_not_answer_may_not_run() -> None:
    status = merged_replicas([replica()], silent=1)

    assert (status.phase, status.detail) == (Phase.PHASE_STARTING, "1 of 2 replicas do not answer")
    assert (status.messages_processed, status.cpu_us) == (120, 1_000)


def test_no_replica_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="unpack"):
        merged_replicas([])


def test_the_moment_of_a_count_is_that_of_the_oldest_and_its_cpu_is_that_of_all() -> None:
    both = merged_replicas(
        [replica(counted_unix_ns=9, counted_cpu_us=600), replica(counted_unix_ns=7, counted_cpu_us=500)]
    )

    assert (both.counted_unix_ns, both.counted_cpu_us) == (7, 1_100)
