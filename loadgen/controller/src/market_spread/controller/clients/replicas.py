"""Replicas of the job: several that read the same topics, seen as one."""

from collections.abc import Sequence

from market_spread.v1.control_pb2 import JobStatusResponse, PartitionOffset, Phase


def merged(statuses: Sequence[JobStatusResponse], *, silent: int = 0) -> JobStatusResponse:
    """The replicas as one job: done is what all of them have done, and used what they have used together.

    But messages are committed by the job as soon as one replica has committed them, since one alert of each order is
    enough; a drain waits for the first replica only.

    Its phase is RUNNING if all run, else that of the first that does not. silent: how many do not answer, of which
    nothing is known but that they may not run. Raises ValueError if none answers.
    """
    if not silent and len(statuses) < 2:
        (only,) = statuses
        return only
    if not statuses:
        raise ValueError("no replica answers")
    first = next((status for status in statuses if status.phase != Phase.PHASE_RUNNING), statuses[0])
    is_unknown = silent > 0 and first.phase == Phase.PHASE_RUNNING
    return JobStatusResponse(
        phase=Phase.PHASE_STARTING if is_unknown else first.phase,
        detail=f"{silent} of {silent + len(statuses)} replicas do not answer" if is_unknown else first.detail,
        mode=first.mode,
        batch_id=min(status.batch_id for status in statuses),
        committed=_committed_by_all(statuses),
        messages_committed=max(status.messages_committed for status in statuses),
        records_read=min(status.records_read for status in statuses),
        messages_processed=min(status.messages_processed for status in statuses),
        restarts=sum(status.restarts for status in statuses),
        cpu_us=sum(status.cpu_us for status in statuses),
        counted_unix_ns=min(status.counted_unix_ns for status in statuses),
        counted_cpu_us=sum(status.counted_cpu_us for status in statuses),
        process_ids=[pid for status in statuses for pid in status.process_ids],
        batches=sorted((batch for status in statuses for batch in status.batches), key=lambda it: it.start_unix_ns),
    )


def _committed_by_all(statuses: Sequence[JobStatusResponse]) -> list[PartitionOffset]:
    found = [{(it.topic, it.partition): it.offset for it in status.committed} for status in statuses]
    common = set.intersection(*(set(offsets) for offsets in found))
    return [
        PartitionOffset(topic=topic, partition=partition, offset=min(it[topic, partition] for it in found))
        for topic, partition in sorted(common)
    ]
