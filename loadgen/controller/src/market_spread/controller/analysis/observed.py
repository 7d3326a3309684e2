"""What a run has brought to light, what the oracle says of it, and CPU time a message."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain, pairwise

import numpy as np

from market_spread.common.errors import MarketSpreadError
from market_spread.common.job_contract import ALL_DECISIONS, BATCHES_MAX
from market_spread.common.wire.codec import decode_ledger
from market_spread.common.wire.layout import DECISION, OUTPUTS_OF_TOPIC, WARM_UP_ORDER_ID_MIN
from market_spread.controller.analysis.evidence import OF_MARKET, Words
from market_spread.controller.clients.probe import Silence
from market_spread.controller.clients.services import RoundTrip
from market_spread.controller.host.facts import HostCheck
from market_spread.controller.plan.faults import Fault, FaultEvent
from market_spread.controller.plan.plan import RunPlan, orders_of, path_of, quotes_of
from market_spread.loadgen.columns import Alerts, Decisions
from market_spread.loadgen.oracle.decisions import DecisionJudge, DecisionJudgement
from market_spread.loadgen.oracle.oracle import WHOLE_RUN, Judgement, Oracle
from market_spread.v1.control_pb2 import JobStatusResponse, Phase, ReceiverStatusResponse, SenderStatusResponse

# Of a load there are not many more looks than this.
LOOKS_MAX = 120
# How far the clocks of job and receiver may be apart, rounding of the job's times included.
_CLOCKS_US = 1_000_000
_PAUSE_NS_MAX = 1_000_000_000
# By it an order can have met any quote of its symbol: 35 years. What is wrong all the same is certainly wrong.
_ANY_DELAY_US, _NEVER_US = 2**50, 2**62


@dataclass(frozen=True, slots=True)
class CpuReading:
    """What was used and done by a moment of the measured load.

    unix_ns: the job's clock when messages_processed changed, for which job_cpu_us holds; what others have used was read
    within a poll after it, None where it cannot be told. restarts: of the job so far.
    """

    unix_ns: int
    messages_processed: int
    messages_sent: int
    job_cpu_us: int
    executors_cpu_us: int | None
    broker_cpu_us: int | None
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class RunProgress:
    """What a run shows while it lasts. Statuses are None as long as there is none.

    sent_before: messages of the phases before the measured load. faults: the planned ones so far, and when each began,
    Unix nanoseconds.
    """

    phase: str
    elapsed_s: float
    sender: SenderStatusResponse | None = None
    receiver: ReceiverStatusResponse | None = None
    job: JobStatusResponse | None = None
    sent_before: int = 0
    words: Words = OF_MARKET
    faults: tuple[tuple[int, Fault], ...] = ()


@dataclass(slots=True)
class Observed:
    """What a run has brought to light, filled in as it goes; an interrupted run is judged by what is there.

    sent: the measured load; sent_before: messages of the phases before it. job: the job's newest status; job_restarts:
    of its processes, beside those within them; failed_step, failed_unix_ns: at which step and when the error came;
    partly: what is wrong with the alerts of a run that was not carried through, which says nothing of what is missing;
    measured_until_unix_ns: when the measured load was sent, 0 before; restarts_before: restarts that the job counts
    from before this run; silences: of the rig, from the begin of the measured load on; decisions: None unless the
    workload wants all; looks: at CPU time, of the measured load from settling on; round_trips: the best of each
    process before, during and after it. words: of this kind of run; unreadable_because: of its first output that a
    function of the user's cannot read, what that raised. checks: of the host; faults: the planned ones, as carried out.
    """

    started: datetime
    sent: SenderStatusResponse = field(default_factory=SenderStatusResponse)
    received: ReceiverStatusResponse = field(default_factory=ReceiverStatusResponse)
    job: JobStatusResponse = field(default_factory=JobStatusResponse)
    starts_unix_ns: dict[str, int] = field(default_factory=dict)
    sent_before: int = 0
    stolen_share: float | None = None
    time_to_first_order_s: float | None = None
    ledger: bytes = b""
    alerts: Alerts | None = None
    judgement: Judgement | None = None
    drained: bool = False
    interrupted: bool = False
    error: MarketSpreadError | None = None
    failed_step: str = ""
    failed_unix_ns: int = 0
    partly: Judgement | None = None
    job_restarts: int = 0
    measured_until_unix_ns: int = 0
    restarts_before: int = 0
    silences: tuple[Silence, ...] = ()
    decisions_ledger: bytes = b""
    decisions: DecisionJudgement | None = None
    looks: tuple[CpuReading, ...] = ()
    round_trips: dict[str, dict[str, RoundTrip]] = field(default_factory=dict)
    words: Words = OF_MARKET
    unreadable_because: str = ""
    checks: tuple[HostCheck, ...] = ()
    faults: tuple[FaultEvent, ...] = ()

    @property
    def restarts(self) -> int:
        """How often the query or a process of the job was started again in this run."""
        return max(0, self.job.restarts - self.restarts_before) + self.job_restarts

    @property
    def is_all_counted(self) -> bool:
        """Whether the job's counts are of all that it did: none was started again, and none is away that may have."""
        return not self.restarts and self.job.phase != Phase.PHASE_STARTING

    @property
    def error_text(self) -> str:
        return f"{self.error} (step: {self.failed_step})" if self.failed_step else str(self.error)

    @property
    def timed_alerts(self) -> Alerts | None:
        """The alerts whose latencies count: all but the belated ones, as the first decision on those was another."""
        if self.alerts is None or self.judgement is None or not self.judgement.belated:
            return self.alerts
        return self.alerts[~np.isin(self.alerts.order_id, self.judgement.belated)]


def alerts_of(ledger: bytes) -> Alerts:
    """The alerts on measured orders, in order of receipt."""
    columns = decode_ledger(ledger)
    alerts = Alerts.from_rows(columns.rows, columns.received_us)
    return alerts[alerts.order_id < WARM_UP_ORDER_ID_MIN]


def judge(plan: RunPlan, observed: Observed) -> None:
    """Have the oracle judge what was observed; only what came of it, if the measured load was not carried through."""
    if "measured" not in observed.starts_unix_ns or observed.alerts is None:
        return
    if not observed.drained or observed.interrupted:
        observed.partly = judge_run(plan, observed, delay_us=_ANY_DELAY_US)
    else:
        observed.judgement = judge_run(plan, observed)
        if plan.workload.decisions == ALL_DECISIONS:
            of_decisions = DecisionJudge(
                decisions_of(observed), alerted=observed.alerts.order_id, delay_us=0 if plan.is_fenced else None,
                replayed=replays_of(plan, observed),
            )  # fmt: skip
            _add_input(of_decisions, plan, observed)
            observed.decisions = of_decisions.judgement()


def judge_run(plan: RunPlan, observed: Observed, *, delay_us: int | None = None) -> Judgement:
    """The oracle's judgement: the input is made again from the plan, and the alerts held against it.

    delay_us: how long a message may have taken; by default what the alerts themselves say.
    """
    assert observed.alerts is not None
    replays, replicas = replays_of(plan, observed), plan.workload.job.replicas
    paths = partial(path_of, workload=plan.workload) if replicas > 1 or replays != WHOLE_RUN else None
    reads_max = None if observed.error else replicas + 2 * observed.restarts  # a process's count may end with it
    delay_us = 0 if plan.is_fenced and delay_us is None else delay_us
    oracle = Oracle(observed.alerts, delay_us=delay_us, replayed=replays, paths=paths, reads_max=reads_max)
    _add_input(oracle, plan, observed)
    return oracle.judgement()


def replays_of(plan: RunPlan, observed: Observed) -> tuple[tuple[int, int], ...]:
    """When what was read again can have been read, Unix microseconds; the whole run if that cannot be told.

    A batch that a restart broke off was never committed. So between two commits there is its time and that of the
    restart: the longest gaps, one a restart, and whatever other gap is as long as no pause between batches should be.
    """
    # What was started again since the status of a job that failed is not known.
    if plan.workload.job.replicas > 1 or observed.error is not None:
        return WHOLE_RUN
    if not observed.restarts:
        return ()
    batches = sorted(observed.job.batches, key=lambda batch: batch.start_unix_ns)
    if len(batches) <= observed.restarts or len(batches) >= BATCHES_MAX:
        return WHOLE_RUN
    gaps_ns = [(before.start_unix_ns + before.duration_ns, after.start_unix_ns) for before, after in pairwise(batches)]
    gaps_ns.sort(key=lambda gap: gap[0] - gap[1])
    found = [gap for i, gap in enumerate(gaps_ns) if i < observed.restarts or gap[1] - gap[0] > _PAUSE_NS_MAX]
    return tuple((begin_ns // 1000 - _CLOCKS_US, end_ns // 1000 + _CLOCKS_US) for begin_ns, end_ns in found)


def reads_max_of(observed: Observed) -> Callable[[int], int]:
    """How often each message of a user's system, by its number, may have been read.

    Once, and twice more for each restart if it was due before the system went on after the last one.
    """
    outputs, often = observed.alerts, 1 + 2 * observed.restarts
    if outputs is None or not observed.restarts:
        return lambda _: 1
    went_on_us = [look.unix_ns // 1000 for look in observed.looks if look.restarts == observed.restarts]
    due_later = outputs.intended_us > (went_on_us[0] + _CLOCKS_US if went_on_us else _NEVER_US)
    once = set((outputs.order_id[due_later] % OUTPUTS_OF_TOPIC).tolist())
    return lambda number: 1 if number in once else often


def decisions_of(observed: Observed) -> Decisions:
    """The decisions on measured orders, in order of receipt."""
    ledger = decode_ledger(observed.decisions_ledger, DECISION)
    decisions = Decisions.from_rows(ledger.rows, ledger.received_us)
    return decisions[decisions.order_id < WARM_UP_ORDER_ID_MIN]


def _add_input(judge: Oracle | DecisionJudge, plan: RunPlan, observed: Observed) -> None:
    loads = plan.opened(observed.starts_unix_ns)
    for quotes in chain.from_iterable(map(quotes_of, loads.values())):
        judge.add_quotes(quotes)
    for orders in orders_of(loads["measured"]):
        judge.add_orders(orders)


def cpu_per_message(looks: Sequence[CpuReading]) -> tuple[float | None, float | None, float | None]:
    """CPU time a message, microseconds: of the job in all of the looks and from the middle one on; of the broker.

    looks: of the judged part of a load, in order of time; the middle one is nearest to half of the time. None is what
    cannot be told: with less than three looks, or if a process of the job was started again in between, since what it
    had used is gone with it, or if its executors' time cannot be told. The broker's is a message sent.
    """
    if len(looks) < 3:
        return None, None, None
    first, *between, last = looks
    half_ns = (first.unix_ns + last.unix_ns) // 2
    middle = min(between, key=lambda look: abs(look.unix_ns - half_ns))
    broker_us = _per_message(last.messages_sent - first.messages_sent, (first.broker_cpu_us, last.broker_cpu_us))
    whole_us, half_us = _of_job(first, last), _of_job(middle, last)
    return (None, None, broker_us) if whole_us is None or half_us is None else (whole_us, half_us, broker_us)


def cpu_us_by_look(looks: Sequence[CpuReading]) -> tuple[list[float], list[float]]:
    """CPU time a message between each two looks that follow each other, and when each ended, Unix seconds.

    What cannot be told is left out.
    """
    used = [(_of_job(before, look), look.unix_ns / 1e9) for before, look in pairwise(looks)]
    known = [(used_us, unix_s) for used_us, unix_s in used if used_us is not None]
    return [used_us for used_us, _ in known], [unix_s for _, unix_s in known]


def _of_job(before: CpuReading, after: CpuReading) -> float | None:
    own, executors = (before.job_cpu_us, after.job_cpu_us), (before.executors_cpu_us, after.executors_cpu_us)
    messages = after.messages_processed - before.messages_processed
    return _per_message(messages, own, executors) if after.restarts == before.restarts else None


def _per_message(messages: int, *counts_us: tuple[int | None, int | None]) -> float | None:
    """None, too, if a count is less than before: what had used it is gone, and no one knows what it used last."""
    used_us = [after - before for before, after in counts_us if before is not None and after is not None]
    known = messages > 0 and len(used_us) == len(counts_us) and min(used_us) >= 0
    return sum(used_us) / messages if known else None
