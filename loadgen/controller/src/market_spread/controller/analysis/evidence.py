"""What a run is judged by: criteria with their causes, evidence, objectives, and the verdict that follows from it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from market_spread.common.hdr.histogram import CLUSTERS_MIN
from market_spread.common.words import counted
from market_spread.controller.plan.objectives import Objectives
from market_spread.controller.statistics.intervals import is_of_tail


class Verdict(StrEnum):
    """What a run says. The exit status of the command that made it is `exit_status`."""

    PASSED = "passed"
    FAILED = "failed"
    VOID = "void"

    @property
    def exit_status(self) -> int:
        """0 passed, 1 failed, 3 void."""
        return {Verdict.PASSED: 0, Verdict.FAILED: 1, Verdict.VOID: 3}[self]


class Words(NamedTuple):
    """What a kind of run calls a thing that it asks of the system under test, and the answers."""

    asked: str = "order"
    answers: str = "alerts"
    are_of_market: bool = True


OF_MARKET = Words()
# By the source of the run's plan.
WORDS = {"market": OF_MARKET, "recorded": OF_MARKET, "system": Words("message", "outputs", are_of_market=False)}


class Cause(StrEnum):
    """Whose doing it is if a criterion is not met: the system under test, or the rig and its machine."""

    SYSTEM = "system"
    RIG = "rig"


class Criterion(StrEnum):
    """Everything that a run is judged by, under the names that `result.json` has."""

    # Correct: what the system put out.
    JOB_FAILED = "job_failed"
    ALERTS_MISSING = "alerts_missing"
    ALERTS_UNEXPECTED = "alerts_unexpected"
    ALERTS_WRONG = "alerts_wrong"
    ALERTS_DUPLICATED = "alerts_duplicated"
    ALERTS_UNREADABLE = "alerts_unreadable"
    DECISIONS = "decisions"
    DECISIONS_MISSING = "decisions_missing"
    MALFORMED = "malformed"
    CONSERVATION = "conservation"
    JOB_STAMPS = "job_stamps"
    # Objectives: how fast and how steadily.
    LAG_GROWING = "lag_growing"
    STALLED = "stalled"
    LATENCY_P50 = "latency_p50"
    LATENCY_P95 = "latency_p95"
    LATENCY_P99 = "latency_p99"
    LATENCY_P99_9 = "latency_p99.9"
    LATENCY_P99_99 = "latency_p99.99"
    LATENCY_MAX = "latency_max"
    RATE = "rate"
    LOSS = "loss"
    # Survives: what was asked for planned faults.
    RECOVERED = "recovered"
    LOSES = "loses"
    # Valid: whether the rig and its machine let the run say anything.
    BROKE_OFF = "broke_off"
    INTERRUPTED = "interrupted"
    NOT_JUDGED = "not_judged"
    LATE_GENERATOR = "late_generator"
    LOST_BY_SENDER = "lost_by_sender"
    GENERATOR_QUEUE = "generator_queue"
    RIG_STALLED = "rig_stalled"
    STOLEN = "stolen"
    UNDECIDED = "undecided"
    NOT_STEADY = "not_steady"
    SLOWER_BETWEEN = "slower_between"
    CPU_UNSTEADY = "cpu_unsteady"
    STAMPS = "stamps"
    CLOCK_OFFSET = "clock_offset"
    ONE_KEY = "one_key"
    FOREIGN_LOAD = "foreign_load"
    THROTTLED = "throttled"
    CLOCK_ERROR = "clock_error"
    SWAP = "swap"
    MISSING_INTERVALS = "missing_intervals"
    PREFLIGHT = "preflight"
    RIG_DISAGREES = "rig_disagrees"

    @property
    def cause(self) -> Cause:
        return Cause.RIG if self in _OF_THE_RIG else Cause.SYSTEM


_OF_THE_RIG = frozenset(list(Criterion)[list(Criterion).index(Criterion.BROKE_OFF) :])

# What no fault of the rig explains away: the output itself, or the end of the job.
_ALWAYS = (
    Criterion.JOB_FAILED, Criterion.ALERTS_UNEXPECTED, Criterion.ALERTS_WRONG, Criterion.ALERTS_DUPLICATED,
    Criterion.ALERTS_UNREADABLE, Criterion.MALFORMED, Criterion.DECISIONS,
)  # fmt: skip
_LOST = (Criterion.ALERTS_MISSING, Criterion.DECISIONS_MISSING, Criterion.CONSERVATION, Criterion.LOSS, Criterion.LOSES)
_LOST_BY_RIG = frozenset({Criterion.LOST_BY_SENDER, Criterion.BROKE_OFF, Criterion.RIG_DISAGREES})
# What is certain, unless the rig did one of these: it lost messages itself, or its clock was moved.
_CERTAIN = dict.fromkeys(_ALWAYS, frozenset[Criterion]()) | dict.fromkeys(_LOST, _LOST_BY_RIG)
_CERTAIN[Criterion.JOB_STAMPS] = frozenset({Criterion.CLOCK_ERROR})
# No stall is excused by these: one that a late sender or a slow broker explains is laid to them already.
_EXPLAINED = {Criterion.LATE_GENERATOR, Criterion.GENERATOR_QUEUE}
_CERTAIN[Criterion.STALLED] = _CERTAIN[Criterion.RECOVERED] = _OF_THE_RIG - _EXPLAINED
# What a system that stands still or falls behind brings about, or one that takes too long; alone it is the rig's.
_BEHIND = frozenset({Criterion.STALLED, Criterion.LAG_GROWING})
_CONSEQUENCES = {
    Criterion.UNDECIDED: _BEHIND | {each for each in Criterion if each.value.startswith("latency_")},
    Criterion.NOT_STEADY: _BEHIND,
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that was looked at. holds: None if it was not evaluated; text: a sentence for people."""

    criterion: Criterion
    holds: bool | None
    text: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""

    def to_mapping(self) -> dict[str, Any]:
        values = asdict(self)
        criterion = values.pop("criterion")
        return {"check": criterion.value, "cause": criterion.cause.value, **values}


@dataclass(frozen=True, slots=True)
class Assessment:
    """Evidence on one question. known: whether the question could be answered at all."""

    evidence: tuple[Evidence, ...] = ()
    known: bool = True

    @property
    def holds(self) -> bool | None:
        """False if anything fails, None if nothing could be said."""
        if self.failing:
            return False
        return True if self.known and any(each.holds for each in self.evidence) else None

    @property
    def failing(self) -> tuple[Evidence, ...]:
        return tuple(each for each in self.evidence if each.holds is False)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A verdict, whose doing it is, and why.

    decisive: the criteria that decided it, in the order of the reasons; latencies_void: its latencies say nothing.
    """

    verdict: Verdict
    cause: Cause | None
    reasons: tuple[str, ...]
    decisive: tuple[Criterion, ...]
    latencies_void: bool


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The evidence on the three questions of a run, and on whether it survived its planned faults."""

    correct: Assessment = Assessment()
    valid: Assessment = Assessment()
    objectives: Assessment = Assessment()
    survives: Assessment | None = None

    def to_mapping(self) -> dict[str, Any]:
        asked = {"correct": self.correct, "valid": self.valid, "objectives": self.objectives}
        asked |= {"survives": self.survives} if self.survives else {}
        return {
            question: {"holds": assessment.holds, "evidence": [each.to_mapping() for each in assessment.evidence]}
            for question, assessment in asked.items()
        }

    def conclude(self) -> Conclusion:
        """The one place where a run is called passed, failed or void.

        What is certainly the system's fault fails the run, whatever else spoiled it. Where the rig spoiled it, what the
        system seems to have done too slowly counts for nothing. A system that stalls or falls behind also causes what
        would otherwise be laid to the rig (undecided orders, unsteady latencies); one that misses an objective for its
        latency, undecided orders. False stamps excuse no slowness, as they spoil the stages alone: what was too slow is
        told by the rig's clocks.
        """
        system = [*self.correct.failing, *self.objectives.failing, *(self.survives or Assessment()).failing]
        of_system = {each.criterion for each in system}
        rig = [each for each in self.valid.failing if not _CONSEQUENCES.get(each.criterion, frozenset()) & of_system]
        of_rig = {each.criterion for each in rig} - {Criterion.STAMPS}
        certain = [each for each in system if not _CERTAIN.get(each.criterion, of_rig) & of_rig]
        if rig and not certain:
            verdict, cause, decisive = Verdict.VOID, Cause.RIG, [*rig, *system]
        elif certain:
            verdict, cause, decisive = Verdict.FAILED, Cause.SYSTEM, [*certain, *rig]
        else:
            verdict, cause, decisive = Verdict.PASSED, None, []
        besides = "its latencies are void as well: " if rig and certain else ""
        reasons = tuple(f"{besides if each in rig else ''}{each.text}" for each in decisive)
        return Conclusion(verdict, cause, reasons, tuple(each.criterion for each in decisive), latencies_void=bool(rig))


def at_most(criterion: Criterion, value: float | None, limit: float, *, unit: str, text: str) -> Evidence:
    """Evidence that a value is not above its limit; None is a value that there is not."""
    return Evidence(criterion, None if value is None else value <= limit, text, value, limit, unit)


@dataclass(frozen=True, slots=True)
class Achieved:
    """What a run came to. latency_ns: by percentile, None where too few alerts support it; lost: None if not known;
    clusters: in how many clusters of time the percentiles lie. decisions_ns: the same as latency_ns of all decisions,
    if there are any: an objective is one for every order then.
    """

    latency_ns: Mapping[str, int | None]
    offered_rate_per_s: float
    achieved_rate_per_s: float | None
    lost: int | None
    clusters: Mapping[str, int] = field(default_factory=dict)
    decisions_ns: Mapping[str, int | None] = field(default_factory=dict)

    def assess(self, objectives: Objectives) -> tuple[Evidence, ...]:
        """Evidence on each objective; one that cannot be evaluated neither holds nor fails."""
        evidence = [self._percentile(name, limit) for name, limit in objectives.latency_ms.items()]
        if (share := objectives.rate_share) is not None:
            found, offered = self.achieved_rate_per_s, self.offered_rate_per_s
            holds, text = None, "no rate was achieved"
            if found is not None:
                holds = found >= share * offered
                text = f"{found:,.0f} messages/s were achieved; the objective is {share:.1%} of {offered:,.0f}"
            evidence.append(Evidence(Criterion.RATE, holds, text, found, share * offered, "messages/s"))
        if (allowed := objectives.loss) is not None:
            text = "not evaluated: the run was not judged, so no loss is known"
            if self.lost is not None:
                text = f"{self.lost:,} messages were lost, on the way there or back; the objective is {allowed:,}"
            evidence.append(at_most(Criterion.LOSS, self.lost, allowed, unit="messages", text=text))
        return tuple(evidence)

    def _percentile(self, name: str, limit_ms: float) -> Evidence:
        found_ns, of_all_ns, whose = self.latency_ns.get(name), self.decisions_ns.get(name) or 0, ""
        clusters = self.clusters.get(name, CLUSTERS_MIN)
        if of_all_ns > max(found_ns or 0, limit_ms * 1e6):
            found_ns, clusters, whose = of_all_ns, CLUSTERS_MIN, " of all decisions"
        found_ms = None if found_ns is None else found_ns / 1e6
        text = f"not evaluated: there are too few samples for {name}; the objective is {limit_ms:g} ms"
        if found_ms is not None:
            text = f"{name}{whose} is {found_ms:.1f} ms; the objective is {limit_ms:g} ms"
        if found_ms is not None and clusters < CLUSTERS_MIN and is_of_tail(name):
            # What was observed meets a limit or does not; only an estimate of other runs needs the clusters.
            text += f" (of this run alone: {counted(clusters, 'cluster')}, {CLUSTERS_MIN} needed for more)"
        return at_most(Criterion(f"latency_{name}"), found_ms, limit_ms, unit="ms", text=text)
