"""Whether stamps can be true, sent <= read <= emitted <= received, and whether the clocks that they are of agree.

The rig stamps what is sent and received, the job what is read and emitted. How far clocks are apart, round trips of
status calls tell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.controller.analysis.evidence import Criterion, Evidence
from market_spread.controller.analysis.latency import stages_us
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.clients.services import RoundTrip
from market_spread.controller.plan.objectives import FALSE_STAMPS_SHARE_MAX
from market_spread.loadgen.columns import Alerts, Bools

# Of fewer alerts the share is less than one, so that a single one would decide, which the slewing of a clock makes.
_ALERTS_MIN = 1_000
_FEW = 5


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """How far another clock is ahead, and how wrong that can be at most, microseconds."""

    offset_us: float
    bound_us: float


def clock_bounds(round_trips: Mapping[str, Mapping[str, RoundTrip]]) -> dict[str, ClockOffset]:
    """For each process how far its clock was ahead of the run controller's throughout the run.

    Cristian, Probabilistic clock synchronization, Distributed Computing 3 (1989). The bound holds for any asymmetry of
    the two ways. A clock that answers 0 does not tell.

    `round_trips` has the best of each process in each phase (before, during, after). The offset lies within the hull of
    what the phases allow, so a clock that drifted or was moved between two of them has a bound that says so.
    """
    found: dict[str, list[ClockOffset]] = {}
    for process, trip in chain.from_iterable(of_phase.items() for of_phase in round_trips.values()):
        if trip.told_unix_ns > 0 and trip.bound_ns >= 0:
            found.setdefault(process, []).append(ClockOffset(trip.offset_ns / 1000, trip.bound_ns / 1000))
    return {process: _hull(offsets) for process, offsets in found.items()}


def clocks_apart(bounds: Mapping[str, ClockOffset], one: str = "receiver", other: str = "sender") -> ClockOffset | None:
    """How far one kind of process is ahead of another, the hull over all pairs (several senders); None if not known."""
    pairs = [
        ClockOffset(ours.offset_us - theirs.offset_us, ours.bound_us + theirs.bound_us)
        for (name, ours), (their_name, theirs) in product(bounds.items(), repeat=2)
        if name.partition("-")[0] == one and their_name.partition("-")[0] == other
    ]
    return _hull(pairs) if pairs else None


def _ahead_of_sender(trips: Mapping[str, Mapping[str, RoundTrip]], one: str, limit_us: float) -> ClockOffset | None:
    """How far it is ahead of a sender: by the phase and sender that tell of most, if above the limit for certain."""
    # The hull may allow less: of a clock that was moved, or of one of several that is not as the others.
    throughout = clock_bounds(trips)  # also of what was not asked in a phase
    phases = (throughout | clock_bounds({phase: of_phase}) for phase, of_phase in trips.items())
    pairs = (clocks_apart(dict(pair), one) for bounds in phases for pair in combinations(bounds.items(), 2))
    known = filter(None, [clocks_apart(throughout, one), *pairs])
    return max(known, key=lambda each: max(limit_us, abs(each.offset_us) - each.bound_us), default=None)


def _hull(offsets: Sequence[ClockOffset]) -> ClockOffset:
    """What allows all that any of them allows."""
    low = min(each.offset_us - each.bound_us for each in offsets)
    high = max(each.offset_us + each.bound_us for each in offsets)
    return ClockOffset((low + high) / 2, (high - low) / 2)


def clock_offset(observed: Observed, limit_ms: float, hosts: int) -> Evidence:
    """Whether the receiver's clock is the sender's, as far as round trips before, during and after the load tell."""
    apart = _ahead_of_sender(observed.round_trips, "receiver", limit_ms * 1000)
    if apart is None:
        text = "not evaluated: no round trip tells the clocks of sender and receiver apart"
        return Evidence(Criterion.CLOCK_OFFSET, None, text, None, limit_ms, "ms")
    text, holds = _ahead("receiver", apart), None
    if abs(apart.offset_us) - apart.bound_us > limit_ms * 1000:
        text += f"; latencies are wrong by as much, and at most {limit_ms:g} ms may be: {_why(hosts)}"
        holds = False
    elif abs(apart.offset_us) + apart.bound_us <= limit_ms * 1000:
        holds = True
    else:
        text = f"not evaluated: {text}, so it cannot be told whether it is within {limit_ms:g} ms"
    return Evidence(Criterion.CLOCK_OFFSET, holds, text, apart.offset_us / 1000, limit_ms, "ms")


def stamps(observed: Observed, alerts: Alerts, limit_ms: float, hosts: int) -> tuple[Evidence, Evidence]:
    """On the job's own stamps, and on what else has a stage end before it begins: clocks, or the rig's stamps.

    A stamp that is false by more than the clocks can be apart, by round trips and steps, is the job's doing. Where they
    are not known, as those of executors are not, it is nobody's. limit_ms: how far the job's clock may be from the
    sender's; hosts: on how many the run is, 0 if nobody knows.
    """
    bounds = clock_bounds(observed.round_trips)
    of_job, to_receiver = clocks_apart(bounds, "job"), clocks_apart(bounds, "receiver", "job")
    has_executors = any(look.executors_cpu_us != 0 for look in observed.looks)
    stages = stages_us(alerts)
    false: dict[str, Bools] = {}
    slack_us = 0.0
    if of_job and to_receiver and not has_executors:
        apart_us = max(abs(each.offset_us) + each.bound_us for each in (of_job, to_receiver))
        slack_us = apart_us + abs(observed.sent.clock_deviation_us_max)
        false = {"ingest": stages["ingest"] < -slack_us, "compute": stages["compute"] < 0}
        # It is the rig's doing if alerts were received before their orders were sent, or before the broker had them.
        early = int((alerts.received_us < alerts.sent_us).sum())
        fetch = HdrCounts.of_status(observed.received.fetch_histogram)  # what is below 0 is in the first bucket
        if early <= FALSE_STAMPS_SHARE_MAX * len(alerts) and fetch.counts[0] <= FALSE_STAMPS_SHARE_MAX * fetch.count:
            false["delivery"] = stages["delivery"] < -slack_us
    others = {name: (us < 0) & ~false.get(name, np.zeros(len(us), np.bool_)) for name, us in stages.items()}
    of_job = _ahead_of_sender(observed.round_trips, "job", limit_ms * 1000)
    of_others = _of_others(others, len(alerts), of_job, has_executors, limit_ms, _why(hosts))
    return _of_job(false, len(alerts), slack_us), of_others


def _of_job(false: Mapping[str, Bools], alerts: int, slack_us: float) -> Evidence:
    stage, count, holds = _worst(false, alerts)
    text = "the job's stamps are as true as the clocks tell"
    if not false:
        holds, text = None, "not evaluated: nobody knows how far the clock of the job's tasks is from the rig's"
    elif holds is None:
        text = f"not evaluated: {count} of {alerts:,} samples have false stamps, too few to tell"
    elif not holds:
        text = (
            f"the job's stamps are false: stage {stage} ends before it begins in {count:,} of {alerts:,} samples, "
            f"though clocks are apart by {slack_us / 1000:.2f} ms at most"
        )
    return Evidence(Criterion.JOB_STAMPS, holds, text, count, FALSE_STAMPS_SHARE_MAX * alerts, "samples")


def _of_others(
    false: Mapping[str, Bools], alerts: int, of_job: ClockOffset | None, has_executors: bool, limit_ms: float, why: str
) -> Evidence:
    stage, count, holds = _worst(false, alerts)
    share = count / alerts if alerts else None
    text = f"no stage of more than {share or 0:.2%} of the samples ends before it begins"
    if of_job is not None:
        text += f"; {_ahead('job', of_job)}"
    if has_executors:
        text += "; the clocks of its executors are not known"
    if holds is None:
        text = f"not evaluated: stage {stage} ends before it begins in {count} of {alerts:,} samples, too few to tell"
    elif not holds:
        text = f"stage {stage.replace('_', ' ')} ends before it begins in {count:,} of {alerts:,} samples: {why}"
    elif of_job is not None and abs(of_job.offset_us) - of_job.bound_us > limit_ms * 1000:
        text = f"{_ahead('job', of_job)}; its stages are wrong by as much: {why}"
        holds = False
    return Evidence(Criterion.STAMPS, holds, text, share, FALSE_STAMPS_SHARE_MAX, "share")


def _worst(false: Mapping[str, Bools], alerts: int) -> tuple[str, int, bool | None]:
    """The stage that most alerts are false in, how many, and whether so few may be; None if that is not to be told."""
    counts = {name: int(of.sum()) for name, of in false.items()}
    stage, count = max(counts.items(), key=lambda of_stage: of_stage[1], default=("", 0))
    too_few = alerts < _ALERTS_MIN and (0 < count <= _FEW or not alerts)
    return stage, count, None if too_few else count <= FALSE_STAMPS_SHARE_MAX * alerts


def _why(hosts: int) -> str:
    """Of clocks that are apart: the processes of one host read the same."""
    return "a clock was moved, or stamps are false" if hosts == 1 else "synchronise the hosts' clocks, or mend stamps"


def _ahead(process: str, apart: ClockOffset) -> str:
    ahead_ms, bound_ms = apart.offset_us / 1000, apart.bound_us / 1000
    return f"the {process}'s clock is {ahead_ms:+.2f} ms ahead of the sender's, to within {bound_ms:.2f} ms"
