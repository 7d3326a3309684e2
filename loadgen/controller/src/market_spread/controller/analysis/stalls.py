"""Where the output stood still: for how long, where the time went, and whether the system or the rig is to blame."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from market_spread.common.hdr.histogram import HdrCounts, bucket_indices
from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis.latency import Boundary, stages_us
from market_spread.controller.clients.watch import Silence
from market_spread.loadgen.columns import Alerts

# Of a standstill, so much must lie within one of the rig's, or of a larger part's, for that to be its cause.
_EXPLAINED_SHARE_MIN = 0.5
# A job that is ended by an outage may be noticed when that is over.
_JUST_US = 1_000_000
_NEVER: Int64s = np.zeros(0, np.int64)
# The number of what is in no part.
NO_PART = -1
# Longer than any run, 12 days: a group's times, in one number with its own, are below those of the next group.
_RUN_US_MAX = 2**40


@dataclass(frozen=True, slots=True)
class Groups:
    """Parts of the output that may stand still alone.

    of: the number of its part, for each alert, or NO_PART; within: of what the part is held against; name: what the
    part is called, by the place of one of its alerts; orders_min: how many of its orders must have waited; again_us:
    when alerts came again, ascending, of what was read again after a restart: nothing stands still meanwhile.
    """

    of: Int64s
    within: Int64s
    name: Callable[[int], str]
    orders_min: int = 1
    again_us: Int64s = field(default_factory=lambda: _NEVER)


@dataclass(frozen=True, slots=True)
class RigTimes:
    """When the rig stood still, and what it waited: its silences, how late the sender sent each message, and from the
    broker's append of each alert to its receipt.
    """

    silences: Sequence[Silence] = ()
    send_lags: HdrCounts = field(default_factory=HdrCounts)
    fetch: HdrCounts = field(default_factory=HdrCounts)


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which orders were due and no alert came. Unix microseconds, by the receiver's clock.

    at_boundary: it meets the end of a batch; stage_shares: of the time that the orders which waited took, by stage;
    part: what alone stood still, empty if all of the output did; of_rig: what of the rig stood still meanwhile and
    explains it, None if it is the system's own.
    """

    begin_us: int
    end_us: int
    at_boundary: bool
    stage_shares: Mapping[str, float]
    part: str = ""
    of_rig: Silence | None = None

    @property
    def duration_us(self) -> int:
        """How long it was."""
        return self.end_us - self.begin_us


def find_stalls(
    alerts: Alerts,
    boundaries: Sequence[Boundary],
    *,
    parts: Sequence[Groups] = (),
    again_us: Int64s = _NEVER,
    longer_than_us: int,
    rig: RigTimes = RigTimes(),
) -> tuple[Stall, ...]:
    """The stalls of first alerts that are longer than the given time, in order; then those of one part alone.

    A gap between two receipts counts from the moment at which an order that came after it was due: a pause of the load
    is not a stall. Nor is a lag: where the alert before the gap and all orders that waited were late, it counts from
    when the next alert could be expected. In a part (larger ones first) a gap counts from the moment at which others
    had passed such an order by; and not if a larger one, or all, stood still for at least half of it.

    again_us: see `Groups`, of all the output; rig: what tells whether a stall is its own.
    """
    if not len(alerts):
        return ()
    everything = np.zeros(len(alerts), np.int64)
    whole = Groups(everything, everything, lambda _: "", again_us=again_us)
    found = _gaps(alerts, boundaries, whole, longer_than_us, rig)
    for groups in parts:
        alone = _gaps(alerts, boundaries, groups, longer_than_us, rig)
        found += [stall for stall in alone if not any(_explains(each, stall) for each in found)]
    return tuple(found)


def outage_of(silences: Sequence[Silence], *, begin_us: int, failed_us: int, longer_than_us: int) -> Silence | None:
    """What of the rig a job may have failed by: broker or machine stood still until then, or for half of the time.

    begin_us: from when on the job had to do what it did not do.
    """
    until = Silence("job", begin_us, failed_us)
    found = [
        each
        for each in silences
        if each.component in ("broker", "machine")
        and each.duration_us > longer_than_us
        and (each.end_us >= failed_us - _JUST_US >= each.begin_us or _explains(each, until))
    ]
    return max(found, key=lambda each: each.duration_us, default=None)


def longest_pause_us(alerts: Alerts, boundaries: Sequence[Boundary]) -> int | None:
    """The longest time without an alert, beyond what the one before it took, that meets no end of a batch."""
    ours = alerts[np.argsort(alerts.received_us, kind="stable")]
    latency_us, received_us = ours.received_us - ours.intended_us, ours.received_us
    due_us = np.minimum.accumulate(ours.intended_us[::-1])[::-1]
    begin_us, end_us = np.maximum(received_us[:-1], due_us[1:] + latency_us[:-1]), received_us[1:]
    apart = np.ones(len(end_us), np.bool_)
    for boundary in boundaries:
        apart &= (begin_us >= boundary.end_us) | (end_us <= boundary.begin_us)
    return max(0, int((end_us - begin_us)[apart].max())) if apart.any() else None


def _gaps(
    alerts: Alerts, boundaries: Sequence[Boundary], groups: Groups, longer_than_us: int, rig: RigTimes
) -> list[Stall]:
    _, group_of = np.unique(groups.of, return_inverse=True)
    order = np.lexsort((alerts.received_us, group_of))
    order = order[groups.of[order] != NO_PART]
    if not len(order):
        return []
    ours, of = alerts[order], group_of[order]
    intended_us, received_us = ours.intended_us, ours.received_us
    due_us = _least_from_here_on(intended_us, of)
    before = np.flatnonzero(of[1:] == of[:-1])  # of those after it
    begin_us = due_us.copy()
    begin_us[before + 1] = np.maximum(due_us[before + 1], received_us[before])
    if of[-1]:
        begin_us = np.maximum(begin_us, _passed_us(alerts, groups.within, groups.within[order], due_us))
    stalls = []
    for place in np.flatnonzero(received_us - begin_us > longer_than_us):
        begin, end = int(begin_us[place]), int(received_us[place])
        last = int(np.searchsorted(of, of[place], side="right"))
        due = (intended_us[place:last] >= begin) & (intended_us[place:last] <= end)
        waited = ours[place + np.flatnonzero(due)] if due.any() else ours[place : place + 1]
        waits_us = waited.received_us - waited.intended_us
        lag_us = int(waits_us.min())
        if place and of[place - 1] == of[place]:
            lag_us = min(lag_us, int(received_us[place - 1] - intended_us[place - 1]))
        begin, end = _longest_between(groups.again_us, max(begin, int(due_us[place]) + lag_us), end)
        if end - begin <= longer_than_us or len(waited) < groups.orders_min:
            continue
        spent = {name: max(0.0, float(values.sum())) for name, values in stages_us(waited).items()}
        total = sum(spent.values()) or 1.0
        shares = {name: value / total for name, value in spent.items()}
        at_boundary = any(boundary.begin_us < end and boundary.end_us > begin for boundary in boundaries)
        stall = Stall(begin, end, at_boundary, shares, groups.name(int(order[place])))
        stalls.append(replace(stall, of_rig=_blamed(stall, waited, rig)))
    return stalls


def _longest_between(times_us: Int64s, begin_us: int, end_us: int) -> tuple[int, int]:
    """The longest part of the time in which none of these, ascending, lies."""
    within = times_us[(times_us > begin_us) & (times_us < end_us)]
    edges_us = np.concatenate(([begin_us], within, [end_us]))
    at = int(np.diff(edges_us).argmax())
    return int(edges_us[at]), int(edges_us[at + 1])


def _least_from_here_on(times_us: Int64s, of: Int64s) -> Int64s:
    """Of each time and those after it in its group, the earliest; groups ascend."""
    numbers = _numbered(times_us, of, base_us := int(times_us.min()))
    least: Int64s = np.minimum.accumulate(numbers[::-1])[::-1] - of * _RUN_US_MAX + base_us
    return least


def _passed_us(alerts: Alerts, within: Int64s, wanted_of: Int64s, due_us: Int64s) -> Int64s:
    """When the first alert came, of those of the same number, of an order that was due no earlier.

    An alert's own part may be among them: what is due no earlier in it does not come before the gap ends.
    """
    numbers, of = np.unique(within, return_inverse=True)
    by_due = np.lexsort((alerts.intended_us, of))
    earliest_us = _least_from_here_on(alerts.received_us[by_due], of[by_due])
    base_us = int(alerts.intended_us.min())
    found = _numbered(alerts.intended_us[by_due], of[by_due], base_us)
    wanted = _numbered(due_us, np.searchsorted(numbers, wanted_of), base_us)
    passed_us: Int64s = earliest_us[np.searchsorted(found, wanted)]
    return passed_us


def _numbered(times_us: Int64s, of: Int64s, base_us: int) -> Int64s:
    """Numbers that go up by group, and within one by time; times beyond any run from the base on are its end."""
    numbers: Int64s = np.minimum(times_us - base_us, _RUN_US_MAX - 1) + of * _RUN_US_MAX
    return numbers


def _blamed(stall: Stall, waited: Alerts, rig: RigTimes) -> Silence | None:
    """What of the rig stood still and explains the stall; None if nothing does, so that it is the system's own.

    While the machine stands still, everything on it is silent; and what the broker acknowledges, the sender tells. A
    sender may answer whose load is late, and a receiver that does not get to its alerts. Both tell their waits apart
    from what the alerts say: for as long as orders waited, as many were not sent, or their alerts lay at the broker.
    """
    priority = {"machine": 1, "broker": -1}
    explaining = [each for each in rig.silences if _explains(each, stall)]
    if explaining:
        return max(explaining, key=lambda each: (priority.get(each.component, 0), _shared_us(stall, each)))
    waits_us = waited.received_us - waited.intended_us
    long_us = round(_EXPLAINED_SHARE_MIN * stall.duration_us)
    least = max(1, _EXPLAINED_SHARE_MIN * int((waits_us >= long_us).sum()))

    def as_many(waits: HdrCounts) -> bool:
        return int(waits.counts[int(bucket_indices(np.array([long_us]))[0]) :].sum()) >= least

    was_late = (waited.sent_us - waited.intended_us).sum() >= _EXPLAINED_SHARE_MIN * waits_us.sum()
    if was_late and as_many(rig.send_lags):
        return Silence("sender", stall.begin_us, stall.end_us)
    return Silence("receiver", stall.begin_us, stall.end_us) if as_many(rig.fetch) else None


def _explains(other: Silence | Stall, stall: Silence | Stall) -> bool:
    return _shared_us(stall, other) >= _EXPLAINED_SHARE_MIN * stall.duration_us


def _shared_us(stall: Silence | Stall, other: Silence | Stall) -> int:
    return min(stall.end_us, other.end_us) - max(stall.begin_us, other.begin_us)
