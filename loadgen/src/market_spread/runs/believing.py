"""Whether a run is worth believing: its validity, from what its processes, its timeline and the machine say."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from market_spread.common.errors import RunVoidError
from market_spread.common.histogram import HdrCounts, bucket_indices
from market_spread.common.schedule import Constant
from market_spread.metrics_aggregator import hlog, run_files
from market_spread.runs.document.timeline import Series, Timeline
from market_spread.runs.evidence import Assessment, Evidence, at_most
from market_spread.runs.gate import Check
from market_spread.runs.latencies import Growth
from market_spread.runs.plan import RunPlan
from market_spread.runs.run import Observed
from market_spread.v1.metrics_pb2 import PushRequest

LAG_GROWING = "lag_growing"

_PAGE_BYTES = 4096
# A median that falls by less is not worth a longer warm-up, however small it is.
_DRIFT_MS_MIN = 200.0
_Z95 = 1.96
_SLOPE_POINTS_MAX = 600


@dataclass(frozen=True, slots=True)
class Seen:
    """What was captured besides the processes' own words. pushes, pushes_missing: of all processes' metrics."""

    timeline: Timeline
    components: tuple[str, ...]
    cores: int
    from_s: float
    to_s: float
    pushes: int = 0
    pushes_missing: int = 0
    gate: tuple[Check, ...] = ()

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


def validity(plan: RunPlan, observed: Observed, growth: Growth | None, seen: Seen | None) -> Assessment:
    """Whether the run is valid; every reason to call it void is evidence that does not hold."""
    evidence = [
        *_broken_off(observed),
        _late_generator(plan, observed),
        _lost_by_sender(observed),
        _stolen(plan, observed),
        *_undecided(observed),
        *([] if growth is None else [_lag_growing(plan, growth), _not_steady(plan, growth)]),
        *([] if seen is None else _of_timeline(plan, seen)),
        *([] if seen is None else _of_gate(seen)),
    ]
    return Assessment(tuple(evidence))


def late_frames(plan: RunPlan, frame_delay: HdrCounts) -> int:
    """Frames that left later after their plan than the workload allows."""
    bucket = int(bucket_indices(np.array([round(plan.workload.late_ms * 1000)]))[0])
    return int(frame_delay.counts[bucket + 1 :].sum())


def backlog_of(seen: Seen, *, from_s: float) -> Backlog:
    """The backlog over the measured load from a moment on."""
    sent, processed = (seen.measured("path", name) for name in ("messages_sent", "messages_processed"))
    if not len(sent) or len(sent) != len(processed):
        return Backlog()
    waiting = np.maximum(sent.values - processed.values, 0)
    settled = sent.unix_s >= from_s
    low, slope, high = slope_per_s(sent.unix_s[settled].astype(np.float64), waiting[settled])
    return Backlog(int(waiting.max()), slope, low, high)


def slope_per_s(
    seconds: np.ndarray[tuple[int], np.dtype[np.float64]], values: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[float | None, float | None, float | None]:
    """The median of the slopes of all pairs, between the ends of its 95% interval; None with fewer than 5 seconds.

    Two points of the same second have no slope.
    """
    step = -(-len(seconds) // _SLOPE_POINTS_MAX)
    if len(np.unique(seconds)) < 5:
        return None, None, None
    x, y = seconds[::step], values[::step]
    earlier, later = np.triu_indices(len(x), 1)
    apart = x[later] > x[earlier]
    earlier, later = earlier[apart], later[apart]
    slopes = np.sort((y[later] - y[earlier]) / (x[later] - x[earlier]))
    count, n = len(slopes), len(x)
    spread = _Z95 * np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low, high = round((count - spread) / 2), round((count + spread) / 2)
    return float(slopes[max(0, low)]), float(np.median(slopes)), float(slopes[min(count - 1, high)])


def push_gaps(metrics: Path) -> tuple[int, int]:
    """How many pushes a log has, and how many are missing between them or were dropped before they were sent."""
    pushes = 0
    newest: dict[tuple[str, int], tuple[int, int]] = {}
    seen: dict[tuple[str, int], int] = {}
    for entry in run_files.read(metrics, hlog.Reading()):
        if isinstance(entry, PushRequest):
            pushes += 1
            key = (entry.source, entry.epoch_unix_ns)
            first, last = newest.get(key, (entry.sequence, entry.sequence))
            newest[key] = (min(first, entry.sequence), max(last, entry.sequence))
            seen[key] = seen.get(key, 0) + 1
    return pushes, sum(last - first + 1 - seen[key] for key, (first, last) in newest.items())


def _broken_off(observed: Observed) -> list[Evidence]:
    evidence = []
    if isinstance(observed.error, RunVoidError):
        evidence.append(Evidence("broke_off", False, _with_step(observed)))
    if observed.interrupted:
        evidence.append(Evidence("interrupted", False, "the run was interrupted"))
    return evidence


def _with_step(observed: Observed) -> str:
    return f"{observed.error} (step: {observed.failed_step})" if observed.failed_step else str(observed.error)


def _late_generator(plan: RunPlan, observed: Observed) -> Evidence:
    sent, workload = observed.sent, plan.workload
    if not sent.frames_sent:
        return Evidence("late_generator", None, "no frame was sent")
    delays = HdrCounts.decode(sent.frame_delay_histogram) if sent.frame_delay_histogram else HdrCounts()
    late = late_frames(plan, delays)
    share = late / sent.frames_sent
    allowed = workload.late_share_max
    if late > allowed * sent.frames_sent:
        text = (
            f"the generator was late: {late} of {sent.frames_sent} frames ({share:.2%}) went out "
            f"more than {workload.late_ms:g} ms after their plan, at most {allowed:.2%} may; "
            "lower the rate or give the sender a core of its own"
        )
    else:
        text = f"{late} of {sent.frames_sent} frames went out more than {workload.late_ms:g} ms after their plan"
    return Evidence("late_generator", late <= allowed * sent.frames_sent, text, share, allowed, "share")


def _lost_by_sender(observed: Observed) -> Evidence:
    failed = observed.sent.messages_failed
    text = f"the broker did not take {failed} messages" if failed else "the broker took every message"
    return at_most("lost_by_sender", failed, 0, unit="messages", text=text)


def _stolen(plan: RunPlan, observed: Observed) -> Evidence:
    share = observed.stolen_share
    text = _unless(share, "stolen time", "{:.0%} of the CPU time was taken by the machine's neighbours")
    return at_most("stolen", share, plan.workload.void.stolen_share, unit="share", text=text)


def _undecided(observed: Observed) -> list[Evidence]:
    judgement = observed.judgement
    if judgement is None:
        return []
    if judgement.void_reason is not None:
        return [Evidence("undecided", False, judgement.void_reason, judgement.undecided, unit="orders")]
    return [Evidence("undecided", True, f"{judgement.undecided} orders are undecided", judgement.undecided)]


def _lag_growing(plan: RunPlan, growth: Growth) -> Evidence:
    if not isinstance(plan.workload.profile, Constant):
        return Evidence(LAG_GROWING, None, "the load is not constant, so growth is not judged")
    grown = f"the median latency grew by {growth.grown_us / 1000:,.0f} ms in {growth.duration_us / 1e6:.1f} s"
    steady = f"the trend of the median latency is {growth.grown_us / 1000:+,.0f} ms over the load"
    text = f"the job does not keep up: {grown}; lower the rate" if growth.is_queue else steady
    return Evidence(LAG_GROWING, not growth.is_queue, text, growth.grown_us / 1000, unit="ms")


def _not_steady(plan: RunPlan, growth: Growth) -> Evidence:
    """A latency that still falls: the begin was not warm. One that rises is a lag that grows."""
    limit = plan.workload.void.drift_share
    if not isinstance(plan.workload.profile, Constant) or not growth.after_us:
        return Evidence("not_steady", None, "the load has too few alerts, or is not constant", limit=limit)
    before_ms, after_ms = growth.before_us / 1000, growth.after_us / 1000
    drift = (before_ms - after_ms) / after_ms
    holds = drift <= limit or before_ms - after_ms < _DRIFT_MS_MIN
    medians = f"the median latency was {before_ms:,.1f} ms in the first third and {after_ms:,.1f} ms in the last"
    text = medians if holds else f"the warm-up was too short: {medians}; make warm_up longer"
    return Evidence("not_steady", holds, text, drift, limit, "share")


def _of_timeline(plan: RunPlan, seen: Seen) -> Sequence[Evidence]:
    void = plan.workload.void
    seconds = seen.to_s - seen.from_s
    foreign, throttled, clock_ms, swapped_mb = (
        _foreign_share(seen), _mean(seen.measured("machine", "throttled_share")), _clock_ms(seen), _swapped_mb(seen)
    )  # fmt: skip
    sampled = len(seen.measured("machine", "cpus"))
    owed = max(1, int(seconds) - 1)
    missing = max(0, owed - sampled) / owed
    if seen.pushes:
        missing = max(missing, seen.pushes_missing / (seen.pushes + seen.pushes_missing))
    return [
        at_most(
            "foreign_load", foreign, void.foreign_share, unit="share",
            text=_unless(
                foreign, "foreign load", "{:.0%} of the CPU time was used by processes that are not the run's"
            ),
        ),
        at_most(
            "throttled", throttled, void.throttled_share, unit="share",
            text=_unless(throttled, "throttling", "the cgroup was held back for {:.1%} of the time"),
        ),
        at_most(
            "clock_error", clock_ms, void.clock_ms, unit="ms",
            text=_unless(clock_ms, "steps of the clock", "the clock was moved by {:.3f} ms against monotonic time"),
        ),
        at_most(
            "swap", swapped_mb, void.swap_mb, unit="MB",
            text=_unless(swapped_mb, "swap", "{:.1f} MB were read from swap or written to it"),
        ),
        at_most(
            "missing_intervals", missing, void.missing_share, unit="share",
            text=f"{missing:.1%} of the intervals are missing: {max(0, owed - sampled)} of {owed} samples of the "
            f"machine, {seen.pushes_missing} of {seen.pushes + seen.pushes_missing} pushes",
        ),
    ]  # fmt: skip


def _of_gate(seen: Seen) -> list[Evidence]:
    """What differs voids nothing: a strict gate has refused the run before."""
    if not seen.gate:
        return []
    differing = [check.sentence for check in seen.gate if check.holds is False]
    text = "; ".join(differing) if differing else "the machine is what the workload wants"
    return [Evidence("gate", None if differing else True, text, len(differing), 0, "checks")]


def _foreign_share(seen: Seen) -> float | None:
    """CPUs in use less those that the run used, as a share of all; None if its processes are on other machines."""
    if not any(len(seen.measured(component, "cpus")) for component in seen.components):
        return None
    machine = seen.measured("machine", "cpus")
    ours = seen.timeline.sum_of("cpus", (*seen.components, "controller")).within(seen.from_s, seen.to_s)
    if not len(machine) or not len(ours):
        return None
    return max(0.0, float(machine.values.mean() - ours.values.mean())) / seen.cores


def _clock_ms(seen: Seen) -> float | None:
    distance = seen.measured("controller", "unix_minus_monotonic_ms").values
    return float(distance.max() - distance.min()) if len(distance) else None


def _swapped_mb(seen: Seen) -> float | None:
    found = [seen.measured("machine", name) for name in ("pswpin_per_s", "pswpout_per_s")]
    if not any(len(series) for series in found):
        return None
    return float(sum(series.values.sum() for series in found)) * _PAGE_BYTES / 1e6


def _mean(series: Series) -> float | None:
    return float(series.values.mean()) if len(series) else None


def _unless(value: float | None, what: str, text: str) -> str:
    return f"{what}: the machine does not tell" if value is None else text.format(value)
