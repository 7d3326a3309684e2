"""The latencies of a run, from its alerts: whole, by stage, and with and without the batch boundaries."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis.steadiness import Steadiness, medians_by_second, steadiness
from market_spread.loadgen.columns import Alerts, Bools
from market_spread.v1.control_pb2 import CommittedBatch

STAGES = ("send_lag", "ingest", "compute", "delivery")
SPARKLINE_PARTS = 60

# How far from its planned end a batch's standstill may begin: clocks of driver and tasks, and the last rows.
_BOUNDARY_SEARCH_US = 1_500_000
_STANDSTILL_US_MIN = 50_000

_GROWTH_SLICES, _GROWTH_SAMPLES_MIN = 20, 40
# Of a shorter span a trend says nothing: a few slow seconds are a third of it.
_GROWTH_US_MIN = 10_000_000
# Of chance alone, 20 medians agree so well on their order about once in a thousand runs.
_AGREEMENT_MIN = 0.5
# Begins and ends, Unix microseconds.
Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Boundary:
    """A standstill between two batches, as seen from outside: no alert was emitted within. Unix microseconds."""

    begin_us: int
    end_us: int
    batch_id: int = field(default=-1, compare=False)

    @property
    def gap_us(self) -> int:
        return self.end_us - self.begin_us

    @property
    def caught_up_us(self) -> int:
        """By when what piled up is taken to be worked off: as long again."""
        return self.end_us + self.gap_us


@dataclass(frozen=True, slots=True)
class Growth:
    """How the median latency went on over the measured time: its trend, from the medians of slices of that time.

    grown_us: the trend's slope times the time (`duration_us`); p50_us: the median over all of it; agreement: of
    the pairs of slices, how many more have the later one higher than lower, as a share (Kendall's tau), -1 to 1;
    not_evaluated: why there is nothing of all this, empty if there is.
    """

    grown_us: int = 0
    p50_us: int = 0
    duration_us: int = 0
    agreement: float = 0.0
    not_evaluated: str = ""

    @property
    def is_queue(self) -> bool:
        """Whether a queue grows, by more than the run's own median: what is little in one run is much in another."""
        return self.grown_us > self.p50_us and self.agreement > _AGREEMENT_MIN


@dataclass(frozen=True, slots=True)
class Latencies:
    """The alerts whose latencies are judged, and what these say of the run.

    met: which of the alerts waited at a boundary, or behind what had piled up there; level: whether the median of each
    second kept its level; disturbed: which of the alerts met a planned fault.
    """

    alerts: Alerts
    met: Bools
    boundaries: tuple[Boundary, ...]
    growth: Growth
    level: Steadiness
    disturbed: Bools

    @property
    def sparkline_ns(self) -> tuple[int | None, ...]:
        """The highest in each of SPARKLINE_PARTS equal parts of the intended times, None where no order was due."""
        intended_us, latency_us = self.alerts.intended_us, self.alerts.received_us - self.alerts.intended_us
        age_us = intended_us - intended_us.min(initial=np.iinfo(np.int64).max)
        highest_us = np.full(SPARKLINE_PARTS, -1, np.int64)
        np.maximum.at(highest_us, age_us * SPARKLINE_PARTS // (age_us.max(initial=0) + 1), latency_us)
        return tuple(None if each < 0 else each * 1000 for each in highest_us.tolist())


def latencies_of(
    alerts: Alerts, batches: Sequence[CommittedBatch], *, batch_s: float, from_us: int, faults_us: Spans = ()
) -> Latencies:
    """Latencies of the orders due from `from_us` on, each by its first alert; growth and level without `faults_us`."""
    measured = judged_alerts(alerts, from_us=from_us)
    boundaries = find_boundaries(measured.emitted_us, batches, batch_s=batch_s)
    met = meets(measured, [(boundary.begin_us, boundary.caught_up_us) for boundary in boundaries])
    level, disturbed = Steadiness(unknown="there are no samples"), meets(measured, faults_us)
    calm = measured[~disturbed]
    if len(calm):
        level = steadiness(*medians_by_second(calm.intended_us, calm.received_us - calm.intended_us))
    growth = latency_growth(calm.intended_us, calm.received_us - calm.intended_us, boundaries)
    return Latencies(measured, met, boundaries, growth, level, disturbed)


def judged_alerts(alerts: Alerts, *, from_us: int) -> Alerts:
    """The first alert of each order whose intended time is not before `from_us`."""
    firsts = alerts[np.sort(np.unique(alerts.order_id, return_index=True)[1])]
    return firsts[firsts.intended_us >= from_us]


def meets(alerts: Alerts, spans_us: Spans) -> Bools:
    """Which alerts' orders were due or waited within one of the spans."""
    met = np.zeros(len(alerts), np.bool_)
    for begin_us, end_us in spans_us:
        met |= (alerts.intended_us < end_us) & (alerts.received_us > begin_us)
    return met


def stages_us(alerts: Alerts) -> dict[str, Int64s]:
    """The stages of each alert, which add up to its latency."""
    stamps_us = (alerts.intended_us, alerts.sent_us, alerts.read_us, alerts.emitted_us, alerts.received_us)
    return {stage: end - begin for stage, (begin, end) in zip(STAGES, pairwise(stamps_us), strict=True)}


def reordered(alerts: Alerts) -> int:
    """How many first alerts were received after one whose order was to be sent later; alerts in order of receipt."""
    firsts = judged_alerts(alerts, from_us=0)
    return int((firsts.intended_us < np.maximum.accumulate(firsts.intended_us)).sum())


def find_boundaries(emitted_us: Int64s, batches: Sequence[CommittedBatch], *, batch_s: float) -> tuple[Boundary, ...]:
    """The standstill of each batch end: the longest pause of the alerts that begins or ends near it, each pause once.

    batch_s: how long each was planned to be; one of the warm-up's short ones no longer than it took.
    Alerts must come much more often than the standstill is long; pauses under 50 ms are not told from chance.
    """
    times = np.sort(emitted_us)
    found: dict[Boundary, None] = {}
    for batch in batches:
        planned_ns = min(round(batch_s * 1e9), batch.duration_ns)
        planned_end_us = (batch.start_unix_ns + planned_ns) // 1000
        late_us = (batch.duration_ns - planned_ns) // 1000
        first = max(0, int(np.searchsorted(times, planned_end_us - _BOUNDARY_SEARCH_US)) - 1)
        last = int(np.searchsorted(times, planned_end_us + late_us + _BOUNDARY_SEARCH_US))
        pauses = np.diff(times[first : last + 1])
        if len(pauses) and pauses.max() >= _STANDSTILL_US_MIN:
            at = first + int(np.argmax(pauses))
            found.setdefault(Boundary(int(times[at]), int(times[at + 1]), batch.batch_id))
    return tuple(found)


def latency_growth(intended_us: Int64s, latency_us: Int64s, boundaries: Sequence[Boundary]) -> Growth:
    """How latencies (n,) grew over their intended times, without what was due at a boundary; nothing if too few.

    The slope is that of Theil and Sen, the median of the slopes of all pairs: a few slices that stand out leave it.
    """
    apart = np.ones(len(intended_us), np.bool_)
    for boundary in boundaries:
        apart &= (intended_us < boundary.begin_us) | (intended_us >= boundary.caught_up_us)
    intended_us, latency_us = intended_us[apart], latency_us[apart]
    if len(intended_us) < _GROWTH_SAMPLES_MIN:
        return Growth(not_evaluated=f"too few samples ({len(intended_us)}, at least {_GROWTH_SAMPLES_MIN} are needed)")
    age_us = intended_us - intended_us.min()
    if (duration_us := int(age_us.max())) < _GROWTH_US_MIN:
        needed = f"at least {_GROWTH_US_MIN / 1e6:.0f} s are needed"
        return Growth(not_evaluated=f"too short ({duration_us / 1e6:.1f} s, {needed})")
    slice_of = np.minimum(age_us * _GROWTH_SLICES // duration_us, _GROWTH_SLICES - 1)
    slices = np.unique(slice_of)
    median_us = np.array([np.median(latency_us[slice_of == number]) for number in slices])
    earlier, later = np.triu_indices(len(slices), 1)
    risen_us = median_us[later] - median_us[earlier]
    slope_us, p50_us = float(np.median(risen_us / (slices[later] - slices[earlier]))), float(np.median(latency_us))
    return Growth(round(slope_us * _GROWTH_SLICES), round(p50_us), duration_us, float(np.sign(risen_us).mean()))
