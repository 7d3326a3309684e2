"""Where the output stood still: for how long, where the time went, and whether the system or the rig is to blame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from market_spread.loadgen.columns import Alerts
from market_spread.runs.analysis.latency import Boundary, stages_us

# Of a standstill of the output, so much must lie within one of the rig's for the rig to be its cause.
_BLAME_SHARE_MIN = 0.5


@dataclass(frozen=True, slots=True)
class Silence:
    """A time in which a part of the rig gave no sign of life, as the run controller saw it. Unix microseconds."""

    component: str
    begin_us: int
    end_us: int

    @property
    def duration_us(self) -> int:
        """How long it was."""
        return self.end_us - self.begin_us


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which orders were due and no alert came. Unix microseconds, by the receiver's clock.

    at_boundary: it meets the end of a batch; stage_shares: of the time that the orders which waited took, by stage.
    """

    begin_us: int
    end_us: int
    at_boundary: bool
    stage_shares: Mapping[str, float]

    @property
    def duration_us(self) -> int:
        """How long it was."""
        return self.end_us - self.begin_us


def find_stalls(alerts: Alerts, boundaries: Sequence[Boundary], *, longer_than_us: int) -> tuple[Stall, ...]:
    """The stalls of first alerts that are longer than the given time, in order.

    A gap between two receipts counts from the moment at which an order that came after it was due: a pause of the load
    is not a stall.
    """
    if not len(alerts):
        return ()
    by_receipt = alerts[np.argsort(alerts.received_us, kind="stable")]
    received_us, intended_us = by_receipt.received_us, by_receipt.intended_us
    due_us = np.minimum.accumulate(intended_us[::-1])[::-1]  # of those that come now or later
    before_us = np.concatenate([due_us[:1], received_us[:-1]])
    begin_us = np.maximum(before_us, due_us)
    stalls = []
    for place in np.flatnonzero(received_us - begin_us > longer_than_us):
        begin, end = int(begin_us[place]), int(received_us[place])
        waited = alerts[(alerts.intended_us <= end) & (alerts.received_us >= end) & (alerts.intended_us >= begin)]
        if not len(waited):
            waited = by_receipt[place : place + 1]
        spent = {name: max(0.0, float(values.sum())) for name, values in stages_us(waited).items()}
        total = sum(spent.values()) or 1.0
        at_boundary = any(boundary.begin_us < end and boundary.end_us > begin for boundary in boundaries)
        stalls.append(Stall(begin, end, at_boundary, {name: value / total for name, value in spent.items()}))
    return tuple(stalls)


def blamed(stall: Stall, silences: Sequence[Silence]) -> Silence | None:
    """The silence of the rig that explains the stall; None if none does, so that it is the system's own.

    While the machine stands still, everything on it is silent; and what the broker acknowledges, the sender tells.
    """
    priority = {"machine": 1, "broker": -1}

    def shared_us(silence: Silence) -> int:
        return min(stall.end_us, silence.end_us) - max(stall.begin_us, silence.begin_us)

    explaining = [each for each in silences if shared_us(each) >= _BLAME_SHARE_MIN * stall.duration_us]
    return max(explaining, key=lambda each: (priority.get(each.component, 0), shared_us(each)), default=None)
