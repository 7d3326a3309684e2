"""All decisions on real Kafka and Spark: each order of a run has one, and a job that loses some is found."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.wire.codec import decode_ledger
from market_spread.common.wire.layout import DECISION
from market_spread.controller.analysis.observed import Observed, RunProgress
from market_spread.controller.deploy.local import stack as stacks
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.controller.session.run import Run
from tests.support.judging import is_right

SMALL = Path(__file__).parent / "workloads" / "small.yaml"
REAL_TIME, MICRO_BATCH = "real-time", "micro-batch"

pytestmark = pytest.mark.timeout(420)

Meanwhile = Callable[[LocalStack, RunProgress], None]


def observed(folder: Path, mode: str, meanwhile: Meanwhile = lambda processes, progress: None) -> Observed:
    """A small run that asks for all decisions. meanwhile: called all the time, with what goes on.

    Few of its orders are probes, whose verdicts change: what those met nobody knows where a slow machine delays them by
    seconds, and an oracle that knows too little calls no alert right.
    """
    overrides = Overrides(rate_per_s=2_000, duration_s=10, mode=mode)
    workload = read_workload(SMALL, overrides).changed(decisions="all", job={"replicas": 1}, market={"probes_per_s": 5})
    processes = LocalStack(folder=folder, java=find_java(), jars=JarCache(), workload=workload, clock=SystemClock())
    run = Run(
        plan_of_workload(workload),
        processes,
        run_id="run-1",
        clock=SystemClock(),
        show=lambda progress: meanwhile(processes, progress),
        interrupted=threading.Event(),
    )
    try:
        return run.carry_out()
    finally:
        processes.stop()


@pytest.mark.full
def test_every_order_has_its_decision(tmp_path: Path) -> None:
    """In Real-Time Mode; in the other one below, of a job that loses some, and after a kill."""
    found = observed(tmp_path, REAL_TIME)

    decisions, alerts = found.decisions, found.judgement
    assert found.error is None
    assert decisions is not None
    assert alerts is not None
    assert is_right(decisions), decisions.sentences
    assert decisions.orders == decisions.decided == found.sent.orders_sent > 8_000
    assert decisions.orders - decisions.accepted == alerts.received > 0
    assert (decisions.duplicated, alerts.missing, alerts.unexpected, alerts.wrong) == (0, 0, 0, 0)
    assert_all_are_received(found, decisions.orders)


def assert_all_are_received(found: Observed, count: int) -> None:
    """So many decisions once each: counted, in the ledger, and with a latency."""
    received = found.received
    counts = (received.decisions, received.decisions_duplicated, received.decisions_unreadable)
    assert counts == (count, 0, 0)
    assert received.warm_up_decisions > 0
    assert len(decode_ledger(found.decisions_ledger, DECISION)) == received.decisions + received.warm_up_decisions
    assert HdrCounts.decode(received.decision_latency_histogram).count == count


LOSING = '''
from market_spread.common.wire.layout import ALERT, DECISION
from market_spread.streaming.applications import market_spread as right
from market_spread.streaming import Map, Sink


def losing():
    """Every 1,000th accepted order is forgotten on its way out."""
    decided = right._orders_with_quotes(None).to(Map("verdict", {"verdict": right.verdict}))
    alerts = Sink("alerts", ALERT, key="order_id", keep=lambda order: order.verdict == "R")
    decisions = Sink(
        "decisions", DECISION, key="order_id", keep=lambda order: (order.verdict == "R") | (order.order_id % 1_000 != 7)
    )
    return decided.to_sink(alerts, decisions, name="losing")
'''


def test_job_that_loses_every_thousandth_accepted_order_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its alerts are all there and right, so that without the decisions no one would know."""
    (tmp_path / "losing.py").write_text(LOSING)
    monkeypatch.setattr(stacks, "APPLICATIONS", {"all": f"{tmp_path}/losing.py:losing"})

    found = observed(tmp_path / "run", MICRO_BATCH)

    assert found.error is None
    assert found.judgement is not None
    assert is_right(found.judgement), found.judgement.void_reason
    assert found.decisions is not None
    assert not is_right(found.decisions)
    assert 5 <= found.decisions.missing <= 12
    assert found.decisions.missing == found.decisions.orders - found.decisions.decided
    assert (found.decisions.wrong, found.decisions.stale, found.decisions.unknown) == (0, 0, 0)
    assert_all_are_received(found, found.decisions.decided)
    lost = [int(sentence.split()[1]) for sentence in found.decisions.sentences["missing"]]
    assert all(order_id % 1_000 == 7 for order_id in lost)


def test_decisions_are_complete_after_the_job_was_killed(tmp_path: Path) -> None:
    killed = threading.Event()

    def kill_once(processes: LocalStack, progress: RunProgress) -> None:
        sent = progress.sender.messages_sent if progress.phase == "measuring" and progress.sender else 0
        if sent > 8_000 and not killed.is_set():
            killed.set()
            processes.children["job"].stop(within_s=0.1)
            processes.restart_job()
            processes.job_restarts += 1

    found = observed(tmp_path, MICRO_BATCH, kill_once)

    assert killed.is_set()
    assert found.error is None
    assert found.decisions is not None
    assert is_right(found.decisions), found.decisions.sentences
    assert found.decisions.duplicates_allowed
    assert found.decisions.decided == found.decisions.orders > 8_000
    assert found.judgement is not None
    assert found.decisions.orders - found.decisions.accepted == found.judgement.received > 0
