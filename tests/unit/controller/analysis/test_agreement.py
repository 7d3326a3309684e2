"""The rig's own counts are held against each other, and the first disagreement is told."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.load.schedule import Constant
from market_spread.common.load.source import MessageStream
from market_spread.common.wire.codec import RECEIPT
from market_spread.common.wire.layout import ALERT
from market_spread.controller.analysis.evidence import Assessment, Criterion, Evidence, Verdict, Verdicts
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.analysis.validity import rig_agrees
from market_spread.controller.plan.plan import RunPlan, plan_of_workload
from market_spread.controller.plan.reading import read_workload
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.decisions import DecisionJudgement
from market_spread.loadgen.oracle.oracle import Judgement
from market_spread.sender.framing import Framer
from market_spread.v1.control_pb2 import PartitionSent, ReceiverStatusResponse, SenderStatusResponse
from tests.support.paths import QUICK

ALERTS, MESSAGES = 400, 2_000


def histogram(values_us: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> bytes:
    counts = HdrCounts()
    counts.record(values_us)
    return counts.encode()


@pytest.fixture(scope="module")
def plan() -> RunPlan:
    return plan_of_workload(read_workload(QUICK).changed(frames={"linger_ms": 10}))


@pytest.fixture
def observed() -> Observed:
    """Half of the messages are orders; each waits up to the linger for its frame, and has its alert 3 ms later."""
    ids = np.arange(1, ALERTS + 1)
    lags_us = ids % 100 * 100
    zeros, intended_us = np.zeros(ALERTS, np.int64), ids * 1_000
    sent_us = intended_us + lags_us
    alerts = Alerts(
        ids, np.full(ALERTS, b"A", "S6"), zeros.astype(np.uint8), zeros, zeros, zeros, intended_us, zeros, zeros,
        zeros, sent_us, sent_us + 1_000, sent_us + 2_000, sent_us + 3_000,
    )  # fmt: skip
    return Observed(
        started=datetime(2026, 11, 21, tzinfo=UTC),
        sent=SenderStatusResponse(
            messages_sent=MESSAGES, orders_sent=MESSAGES // 2, frames_sent=100,
            frame_delay_histogram=histogram(np.full(100, 200)),
            send_lag_histogram=histogram(np.arange(MESSAGES) % 100 * 100),
            partitions=[PartitionSent(topic="orders", frames=100, frames_acknowledged=100, next_offset=100)],
        ),
        received=ReceiverStatusResponse(alerts=ALERTS, latency_histogram=histogram(lags_us + 3_000)),
        alerts=alerts,
        drained=True,
    )  # fmt: skip


def test_a_rig_that_agrees_is_told_so(plan: RunPlan, observed: Observed) -> None:
    assert [each.holds for each in rig_agrees(plan, observed)] == [True]


def test_nothing_is_said_before_all_is_drained(plan: RunPlan, observed: Observed) -> None:
    observed.drained = False

    assert rig_agrees(plan, observed) == []


def test_alerts_that_come_after_the_last_status_are_no_disagreement(plan: RunPlan, observed: Observed) -> None:
    observed.received.alerts -= 1

    assert [each.holds for each in rig_agrees(plan, observed)] == [True]


@pytest.mark.parametrize("came_later", [0, 50])
def test_duplicates_that_come_after_the_last_status_are_no_disagreement(
    plan: RunPlan, observed: Observed, came_later: int
) -> None:
    """Of a pair each order has two alerts, the warm-up's as well; one of the two comes back later."""
    assert observed.alerts is not None
    of_other = dataclasses.replace(observed.alerts, quote_sequence=observed.alerts.quote_sequence + 1)
    observed.alerts = Alerts.concatenate([observed.alerts, of_other])
    counts: dict[str, Any] = dict.fromkeys(
        ("orders", "expected", "accepted", "received", "missing", "unexpected", "duplicated", "wrong"), 0
    )
    others: dict[str, Any] = dict.fromkeys(("stale", "undecided", "unchecked", "delay_us"), 0)
    observed.judgement = Judgement(**counts, **others, replayed=ALERTS, disagreeing=ALERTS, sentences={})
    observed.received.warm_up_alerts = 300
    observed.received.alerts_duplicated = 300 + ALERTS - came_later
    observed.received.alerts_disagreeing = ALERTS - 50
    observed.ledger = bytes((2 * 300 + 2 * ALERTS) * (ALERT.width + RECEIPT.width))

    assert [each.holds for each in rig_agrees(plan, observed)] == [came_later > 0]


def test_a_schedule_that_puts_all_alerts_at_the_end_of_their_frames_is_no_disagreement(
    plan: RunPlan, observed: Observed
) -> None:
    assert observed.alerts is not None
    observed.alerts = dataclasses.replace(observed.alerts, sent_us=observed.alerts.intended_us)

    assert [each.holds for each in rig_agrees(plan, observed)] == [True]


def _sent(**changed: object) -> Callable[[Observed], None]:
    def change(observed: Observed) -> None:
        for name, value in changed.items():
            setattr(observed.sent, name, value)

    return change


def _received(**changed: object) -> Callable[[Observed], None]:
    def change(observed: Observed) -> None:
        for name, value in changed.items():
            setattr(observed.received, name, value)

    return change


def _next_offset(observed: Observed) -> None:
    observed.sent.partitions[0].next_offset = 99


def _decided(observed: Observed) -> None:
    observed.received.decisions = 1_000
    observed.decisions = DecisionJudgement(
        orders=1_000, decided=990, accepted=600, missing=10, unknown=1, duplicated=0, wrong=0, stale=0,
        duplicates_allowed=False, sentences={},
    )  # fmt: skip


DISAGREEMENTS: dict[str, Callable[[Observed], None]] = {
    "the receiver counted 401 alerts, and the ledger has 400": _received(alerts=401),
    "the receiver counted 1000 decisions, and the ledger has 991": _decided,
    "the receiver's latencies are not those of the ledger": _received(latency_histogram=histogram(np.full(ALERTS, 9))),
    "of 101 frames the broker acknowledged 100 and lost 0": _sent(frames_sent=101),
    "100 frames of orders/0 were acknowledged, and its offsets end at 99": _next_offset,
    "the sender sent 2001 messages in 100 frames, and has the lags of 2000 and the delays of 100": _sent(
        messages_sent=MESSAGES + 1
    ),
    "the sender's longest lag is 300031 us, and no frame was later than 200 us": _sent(
        send_lag_histogram=histogram(np.append(np.arange(MESSAGES - 1) % 100 * 100, 300_000))
    ),
    "half of the sender's lags are below 200 us, and half of the messages wait 2488 us and longer for their "
    "frames: the lags are false": _sent(send_lag_histogram=histogram(np.full(MESSAGES, 200))),
}


@pytest.mark.parametrize("sentence", DISAGREEMENTS)
def test_a_disagreement_is_told(plan: RunPlan, observed: Observed, sentence: str) -> None:
    DISAGREEMENTS[sentence](observed)

    (evidence,) = rig_agrees(plan, observed)
    assert (evidence.criterion, evidence.holds, evidence.text) == (Criterion.RIG_DISAGREES, False, sentence)


def test_alerts_that_only_the_ledger_lacks_are_not_the_jobs_loss() -> None:
    missing = Evidence(Criterion.ALERTS_MISSING, False, "3 alerts are missing")
    disagrees = Evidence(Criterion.RIG_DISAGREES, False, "the receiver counted 400 alerts, and the ledger has 397")

    conclusion = Verdicts(correct=Assessment((missing,)), valid=Assessment((disagrees,))).conclude()

    assert conclusion.verdict is Verdict.VOID
    assert conclusion.decisive == (Criterion.RIG_DISAGREES, Criterion.ALERTS_MISSING)


@pytest.mark.statistical
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rate=st.integers(1, 1_000_000), linger_ms=st.sampled_from([0.5, 1, 2, 5, 10, 100]),
    frame_messages=st.sampled_from([1, 2, 3, 8, 9, 50, 200]), partitions=st.integers(1, 4),
    phase_ns=st.integers(0, 10**8),
)  # fmt: skip
@example(
    rate=500, linger_ms=2, frame_messages=200, partitions=1, phase_ns=1_999_000
)  # each just before its frame closes
@example(rate=1_000, linger_ms=2, frame_messages=1, partitions=1, phase_ns=0)  # each a frame of its own, full at once
def test_a_sender_that_is_never_late_is_not_blamed_whatever_its_frames(
    plan: RunPlan, observed: Observed, rate: int, linger_ms: float, frame_messages: int, partitions: int, phase_ns: int
) -> None:
    count = 4_000
    intended_ns = 10**18 + phase_ns + np.arange(count) * 10**9 // rate
    framer = Framer(topic="orders", width=1, linger_ns=round(linger_ms * 1e6), frame_messages=frame_messages)
    stream = MessageStream(intended_ns, np.arange(count) % partitions, np.zeros((count, 1), np.uint8))
    frames = [*framer.frames(stream, int(intended_ns[-1]) + 1), *framer.rest()]
    lags_us = np.concatenate([(frame.planned_ns - frame.intended_ns) // 1000 for frame in frames])
    workload = plan.workload.changed(
        frames={"linger_ms": linger_ms, "messages": frame_messages},
        load=Constant(rate, count / rate),
    )
    sent = SenderStatusResponse(
        messages_sent=count, orders_sent=count, frames_sent=len(frames), send_lag_histogram=histogram(lags_us),
        frame_delay_histogram=histogram(np.zeros(len(frames), np.int64)),
    )  # fmt: skip

    (evidence,) = rig_agrees(dataclasses.replace(plan, workload=workload), dataclasses.replace(observed, sent=sent))

    assert evidence.holds, evidence.text
