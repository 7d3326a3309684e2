"""Statuses of several processes as those of one: senders with a slice each, replicas of a job, drivers one by one."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

from market_spread.common.grpc.calls import partition_offsets
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.job_contract import BATCHES_MAX
from market_spread.v1.control_pb2 import JobStatusResponse, PartitionSent, Phase, SenderStatusResponse

_SUMS = (
    *("messages_due", "messages_sent", "quotes_sent", "orders_sent", "frames_sent", "frames_late", "frames_failed"),
    *("messages_failed", "unacknowledged_bytes", "cpu_us"),
)
_PARTITION_SUMS = ("messages", "payload_bytes", "frames", "frames_acknowledged")
_OF_A_DRIVER = ("messages_committed", "messages_processed", "records_read", "restarts")


def merged_senders(statuses: Sequence[SenderStatusResponse]) -> SenderStatusResponse:
    """The senders as one: it has sent what all have sent, and failed if one has; finished it has when all have."""
    if len(statuses) == 1:
        return statuses[0]
    order = {Phase.PHASE_FAILED: 0, Phase.PHASE_FINISHED: 2}
    merged = deepcopy(min(statuses, key=lambda status: order.get(status.phase, 1)))
    for name in _SUMS:
        setattr(merged, name, sum(getattr(status, name) for status in statuses))
    for name in ("frame_delay_ns_max", "unacknowledged_age_us_max"):
        setattr(merged, name, max(getattr(status, name) for status in statuses))
    for name in ("frame_delay_histogram", "send_lag_histogram", "acknowledge_histogram"):
        counts = HdrCounts()
        for status in statuses:
            counts.merge(HdrCounts.of_status(getattr(status, name)))
        setattr(merged, name, counts.encode())
    merged.clock_deviation_us_max = max((status.clock_deviation_us_max for status in statuses), key=abs)
    partitions: dict[tuple[str, int], PartitionSent] = {}
    for sent in (sent for status in statuses for sent in status.partitions):
        key = (sent.topic, sent.partition)
        together = partitions.setdefault(key, PartitionSent(topic=sent.topic, partition=sent.partition))
        for name in _PARTITION_SUMS:
            setattr(together, name, getattr(together, name) + getattr(sent, name))
        together.next_offset = max(together.next_offset, sent.next_offset)
    del merged.partitions[:]
    merged.partitions.extend(partitions[key] for key in sorted(partitions))
    return merged


def merged_replicas(statuses: Sequence[JobStatusResponse], *, silent: int = 0) -> JobStatusResponse:
    """Replicas that read the same topics as one job: done is what all have done, used what they have used together.

    But messages are committed by the job as soon as one replica has committed them, since one alert of each order is
    enough; a drain waits for the first replica only.

    Its phase is RUNNING if all run, else that of the first that does not. silent: how many do not answer, of which
    nothing is known but that they may not run; one at least does.
    """
    if not silent and len(statuses) < 2:
        (only,) = statuses
        return only
    first = next((status for status in statuses if status.phase != Phase.PHASE_RUNNING), statuses[0])
    is_unknown = silent > 0 and first.phase == Phase.PHASE_RUNNING
    ends = [{(it.topic, it.partition): it.offset for it in status.committed} for status in statuses]
    committed_by_all = {key: min(it[key] for it in ends) for key in set.intersection(*map(set, ends))}
    return JobStatusResponse(
        phase=Phase.PHASE_STARTING if is_unknown else first.phase,
        detail=f"{silent} of {silent + len(statuses)} replicas do not answer" if is_unknown else first.detail,
        mode=first.mode, batch_id=min(status.batch_id for status in statuses),
        committed=partition_offsets(committed_by_all),
        messages_committed=max(status.messages_committed for status in statuses),
        records_read=min(status.records_read for status in statuses),
        messages_processed=min(status.messages_processed for status in statuses),
        restarts=sum(status.restarts for status in statuses), cpu_us=sum(status.cpu_us for status in statuses),
        counted_unix_ns=min(status.counted_unix_ns for status in statuses),
        counted_cpu_us=sum(status.counted_cpu_us for status in statuses),
        process_ids=[pid for status in statuses for pid in status.process_ids],
        batches=sorted((batch for status in statuses for batch in status.batches), key=lambda it: it.start_unix_ns),
    )  # fmt: skip


@dataclass(slots=True)
class JobHistory:
    """Takes the statuses of a job in order. A driver counts from its start, and goes on from its checkpoint."""

    _before: JobStatusResponse | None = None
    newest: JobStatusResponse | None = None

    def continued(self, status: JobStatusResponse) -> JobStatusResponse:
        """The status with what earlier drivers have committed.

        A driver is another one if it has another process id, which in a pod it has not, or has used less CPU.
        """
        newest = self.newest
        if newest is not None and (status.cpu_us < newest.cpu_us or status.process_ids[:1] != newest.process_ids[:1]):
            newest.messages_processed = newest.messages_committed  # the rest is done again
            self._before = newest
        self.newest, before = status, self._before
        if before is None:
            return status
        self.newest = together = deepcopy(status)
        for name in _OF_A_DRIVER:
            setattr(together, name, getattr(before, name) + getattr(status, name))
        if not status.committed:
            together.committed.extend(before.committed)
            together.batch_id = before.batch_id
        newer = {batch.batch_id for batch in status.batches}
        batches = [batch for batch in before.batches if batch.batch_id not in newer] + list(status.batches)
        del together.batches[:]
        together.batches.extend(batches[-BATCHES_MAX:])
        return together


# The likelier it is that a driver of two has the checkpoint, the higher; any other phase is 2.
_ACTS = {Phase.PHASE_IDLE: 0, Phase.PHASE_FAILED: 1, Phase.PHASE_RUNNING: 3}


def with_standby(statuses: Sequence[JobStatusResponse], history: JobHistory, silent: int) -> JobStatusResponse | None:
    """A driver and its standby as one job: done is what the acting one has done, used what they have used together.

    Its phase is RUNNING when the acting one runs and the standby is warm. None if only a standby answers. silent: how
    many do not answer.
    """
    acting = max(statuses, key=lambda status: _ACTS.get(status.phase, 2), default=None)
    if acting is None or acting.phase == Phase.PHASE_IDLE:
        return None
    together = deepcopy(history.continued(acting))
    standby = [status for status in statuses if status is not acting]
    for status in standby:
        together.cpu_us += status.cpu_us
        together.counted_cpu_us += status.cpu_us
        together.process_ids.extend(status.process_ids)
    awaited = [status.detail for status in standby if status.detail] + ["starting"] * silent
    if acting.phase == Phase.PHASE_RUNNING and awaited:
        together.phase, together.detail = Phase.PHASE_STARTING, f"the standby is not warm yet: {awaited[0]}"
    return together
