"""Where the output stood still: for how long, where the time went, and whether the system or the rig is to blame."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from market_spread.common.errors import RunVoidError
from market_spread.common.hdr.histogram import HdrCounts, bucket_indices
from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis.evidence import Criterion, Evidence, at_most
from market_spread.controller.analysis.latency import Boundary, find_boundaries, judged_alerts, stages_us
from market_spread.controller.analysis.observed import Observed, replays_of
from market_spread.controller.clients.probe import Silence
from market_spread.controller.plan.plan import RunPlan, path_of
from market_spread.controller.plan.workload import run_limits
from market_spread.loadgen.columns import Alerts, Bools, symbol_codes
from market_spread.loadgen.oracle.oracle import read_again

# Of a standstill, so much must lie within one of the rig's, or of a larger part's, for that to be its cause.
_EXPLAINED_SHARE_MIN = 0.5
# A job that is ended by an outage may be noticed when that is over.
_JUST_US = 1_000_000
_NEVER: Int64s = np.zeros(0, np.int64)
# Of a key that comes rarely, one order that is late tells nothing of the key.
_STALLED_ORDERS_MIN = 5
# Longer than any run, 12 days: a group's times, in one number with its own, are below those of the next group.
_RUN_US_MAX = 2**40


@dataclass(frozen=True, slots=True)
class Groups:
    """Parts of the output that may stand still alone.

    of: the number of its part, for each alert; counted: which alerts tell of it; within: of what the part is held
    against; name: what the part is called, by the place of one of its alerts; orders_min: how many of its orders must
    have waited; again_us: when alerts came again, ascending, of what was read again after a restart: nothing stands
    still meanwhile.
    """

    of: Int64s
    counted: Bools
    within: Int64s
    name: Callable[[int], str]
    orders_min: int = 1
    again_us: Int64s = field(default_factory=lambda: _NEVER)


@dataclass(frozen=True, slots=True)
class Stall(Silence):
    """A time in which orders were due and no alert of the job came, by the receiver's clock.

    at_boundary: it meets the end of a batch; stage: on which the orders that waited spent most of their time, and
    stage_share of it; part: what alone stood still, empty if all of the output did; of_rig: what of the rig stood still
    meanwhile and explains it, None if it is the system's own.
    """

    at_boundary: bool
    stage: str
    stage_share: float
    part: str
    of_rig: Silence | None


def stalls_of(plan: RunPlan, observed: Observed) -> tuple[Stall, ...]:
    """Those beyond the limit, from the begin of the measured load on: settling leaves out latencies alone."""
    if (timed := observed.timed_alerts) is None:
        return ()
    alerts = judged_alerts(timed, from_us=observed.starts_unix_ns.get("measured", 0) // 1000)
    replays = replays_of(plan, observed)
    return find_stalls(
        alerts, find_boundaries(alerts.emitted_us, observed.job.batches, batch_s=plan.workload.job.batch_s),
        parts=parts_of(plan, alerts, replays), longer_than_us=run_limits(plan.workload).stall_us, rig=observed,
        again_us=received_again_us(timed, replays if plan.workload.job.replicas == 1 else ()),
    )  # fmt: skip


def find_stalls(
    alerts: Alerts, boundaries: Sequence[Boundary], *, parts: Sequence[Groups] = (), again_us: Int64s = _NEVER,
    longer_than_us: int, rig: Observed | None = None,
) -> tuple[Stall, ...]:  # fmt: skip
    """The stalls of first alerts that are longer than the given time, in order; then those of one part alone.

    A gap between two receipts counts from the moment at which an order that came after it was due: a pause of the load
    is not a stall. Nor is a lag: where the alert before the gap and all orders that waited were late, it counts from
    when the next alert could be expected. In a part (larger ones first) a gap counts from the moment at which others
    had passed such an order by; and not if a larger one, or all, stood still for at least half of it.

    again_us: see `Groups`, of all the output; rig: what was observed of it, which tells whether a stall is its own.
    """
    if not len(alerts):
        return ()
    everything = np.zeros(len(alerts), np.int64)
    whole = Groups(everything, everything == 0, everything, lambda _: "", again_us=again_us)
    found = list(_gaps(alerts, boundaries, whole, longer_than_us, rig))
    for groups in parts:
        alone = _gaps(alerts, boundaries, groups, longer_than_us, rig)
        found += [stall for stall in alone if not any(_explains(each, stall) for each in found)]
    return tuple(found)


def parts_of(plan: RunPlan, alerts: Alerts, replays: Sequence[tuple[int, int]] = ()) -> list[Groups]:
    """What of the output may stand still alone, larger parts first: partitions of state and input, their paths, keys.

    Orders of a path come in order, so a key is held against the others of its path, and all else against everything.
    replays: when orders may have been read again, Unix microseconds. An order that was accepted before can be rejected
    then, by a newer quote, and parts catch up one after another: such orders tell of no part, or of no key and path
    where a second job goes on meanwhile.
    """
    symbols, keys, paths = alerts.symbol, symbol_codes(alerts.symbol), path_of(alerts.symbol, plan.workload)
    of_input, of_state = np.divmod(paths, plan.workload.state_partitions)
    whole = np.zeros(len(alerts), np.int64)
    once = ~read_again(alerts.intended_us, alerts.received_us, replays)
    counted = once | (plan.workload.job.replicas > 1)
    return [
        Groups(of_state, counted, whole, lambda at: f"partition {of_state[at]} of the job's state"),
        Groups(of_input, counted, whole, lambda at: f"partition {of_input[at]} of the input"),
        Groups(paths, once, whole, lambda at: f"partition {of_input[at]} of the input on {of_state[at]} of the state"),
        Groups(keys, once, paths, lambda at: f"the key {symbols[at].decode('latin-1').strip()}", _STALLED_ORDERS_MIN),
    ]


def received_again_us(alerts: Alerts, replays: Sequence[tuple[int, int]]) -> Int64s:
    """When alerts came that were not the first of their order, of what may have been read again then; ascending."""
    again = read_again(alerts.intended_us, alerts.received_us, replays)
    again[np.unique(alerts.order_id, return_index=True)[1]] = False
    return np.sort(alerts.received_us[again])


def outage_of(plan: RunPlan, observed: Observed) -> Silence | None:
    """What of the rig the job may have failed by, in the measured load or after it, None if it did not fail then.

    The machine, or a broker without planned faults, stood still until then, or for half of the time that the job had.
    """
    if observed.error is None or (begin_ns := observed.starts_unix_ns.get("measured")) is None:
        return None
    if observed.failed_step == "draining":
        begin_ns = observed.measured_until_unix_ns
    until = Silence("job", begin_ns // 1000, observed.failed_unix_ns // 1000)
    limit_us = run_limits(plan.workload).stall_us
    are_planned = any(it.fault.target == "broker" for it in observed.faults)
    found = [
        each
        for each in observed.silences
        if each.component in (("machine",) if are_planned else ("broker", "machine"))
        and each.duration_us > limit_us
        and (each.end_us >= until.end_us - _JUST_US >= each.begin_us or _explains(each, until))
    ]
    return max(found, key=lambda each: each.duration_us, default=None)


def stalled(plan: RunPlan, observed: Observed, stalls: Sequence[Stall]) -> Evidence:
    """Whether the job had the output stand still; what the rig explains is the rig's."""
    limit_ms = run_limits(plan.workload).stall_us / 1000
    own = [stall for stall in stalls if stall.of_rig is None]
    longest = max(own, key=lambda stall: stall.duration_us, default=None)
    if longest is None:
        text = f"the job had the output stand still for no longer than {limit_ms:g} ms"
        return Evidence(Criterion.STALLED, True, text, None, limit_ms, "ms")
    text = (
        f"{longest.part or 'the job'} stood still for {_when(longest, observed)}, "
        f"{'while the others went on, ' if longest.part else ''}"
        f"{'at a batch boundary' if longest.at_boundary else 'in the middle of a batch'}; {longest.stage_share:.0%} of "
        f"the time of what waited went to {longest.stage.replace('_', ' ')}; at most {limit_ms / 1000:g} s "
        "is allowed"
    )
    if len(own) > 1:
        text += f"; there were {len(own)} such times"
    return Evidence(Criterion.STALLED, False, text, longest.duration_us / 1000, limit_ms, "ms")


def rig_stalled(plan: RunPlan, observed: Observed, stalls: Sequence[Stall], outage: Silence | None) -> Evidence:
    """Whether broker, sender, receiver or machine had the output stand still for longer than the job may."""
    limit_ms = run_limits(plan.workload).stall_us / 1000
    silences = [stall.of_rig for stall in stalls if stall.of_rig]
    longest = outage or max(silences, key=lambda silence: silence.duration_us, default=None)
    if longest is None:
        found, text = None, "not evaluated: there are no samples by which it would show"
        if observed.alerts is not None:
            found, text = 0, "no part of the rig had the output stand still"
        return at_most(Criterion.RIG_STALLED, found, limit_ms, unit="ms", text=text)
    text = f"the {longest.component} stood still for {_when(longest, observed)}"
    if outage is not None and not isinstance(observed.error, RunVoidError):
        text += f", and the job failed: {observed.error_text}"
    return Evidence(Criterion.RIG_STALLED, False, text, longest.duration_us / 1000, limit_ms, "ms")


def _when(still: Silence, observed: Observed) -> str:
    at_s = still.begin_us / 1e6 - observed.starts_unix_ns["measured"] / 1e9
    return f"{still.duration_us / 1e6:.1f} s, from {at_s:.1f} s of the load on"


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
    alerts: Alerts, boundaries: Sequence[Boundary], groups: Groups, longer_than_us: int, rig: Observed | None
) -> Iterator[Stall]:
    _, group_of = np.unique(groups.of, return_inverse=True)
    order = np.lexsort((alerts.received_us, group_of))
    order = order[groups.counted[order]]
    if not len(order):
        return
    ours, of = alerts[order], group_of[order]
    intended_us, received_us = ours.intended_us, ours.received_us
    due_us = _least_from_here_on(intended_us, of)
    is_first = np.diff(of, prepend=-1) > 0  # of its part
    begin_us = np.maximum(due_us, np.where(is_first, due_us, np.roll(received_us, 1)))
    if of[-1] or not groups.counted.all():  # there are others that can have passed an order by
        begin_us = np.maximum(begin_us, _passed_us(alerts, groups.within, order, due_us))
    for place in np.flatnonzero(received_us - begin_us > longer_than_us):
        begin, end = int(begin_us[place]), int(received_us[place])
        last = int(np.searchsorted(of, of[place], side="right"))
        due = (intended_us[place:last] >= begin) & (intended_us[place:last] <= end)
        waited = ours[place + np.flatnonzero(due)] if due.any() else ours[place : place + 1]
        lag_us = int((waited.received_us - waited.intended_us).min())
        if not is_first[place]:
            lag_us = min(lag_us, int(received_us[place - 1] - intended_us[place - 1]))
        begin = max(begin, int(due_us[place]) + lag_us)
        # The longest part of it in which nothing came again.
        again_us = groups.again_us[(groups.again_us > begin) & (groups.again_us < end)]
        begin, end = max(pairwise([begin, *again_us.tolist(), end]), key=lambda part: part[1] - part[0])
        if end - begin > longer_than_us and len(waited) >= groups.orders_min:
            spent = {name: max(0.0, float(values.sum())) for name, values in stages_us(waited).items()}
            stage = max(spent, key=lambda name: spent[name])
            stage_share = spent[stage] / (sum(spent.values()) or 1.0)
            still = Silence("job", begin, end)
            at_boundary = any(_shared_us(still, boundary) > 0 for boundary in boundaries)
            blamed = _blamed(still, waited, rig, longer_than_us) if rig else None
            yield Stall("job", begin, end, at_boundary, stage, stage_share, groups.name(int(order[place])), blamed)


def _least_from_here_on(times_us: Int64s, of: Int64s) -> Int64s:
    """Of each time and those after it in its group, the earliest; groups ascend."""
    numbers = _numbered(times_us, of, base_us := int(times_us.min()))
    return np.minimum.accumulate(numbers[::-1])[::-1] - of * _RUN_US_MAX + base_us


def _passed_us(alerts: Alerts, within: Int64s, order: Int64s, due_us: Int64s) -> Int64s:
    """When the first alert came, of those of the same number, of an order that was due no earlier; for those in order.

    An alert's own part may be among them: what is due no earlier in it does not come before the gap ends.
    """
    _, of = np.unique(within, return_inverse=True)
    by_due, base_us = np.lexsort((alerts.intended_us, of)), int(alerts.intended_us.min())
    found = _numbered(alerts.intended_us[by_due], of[by_due], base_us)
    at = np.searchsorted(found, _numbered(due_us, of[order], base_us))
    return _least_from_here_on(alerts.received_us[by_due], of[by_due])[at]


def _numbered(times_us: Int64s, of: Int64s, base_us: int) -> Int64s:
    """Numbers that go up by group, and within one by time; times beyond any run from the base on are its end."""
    return np.minimum(times_us - base_us, _RUN_US_MAX - 1) + of * _RUN_US_MAX


def _blamed(stall: Silence, waited: Alerts, rig: Observed, limit_us: int) -> Silence | None:
    """What of the rig stood still and explains a stall; None if nothing does, so that it is the system's own.

    While the machine stands still, everything on it is silent; and what the broker acknowledges, the sender tells. A
    sender may answer whose load is late, and a receiver that does not get to its alerts. Both tell their waits apart
    from what the alerts say: for as long as orders waited, as many were not sent, or their alerts lay at the broker. A
    broker may acknowledge other frames while one waits; below the limit of a stall that is what catching up does to it.
    """
    priority = {"machine": 1, "broker": -1}
    explaining = [each for each in rig.silences if _explains(each, stall)]
    if explaining:
        return max(explaining, key=lambda each: (priority.get(each.component, 0), _shared_us(stall, each)))
    waits_us = waited.received_us - waited.intended_us
    long_us = round(_EXPLAINED_SHARE_MIN * stall.duration_us)
    least = max(1, _EXPLAINED_SHARE_MIN * int((waits_us >= long_us).sum()))

    def as_many(waits: bytes) -> bool:
        bucket = int(bucket_indices(np.array([long_us]))[0])
        return int(HdrCounts.of_status(waits).counts[bucket:].sum()) >= least

    was_late = (waited.sent_us - waited.intended_us).sum() >= _EXPLAINED_SHARE_MIN * waits_us.sum()
    if was_late and as_many(rig.sent.send_lag_histogram):
        return replace(stall, component="sender")
    # What waits for one of these, or lies at the broker for it, does so by plan.
    planned = {it.fault.target for it in rig.faults}
    if "broker" not in planned and rig.sent.unacknowledged_age_us_max >= max(long_us, limit_us):
        return replace(stall, component="broker")
    lay = "receiver" not in planned and as_many(rig.received.fetch_histogram)
    return replace(stall, component="receiver") if lay else None


def _explains(other: Silence, stall: Silence) -> bool:
    return _shared_us(stall, other) >= _EXPLAINED_SHARE_MIN * stall.duration_us


def _shared_us(stall: Silence, other: Silence | Boundary) -> int:
    return min(stall.end_us, other.end_us) - max(stall.begin_us, other.begin_us)
