"""Decides whether a run is valid: what its processes, its timeline and the machine say, and whether they agree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from market_spread.common.errors import RunVoidError
from market_spread.common.hdr.histogram import HdrCounts, bucket_indices
from market_spread.common.load.schedule import Constant
from market_spread.common.telemetry.recorder import pushes_missing
from market_spread.common.wire.codec import RECEIPT
from market_spread.common.wire.layout import ALERT
from market_spread.controller.analysis.evidence import Criterion, Evidence, at_most
from market_spread.controller.analysis.latency import Latencies, judged_alerts
from market_spread.controller.analysis.observed import Observed, cpu_us_by_look
from market_spread.controller.analysis.stamps import clock_offset
from market_spread.controller.analysis.steadiness import Steadiness, Unsteady, steadiness
from market_spread.controller.host.timeline import Series, Timeline
from market_spread.controller.plan.faults import BROKER
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.plan.workload import run_limits
from market_spread.controller.statistics.intervals import Floats
from market_spread.loadgen.columns import Alerts, Texts, symbol_codes
from market_spread.metrics_aggregator.model import hlog, run_files
from market_spread.v1.limits_pb2 import RunLimits
from market_spread.v1.metrics_pb2 import PushRequest

_PAGE_BYTES = 4096
_SLOPE_POINTS_MAX = 600
_ONE_KEY_SHARE_MAX, _ONE_KEY_SAMPLES_MIN = 0.1, 500
_SAMPLES_MIN = 200
# With fewer messages to a frame, how long they wait depends on their phase.
_FRAME_MIN = 8
_LINE_BYTES = ALERT.width + RECEIPT.width
# What a machine may not tell: its unit, its name, and a sentence with its value.
_OF_THE_MACHINE = {
    Criterion.STOLEN: ("share", "stolen time", "{:.0%} of the CPU time was taken by the machine's neighbours"),
    Criterion.FOREIGN_LOAD: (
        "share", "foreign load", "{:.0%} of the CPU time was used by processes that are not the run's",
    ),
    Criterion.THROTTLED: ("share", "throttling", "the cgroup was held back for {:.1%} of the time"),
    Criterion.CLOCK_ERROR: ("ms", "steps of the clock", "the clock was moved by {:.3f} ms against monotonic time"),
    Criterion.SWAP: ("MB", "swap", "{:.1f} MB were read from swap or written to it"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """What was captured besides the processes' own words. pushes, pushes_missing, hosts: of what pushes metrics.

    pauses: of each the JVM, the end in Unix milliseconds, the length in milliseconds, what it was for.
    """

    timeline: Timeline
    components: tuple[str, ...]
    cores: int
    from_s: float
    to_s: float
    pushes: int = 0
    pushes_missing: int = 0
    hosts: int = 0
    pauses: Sequence[tuple[str, int, float, str]] = ()

    def measured(self, component: str, name: str) -> Series:
        """A series over the measured load."""
        return self.timeline.series(component, name).within(self.from_s, self.to_s)


@dataclass(frozen=True, slots=True)
class Backlog:
    """Messages sent and not yet processed. The slope is that of Theil and Sen, with its 95% interval."""

    messages_max: int | None = None
    slope_per_s: float | None = None
    slope_per_s_low: float | None = None
    slope_per_s_high: float | None = None


def validity(
    plan: RunPlan, observed: Observed, latencies: Latencies | None, stalled: Evidence, seen: Seen | None
) -> list[Evidence]:
    """Whether the run is valid; every reason to call it void is evidence that does not hold.

    latencies: None if the run did not come to any. stalled: the evidence on whether the rig stood still.
    """
    sent, void, from_s = observed.sent, plan.workload.void, observed.starts_unix_ns.get("measured", 0) / 1e9
    failed, acknowledged = sent.messages_failed, HdrCounts.of_status(sent.acknowledge_histogram)
    evidence = []
    if isinstance(observed.error, RunVoidError):
        evidence.append(Evidence(Criterion.BROKE_OFF, False, observed.error_text))
    if observed.interrupted:
        evidence.append(Evidence(Criterion.INTERRUPTED, False, "the run was interrupted"))
    if not evidence and observed.error is None and observed.judgement is None:  # it ended by itself
        evidence.append(Evidence(Criterion.NOT_JUDGED, False, "the run ended before it could be judged"))
    taken = f"the broker did not take {failed} messages" if failed else "the broker took every message"
    queue = generator_queue(acknowledged, sent.unacknowledged_age_us_max, run_limits(plan.workload))
    if any(event.fault.target == BROKER for event in observed.faults):
        queue = replace(queue, holds=queue.holds or None, text="the broker had planned faults, and the load waited")
    evidence += [
        stalled,  # before what it brings about
        _late_generator(plan, observed),
        at_most(Criterion.LOST_BY_SENDER, failed, 0, unit="messages", text=taken),
        queue,
        _if_told(Criterion.STOLEN, observed.stolen_share, void.stolen_share),
    ]
    if (judgement := observed.judgement) is not None:
        reason, count, asked = judgement.void_reason, judgement.undecided, f"{observed.words.asked}s"
        text, unit = (reason, asked) if reason else (f"{count} {asked} are undecided", "")
        evidence.append(Evidence(Criterion.UNDECIDED, not reason, text, count, unit=unit))
    if latencies is not None:
        evidence += [
            _not_steady(plan, latencies.level, from_s=from_s),
            _slower_between(latencies.level, from_s=from_s),
            _cpu_unsteady(observed, from_s=from_s),
            _one_key(plan, latencies.alerts.symbol),
        ]
    evidence.append(clock_offset(observed, void.clock_ms, seen.hosts if seen else 0))
    evidence += rig_agrees(plan, observed)
    if seen is not None:
        evidence += _of_timeline(plan, seen)
        if observed.checks:
            # What differs voids nothing: a strict preflight has refused the run before.
            differing = [check.sentence for check in observed.checks if check.holds is False]
            text = "; ".join(differing) or "the machine is what the workload wants"
            evidence += [Evidence(Criterion.PREFLIGHT, None if differing else True, text, len(differing), 0, "checks")]
        if np.max(seen.measured("machine", "runs").values, initial=0) > 1:
            # What does not hold may be another run's doing, whatever its own remedy.
            beside = "another run of market-spread was on the machine: make runs in turn"
            for at, each in enumerate(evidence):
                if each.holds is False or each.criterion is Criterion.FOREIGN_LOAD:
                    evidence[at] = replace(each, text=f"{each.text}; {beside}")
    return evidence


def late_frames(plan: RunPlan, frame_delay: HdrCounts) -> int:
    """Frames that left later after their plan than the workload allows."""
    bucket = int(bucket_indices(np.array([round(plan.workload.limits.late_ms * 1000)]))[0])
    return int(frame_delay.counts[bucket + 1 :].sum())


def backlog_of(seen: Seen, *, from_s: float) -> Backlog:
    """The backlog over the measured load from a moment on."""
    sent, processed = (seen.measured("path", name) for name in ("messages_sent", "messages_processed"))
    if not len(sent) or len(sent) != len(processed):
        return Backlog()
    at_s, waiting = sent.unix_s.astype(np.float64), np.maximum(sent.values - processed.values, 0)
    rose = np.diff(processed.values, prepend=processed.values[0]) > 0
    waited_s = at_s - np.maximum.accumulate(np.where(rose, at_s, at_s[0]))
    # Progress that is known by commits makes a saw, which counts by its lowest points, and by commits that are overdue.
    counted = (at_s >= from_s) & (rose | (waited_s > np.diff(at_s[rose], prepend=at_s[0]).max(initial=0)))
    low, slope, high = slope_per_s(at_s[counted], waiting[counted])
    return Backlog(int(waiting.max()), slope, low, high)


def slope_per_s(seconds: Floats, values: Floats) -> tuple[float | None, float | None, float | None]:
    """The median of the slopes of all pairs, between the ends of its 95% interval; None with fewer than 5 seconds."""
    if len(np.unique(seconds)) < 5:
        return None, None, None
    from scipy.stats import theilslopes  # takes a second to import

    step = -(-len(seconds) // _SLOPE_POINTS_MAX)
    slope, _, low, high = theilslopes(values[::step], seconds[::step], 0.95)
    return float(low), float(slope), float(high)


def push_gaps(metrics: Path) -> tuple[int, int, int]:
    """How many pushes a log has, how many never came, and from how many hosts they are known to be."""
    epochs: dict[tuple[str, int, str], tuple[int, int, int]] = {}
    for entry in run_files.read(metrics, hlog.Reading()):
        if isinstance(entry, PushRequest):
            key = (entry.source, entry.epoch_unix_ns, entry.host)
            last, seen, dropped = epochs.get(key, (0, 0, 0))
            epochs[key] = max(last, entry.sequence), seen + 1, max(dropped, entry.pushes_dropped)
    missing = sum(pushes_missing(last=last, seen=seen, dropped=dropped) for last, seen, dropped in epochs.values())
    return sum(seen for _, seen, _ in epochs.values()), missing, len({host for *_, host in epochs if host})


def _late_generator(plan: RunPlan, observed: Observed) -> Evidence:
    sent, workload = observed.sent, plan.workload
    if not sent.frames_sent:
        return Evidence(Criterion.LATE_GENERATOR, None, "no frame was sent")
    late = late_frames(plan, HdrCounts.of_status(sent.frame_delay_histogram))
    share, allowed = late / sent.frames_sent, workload.limits.late_share
    holds = late <= allowed * sent.frames_sent
    which, how = f"{late} of {sent.frames_sent} frames", f"more than {workload.limits.late_ms:g} ms after their plan"
    text = f"{which} went out {how}"
    if not holds:
        text = (
            f"the generator was late: {which} ({share:.2%}) went out {how}, at most {allowed:.2%} may; "
            "lower the rate or give the sender a core of its own"
        )
    return Evidence(Criterion.LATE_GENERATOR, holds, text, share, allowed, "share")


def generator_queue(acknowledge: HdrCounts, age_us_max: int, limits: RunLimits) -> Evidence:
    """Whether the load reached the broker soon after it was handed over: else stage `ingest` has the rig's own wait.

    acknowledge: from handing a frame over to its acknowledgement, so producer and broker; age_us_max: of the oldest
    frame without one, also of those that never got it.
    """
    if not acknowledge.count:
        return Evidence(Criterion.GENERATOR_QUEUE, None, "no frame was acknowledged", unit="ms")
    p99_ms, age_ms = acknowledge.percentile(99) / 1000, age_us_max / 1000
    p99_ms_max, age_ms_max = limits.acknowledge_p99_us_max / 1000, limits.unacknowledged_us_max / 1000
    text = f"99% of the frames were acknowledged within {p99_ms:,.1f} ms, and the oldest one waited {age_ms:,.1f} ms"
    value, limit = (age_ms, age_ms_max) if age_ms > age_ms_max else (p99_ms, p99_ms_max)
    if value > limit:
        text = (
            f"the load waited in the generator or for the broker, not for the job: {text}; at most {p99_ms_max:,.0f} "
            f"and {age_ms_max:,.0f} ms may be; give broker and sender cores of their own"
        )
    return at_most(Criterion.GENERATOR_QUEUE, value, limit, unit="ms", text=text)


def _not_steady(plan: RunPlan, steady: Steadiness, *, from_s: float) -> Evidence:
    """A latency that still falls: the begin was not warm. One that rises is a lag that grows."""
    share: float | None = 0.0
    limit, text = plan.workload.void.drift_share, "the median latency kept its level"
    if steady.unknown or not isinstance(plan.workload.load, Constant):
        share, text = None, f"not evaluated: {steady.unknown or 'the load is not constant'}"
    elif (change := steady.of_kind(Unsteady.TOO_SLOW_AT_START)) is not None:
        share, higher_ms = change.share, change.size / 1000
        text = f"until {change.end_s - from_s:.0f} s of the load the median latency was {higher_ms:,.1f} ms higher "
        text += f"than later, {share:.0%} of the run's"
        if share > limit:
            text = f"the warm-up was too short: {text}; make warm_up longer"
    return at_most(Criterion.NOT_STEADY, share, limit, unit="share", text=text)


def _slower_between(steady: Steadiness, *, from_s: float) -> Evidence:
    """Neither warm-up nor lag, so it voids nothing; but the percentiles are of two levels, and a reader should know."""
    criterion, change = Criterion.SLOWER_BETWEEN, steady.of_kind(Unsteady.SLOWER_BETWEEN)
    if steady.unknown:
        return Evidence(criterion, None, f"not evaluated: {steady.unknown}")
    if change is None:
        return Evidence(criterion, True, "in no part of the load was it slower than around")
    text = (
        f"from {change.begin_s - from_s:.0f} to {change.end_s - from_s:.0f} s of the load the median latency was "
        f"{change.size / 1000:,.1f} ms higher than around, {change.share:.0%} of the run's"
    )
    return Evidence(criterion, None, text, change.share, unit="share")


def _cpu_unsteady(observed: Observed, *, from_s: float) -> Evidence:
    """CPU that did not keep its level says nothing of latency; the figure of the second half is shown beside it."""
    values_us, seconds = cpu_us_by_look(observed.looks)
    found = steadiness(values_us, seconds)
    if found.unknown:
        return Evidence(Criterion.CPU_UNSTEADY, None, f"not evaluated: {found.unknown}")
    if not found.changes:
        return Evidence(Criterion.CPU_UNSTEADY, True, "CPU a message kept its level", 0.0, unit="share")
    most = max(found.changes, key=lambda change: change.share)
    text = (
        f"from {most.begin_s - from_s:.0f} to {most.end_s - from_s:.0f} s of the load the job took {most.size:.1f} us "
        f"of CPU a message more than at its lowest level, {most.share:.0%} of the run's median"
    )
    return Evidence(Criterion.CPU_UNSTEADY, None, text, most.share, unit="share")


def _one_key(plan: RunPlan, symbols: Texts) -> Evidence:
    """Whether no key has so many of the samples that the latencies are its own. symbols: of the judged alerts."""
    limit, is_market = _ONE_KEY_SHARE_MAX, plan.origin.get("source") == "market"
    if not is_market or len(symbols) < _ONE_KEY_SAMPLES_MIN:
        why = f"{len(symbols)} samples" if is_market else "the keys are not drawn from the market"
        return Evidence(Criterion.ONE_KEY, None, f"not evaluated: {why}", None, limit, "share")
    keys, counts = np.unique(symbol_codes(symbols), return_counts=True)
    share = float(counts.max() / counts.sum())
    text = f"of {counts.sum():,} samples one of {len(keys)} keys has {share:.1%}"
    if share > limit:
        text += f", at most {limit:.0%} may be; the latencies are that key's: have more probes, or a longer load"
    return at_most(Criterion.ONE_KEY, share, limit, unit="share", text=text)


def _of_timeline(plan: RunPlan, seen: Seen) -> list[Evidence]:
    void = plan.workload.void
    if seen.to_s <= seen.from_s:
        return []  # no load was measured to its end: there is nothing to have been sampled
    swapped = [seen.measured("machine", name) for name in ("pswpin_per_s", "pswpout_per_s")]
    swapped_mb = float(sum(series.values.sum() for series in swapped)) * _PAGE_BYTES / 1e6
    owed, pushed = max(1, int(seen.to_s - seen.from_s) - 1), seen.pushes + seen.pushes_missing
    lacking = max(0, owed - len(seen.measured("machine", "cpus")))
    missing = max(lacking / owed, seen.pushes_missing / pushed if seen.pushes else 0)
    throttled = seen.measured("machine", "throttled_share").values
    distance_ms = seen.measured("controller", "unix_minus_monotonic_ms").values
    text = (
        f"{missing:.1%} of the intervals are missing: {lacking} of {owed} samples of the machine, "
        f"{seen.pushes_missing} of {pushed} pushes"
    )
    return [
        _if_told(Criterion.FOREIGN_LOAD, _foreign_share(seen), void.foreign_share),
        _if_told(Criterion.THROTTLED, float(throttled.mean()) if len(throttled) else None, void.throttled_share),
        _if_told(Criterion.CLOCK_ERROR, float(np.ptp(distance_ms)) if len(distance_ms) else None, void.clock_ms),
        _if_told(Criterion.SWAP, swapped_mb if any(map(len, swapped)) else None, void.swap_mb),
        at_most(Criterion.MISSING_INTERVALS, missing, void.missing_share, unit="share", text=text),
    ]


def _foreign_share(seen: Seen) -> float | None:
    """CPUs in use less those that the run used, as a share of all; None if its processes are on other machines."""
    machine = seen.measured("machine", "cpus")
    ours = seen.timeline.sum_of("cpus", (*seen.components, "controller")).within(seen.from_s, seen.to_s)
    are_here = any(len(seen.measured(component, "cpus")) for component in seen.components)
    if not are_here or not len(machine) or not len(ours):
        return None
    return max(0.0, float(machine.values.mean() - ours.values.mean())) / seen.cores


def _if_told(criterion: Criterion, value: float | None, limit: float) -> Evidence:
    """Evidence that a value is not above its limit, if the machine tells it."""
    unit, what, text = _OF_THE_MACHINE[criterion]
    said = f"{what}: the machine does not tell" if value is None else text.format(value)
    return at_most(criterion, value, limit, unit=unit, text=said)


def rig_agrees(plan: RunPlan, observed: Observed) -> list[Evidence]:
    """Whether sender, receiver and ledger say the same, with the first disagreement; none before all is drained."""
    if not observed.drained or observed.alerts is None:
        return []
    found = next(_disagreements(plan, observed, observed.alerts), "")
    return [Evidence(Criterion.RIG_DISAGREES, not found, found or "sender, receiver and ledger agree")]


def _disagreements(plan: RunPlan, observed: Observed, alerts: Alerts) -> Iterator[str]:
    received, firsts = observed.received, judged_alerts(alerts, from_us=0)
    # What the ledger has beyond the receiver's last status came later, and is no fault.
    if received.alerts > len(firsts):
        yield f"the receiver counted {received.alerts} {observed.words.answers}, and the ledger has {len(firsts)}"
    elif received.alerts == len(firsts) and received.latency_histogram:
        own = HdrCounts(firsts.received_us - firsts.intended_us)
        if not np.array_equal(own.counts, HdrCounts.of_status(received.latency_histogram).counts):
            yield "the receiver's latencies are not those of the ledger"
    if (found := observed.decisions) is not None and received.decisions > (told := found.decided + found.unknown):
        yield f"the receiver counted {received.decisions} decisions, and the ledger has {told}"
    # Both count the warm-up as well, which the alerts here are without.
    counted = received.alerts + received.warm_up_alerts + received.alerts_duplicated
    came_later = max(len(observed.ledger) // _LINE_BYTES, len(alerts)) > counted
    disagreeing = observed.judgement.disagreeing if observed.judgement else 0
    if disagreeing > received.alerts_disagreeing and not came_later:
        yield (
            f"the receiver counted {received.alerts_disagreeing} alerts that disagree with an earlier one, and the "
            f"ledger has {disagreeing}"
        )
    sent = observed.sent
    delays, lags = HdrCounts.of_status(sent.frame_delay_histogram), HdrCounts.of_status(sent.send_lag_histogram)
    acknowledged = sum(part.frames_acknowledged for part in sent.partitions)
    if sent.partitions and acknowledged + sent.frames_failed != sent.frames_sent:
        yield f"of {sent.frames_sent} frames the broker acknowledged {acknowledged} and lost {sent.frames_failed}"
    for part in sent.partitions:
        if part.next_offset < part.frames_acknowledged:
            yield (
                f"{part.frames_acknowledged} frames of {part.topic}/{part.partition} were acknowledged, and its "
                f"offsets end at {part.next_offset}"
            )
    if (delays.count, lags.count) != (sent.frames_sent, sent.messages_sent):
        yield (
            f"the sender sent {sent.messages_sent} messages in {sent.frames_sent} frames, and has the lags of "
            f"{lags.count} and the delays of {delays.count}"
        )
    linger_us = plan.workload.frames.linger_ms * 1e3
    # A frame is planned at most a linger after its first message; values have three digits.
    if lags.max_us > 1.002 * (delays.max_us + linger_us):
        yield f"the sender's longest lag is {lags.max_us} us, and no frame was later than {delays.max_us} us"
    # Half of the messages wait for half of the time that a frame stays open, at a constant rate with many messages to a
    # frame; half of that is asked for. Of few, evenly apart, all may come just before it closes.
    load, of_frame = plan.workload.load, plan.workload.frames.messages
    rate = load.rate_per_s if isinstance(load, Constant) else 0
    if min(of_frame, rate * linger_us / 1e6) < _FRAME_MIN or lags.count < _SAMPLES_MIN:
        return
    # A partition gets its share of the rate at most, so its frames are not full sooner than one of all messages.
    least_us = min(linger_us, (of_frame - 1) / rate * 1e6) / 4
    if (half_us := lags.percentile(50)) < least_us:
        yield (
            f"half of the sender's lags are below {half_us} us, and half of the messages wait {least_us:.0f} us and "
            "longer for their frames: the lags are false"
        )
