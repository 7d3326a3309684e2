"""A job whose driver is another process now, seen as one: what the drivers before have done counts too."""

from dataclasses import dataclass

from market_spread.common.job_contract import BATCHES_MAX
from market_spread.v1.control_pb2 import JobStatusResponse

_COUNTS = ("messages_committed", "messages_processed", "records_read", "restarts")


@dataclass(slots=True)
class JobHistory:
    """Takes the statuses of a job in order. A driver counts from its start, and goes on from its checkpoint."""

    _before: JobStatusResponse | None = None
    newest: JobStatusResponse | None = None

    def continued(self, status: JobStatusResponse) -> JobStatusResponse:
        """The status with what earlier drivers have committed. A driver is another one if it has used less CPU."""
        if self.newest is not None and status.cpu_us < self.newest.cpu_us:
            self._before = self.newest
            self._before.messages_processed = self._before.messages_committed  # the rest is done again
        self.newest = _together(self._before, status) if self._before is not None else status
        return self.newest


def _together(before: JobStatusResponse, status: JobStatusResponse) -> JobStatusResponse:
    together = JobStatusResponse()
    together.CopyFrom(status)
    for name in _COUNTS:
        setattr(together, name, getattr(before, name) + getattr(status, name))
    if not status.committed:
        together.committed.extend(before.committed)
        together.batch_id = before.batch_id
    newer = {batch.batch_id for batch in status.batches}
    batches = [batch for batch in before.batches if batch.batch_id not in newer] + list(status.batches)
    del together.batches[:]
    together.batches.extend(batches[-BATCHES_MAX:])
    return together
