"""Where the output stood still: for how long, where the time went, and whether the system or the rig is to blame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis.latency import Boundary, stages_us
from market_spread.controller.clients.watch import Silence
from market_spread.loadgen.columns import Alerts

# Of a standstill, so much must lie within one of the rig's, or of the whole output, for that to be its cause.
_EXPLAINED_SHARE_MIN = 0.5


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which orders were due and no alert came. Unix microseconds, by the receiver's clock.

    at_boundary: it meets the end of a batch; stage_shares: of the time that the orders which waited took, by stage;
    partition: that of the state which alone stood still, None if all of the output did.
    """

    begin_us: int
    end_us: int
    at_boundary: bool
    stage_shares: Mapping[str, float]
    partition: int | None = None

    @property
    def duration_us(self) -> int:
        """How long it was."""
        return self.end_us - self.begin_us


def find_stalls(
    alerts: Alerts, boundaries: Sequence[Boundary], *, partitions: Int64s | None = None, longer_than_us: int
) -> tuple[Stall, ...]:
    """The stalls of first alerts that are longer than the given time, in order; then those of one partition alone.

    A gap between two receipts counts from the moment at which an order that came after it was due: a pause of the load
    is not a stall. partitions: of the state, that of each alert. In one of them a gap counts from the moment at which
    the others had passed such an order by, so that a lag that all have is none; and not if all stood still for at
    least half of it.
    """
    if not len(alerts):
        return ()
    whole = _gaps(alerts, boundaries, longer_than_us, passed_by=None, partition=None)
    if partitions is None:
        return whole
    alone: list[Stall] = []
    for number in np.unique(partitions):
        own = partitions == number
        if not own.all():
            alone += _gaps(alerts[own], boundaries, longer_than_us, passed_by=alerts[~own], partition=int(number))
    return (*whole, *(stall for stall in alone if not any(_explains(each, stall) for each in whole)))


def _gaps(
    alerts: Alerts,
    boundaries: Sequence[Boundary],
    longer_than_us: int,
    *,
    passed_by: Alerts | None,
    partition: int | None,
) -> tuple[Stall, ...]:
    by_receipt = alerts[np.argsort(alerts.received_us, kind="stable")]
    received_us, intended_us = by_receipt.received_us, by_receipt.intended_us
    due_us = np.minimum.accumulate(intended_us[::-1])[::-1]  # of those that come now or later
    before_us = np.concatenate([due_us[:1], received_us[:-1]])
    begin_us = np.maximum(before_us, due_us)
    if passed_by is not None:
        begin_us = np.maximum(begin_us, _passed_us(passed_by, due_us))
    stalls = []
    for place in np.flatnonzero(received_us - begin_us > longer_than_us):
        begin, end = int(begin_us[place]), int(received_us[place])
        waited = alerts[(alerts.intended_us <= end) & (alerts.received_us >= end) & (alerts.intended_us >= begin)]
        if not len(waited):
            waited = by_receipt[place : place + 1]
        spent = {name: max(0.0, float(values.sum())) for name, values in stages_us(waited).items()}
        total = sum(spent.values()) or 1.0
        at_boundary = any(boundary.begin_us < end and boundary.end_us > begin for boundary in boundaries)
        shares = {name: value / total for name, value in spent.items()}
        stalls.append(Stall(begin, end, at_boundary, shares, partition))
    return tuple(stalls)


def _passed_us(others: Alerts, due_us: Int64s) -> Int64s:
    """When the first alert came, among others, of an order that was due no earlier; never where there is none."""
    by_due = others[np.argsort(others.intended_us, kind="stable")]
    earliest_us = np.append(np.minimum.accumulate(by_due.received_us[::-1])[::-1], np.iinfo(np.int64).max)
    passed_us: Int64s = earliest_us[np.searchsorted(by_due.intended_us, due_us)]
    return passed_us


def blamed(stall: Stall, silences: Sequence[Silence]) -> Silence | None:
    """The silence of the rig that explains the stall; None if none does, so that it is the system's own.

    While the machine stands still, everything on it is silent; and what the broker acknowledges, the sender tells.
    """
    priority = {"machine": 1, "broker": -1}
    explaining = [each for each in silences if _explains(each, stall)]
    return max(explaining, key=lambda each: (priority.get(each.component, 0), _shared_us(stall, each)), default=None)


def _explains(other: Silence | Stall, stall: Stall) -> bool:
    return _shared_us(stall, other) >= _EXPLAINED_SHARE_MIN * stall.duration_us


def _shared_us(stall: Stall, other: Silence | Stall) -> int:
    return min(stall.end_us, other.end_us) - max(stall.begin_us, other.begin_us)
