"""The whole verdict of a run of a simulated system: what the run would have observed, judged as every run is."""

import itertools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from unittest.mock import patch

import numpy as np

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.kafka.client import Record
from market_spread.common.wire.codec import encode, encode_ledger
from market_spread.common.wire.layout import DECISION
from market_spread.controller.analysis import observed as judging
from market_spread.controller.analysis.observed import Observed, judge
from market_spread.controller.analysis.result import Result
from market_spread.controller.analysis.verdict import result_of
from market_spread.controller.clients.services import RoundTrip
from market_spread.controller.plan.plan import RunPlan, plan_of_workload
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.loadgen.columns import Alerts, Decisions
from market_spread.loadgen.oracle.decisions import DecisionJudge
from market_spread.loadgen.oracle.oracle import Oracle
from market_spread.v1.control_pb2 import (
    CommittedBatch,
    JobStatusResponse,
    ReceiverStatusResponse,
    SenderStatusResponse,
)
from tests.mutants.inputs import BEGIN_US, INITIAL_US, Input
from tests.mutants.parts import received
from tests.mutants.system import BATCH_US, PARTITIONS, REAL_TIME, System
from tests.support.paths import QUICK

_FRAMES = 1000


@cache
def plan(mode: str, replicas: int, seconds: int, decisions: str, batch_us: int = BATCH_US) -> RunPlan:
    """The shipped workload with an objective for its latency, as long and in such batches as the simulation."""
    workload = read_workload(QUICK, Overrides(rate_per_s=3_000, duration_s=seconds, mode=mode))
    job = {"replicas": replicas, "batch_s": batch_us / 1e6 if mode == REAL_TIME else 1}
    # Where there are two jobs, their batches must be longer.
    job["batch_s"] *= 4 if replicas > 1 and mode == REAL_TIME else 1
    return plan_of_workload(
        workload.changed(
            decisions=decisions,
            market={"partitions": PARTITIONS},
            job=job,
            frames={"linger_ms": 10.0},
            warm_up={"settle_s": 5.0},
            slo={"p95_ms": 4_500},
        )
    )


def result(
    system: System,
    given: Input,
    decided: Callable[[Decisions], Decisions] | None = None,
    round_trips: Mapping[str, Mapping[str, RoundTrip]] = MappingProxyType({}),
) -> tuple[Observed, Result]:
    """What was observed of the system, and the result; decided: of a job that tells all decisions, changed so.

    round_trips: what tells the clocks apart, nothing by default.
    """
    alerts, decisions = system.run(given), None
    if decided is not None:
        alerts, decisions = system.decide(given)
        decisions = decided(decisions)
    told = "rejected" if decisions is None else "all"
    run_plan = plan(system.mode, system.replicas, system.seconds, told, system.batch_us)
    observed = _observed(system, given, alerts)
    observed.round_trips = {phase: dict(trips) for phase, trips in round_trips.items()}
    if decisions is not None:
        observed.decisions_ledger = _ledger(decisions)
        first = np.unique(decisions.order_id, return_index=True)[1]
        observed.received.decisions = len(first)
        latencies = HdrCounts()
        latencies.record((decisions.received_us - decisions.intended_us)[first])
        observed.received.decision_latency_histogram = latencies.encode()
    # The input is given, and need not be drawn for each system again.
    with patch.object(judging, "_add_input", lambda oracle, *_: _add(oracle, given)):
        judge(run_plan, observed)
    return observed, result_of(run_plan, observed, "simulated")


def _ledger(decisions: Decisions) -> bytes:
    names = (each.name for each in DECISION.fields[1:])
    # No decision is judged by its stamps.
    rows = encode(DECISION, {name: getattr(decisions, name, decisions.intended_us) for name in names})
    return encode_ledger(rows, 0, np.arange(len(rows)), decisions.received_us)


def _add(oracle: Oracle | DecisionJudge, given: Input) -> None:
    oracle.add_quotes(given.quotes)
    oracle.add_orders(given.orders)


def _observed(system: System, given: Input, alerts: Alerts) -> Observed:
    initial = int((given.quotes.intended_us < BEGIN_US).sum())
    sent = len(given.quotes) + len(given.orders) - initial
    latencies = HdrCounts()
    first = np.sort(np.unique(alerts.order_id, return_index=True)[1])
    latencies.record((alerts.received_us - alerts.intended_us)[first])
    quote_of = dict(zip(alerts.order_id[first].tolist(), alerts.quote_sequence[first].tolist(), strict=True))
    named = np.array([quote_of[order_id] for order_id in alerts.order_id.tolist()], np.int64)
    batches = [batch for batch in system.batches_us if batch[1] < BEGIN_US + (system.seconds + 3) * 1_000_000]
    return Observed(
        started=datetime(2026, 11, 21, tzinfo=UTC),
        sent=SenderStatusResponse(
            messages_sent=sent, frames_sent=_FRAMES,
            frame_delay_histogram=_all(500, _FRAMES), send_lag_histogram=_all(5_000, sent),
        ),
        received=ReceiverStatusResponse(
            alerts=len(first), latency_histogram=latencies.encode(),
            alerts_duplicated=len(alerts) - len(first),
            alerts_disagreeing=int((alerts.quote_sequence != named).sum()),
            alerts_unreadable=_unreadable(system.beside(alerts)),
        ),
        job=JobStatusResponse(
            messages_committed=initial + sent, messages_processed=initial + sent,
            restarts=int(system.restart is not None),
            batches=[
                CommittedBatch(batch_id=i, start_unix_ns=begin_us * 1000, duration_ns=(end_us - begin_us) * 1000)
                for i, (begin_us, end_us) in enumerate(batches)
            ],
        ),
        starts_unix_ns={"initial": INITIAL_US * 1000, "measured": BEGIN_US * 1000},
        sent_before=initial,
        alerts=alerts,
        drained=True,
    )  # fmt: skip


def _unreadable(records: list[bytes]) -> int:
    """How many of these records a receiver takes for no alert."""
    with TemporaryDirectory() as folder:
        return received(Path(folder), list(itertools.starmap(Record, enumerate(records)))).alerts_unreadable


def _all(value_us: int, count: int) -> bytes:
    histogram = HdrCounts()
    histogram.record(np.full(count, value_us, np.int64))
    return histogram.encode()
