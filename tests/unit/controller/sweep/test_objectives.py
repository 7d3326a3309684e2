"""Objectives, and what a run says of its rate."""

from dataclasses import replace
from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.controller.analysis.evidence import Achieved, Verdict
from market_spread.controller.compare.runs import read_run
from market_spread.controller.plan.objectives import Objectives
from market_spread.controller.sweep.search import RateOutcome, Trial
from market_spread.controller.sweep.session import judge
from tests.unit.controller.compare.run_fixtures import run, write_run

GOOD = Achieved({"p50": 7_000_000, "p99": 40_000_000, "p99.9": None}, 20_000.0, 19_990.0, 0)
P99 = Objectives(p99_ms=50.0, loss=0)


@pytest.mark.parametrize("of_alerts_ns", [None, 7_000_000])
def test_slow_decisions_miss_an_objective_also_where_alerts_are_too_few_for_it(of_alerts_ns: int | None) -> None:
    slow = Achieved({"p99": of_alerts_ns}, 20_000.0, 19_990.0, 0, {"p99": 2}, {"p99": 90_000_000})

    (found,) = slow.assess(Objectives(p99_ms=50))
    (met,) = slow.assess(Objectives(p99_ms=100))

    assert (found.holds, found.text) == (False, "p99 of all decisions is 90.0 ms; the objective is 50 ms")
    assert met.holds is (None if of_alerts_ns is None else True)


def test_objectives_are_read() -> None:
    objectives = Objectives.of_options(("p50=900us", "p99=50ms", "p99.9=0.2s", "rate=99%", "loss=3"))

    assert objectives == Objectives(p50_ms=0.9, p99_ms=50.0, p99_9_ms=200.0, rate_share=0.99, loss=3)
    assert objectives.text == "p50 ≤ 0.9 ms, p99 ≤ 50 ms, p99.9 ≤ 200 ms, rate ≥ 0.99 of the offered, loss ≤ 3"


@pytest.mark.parametrize(
    "text", ["p99", "p99=50", "p98=50ms", "p99=0ms", "p99=1.2.3ms", "rate=120%", "rate=fast", "loss=-1", "loss=few"]
)
def test_what_is_no_objective_is_said(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        Objectives.of_options((text,))

    assert str(raised.value).startswith(f"--slo {text}; use p50, p95, p99, p99.9, p99.99, max with a time (p99=50ms)")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("p50=20ms", "p99=10ms"), "--slo p99=10ms; use 20ms or more, the limit of p50"),
        (("p99=50ms", "p99=60ms"), "--slo p99=60ms; --slo p99=50ms asks for that already; leave one of them out"),
        (("loss=0", "loss=5"), "--slo loss=5; --slo loss=0 asks for that already; leave one of them out"),
        (
            ("rate=100%",),
            "--slo rate=100%; use less than 1, since the last alert comes after the last message was sent",
        ),
        (("p99=5000s",), "--slo p99=5000s; use a number from 0.001 to 3.6e+06"),
    ],
)
def test_objectives_that_no_workload_may_have_are_refused(texts: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        Objectives.of_options(texts)

    assert str(raised.value) == said


def test_a_good_run_holds_its_rate() -> None:
    assert judge(1_000, run(0, achieved=GOOD), P99) == Trial(1_000, RateOutcome.HELD)


@pytest.mark.parametrize(
    ("achieved", "objectives", "reason"),
    [
        (replace(GOOD, latency_ns={"p99": 61_000_000}), P99, "p99 is 61.0 ms; the objective is 50 ms"),
        (replace(GOOD, lost=2), P99, "2 messages were lost, on the way there or back; the objective is 0"),
        (
            replace(GOOD, achieved_rate_per_s=15_000.0),
            Objectives(rate_share=0.99),
            "15,000 messages/s were achieved; the objective is 99.0% of 20,000",
        ),
    ],
)
def test_what_breaks_a_rate_is_said(achieved: Achieved, objectives: Objectives, reason: str) -> None:
    assert judge(1_000, run(0, achieved=achieved), objectives) == Trial(1_000, RateOutcome.BROKEN, reason)


def test_loss_may_be_allowed() -> None:
    assert judge(1_000, run(0, achieved=replace(GOOD, lost=2)), Objectives(loss=2)).outcome is RateOutcome.HELD


def test_a_run_that_failed_for_another_reason_is_broken() -> None:
    reasons = ("the job does not keep up: the median latency grew",)
    failed = run(0, achieved=GOOD, verdict=Verdict.FAILED, reasons=reasons)

    assert judge(1_000, failed, P99) == Trial(1_000, RateOutcome.BROKEN, reasons[0])


def test_a_void_run_says_nothing() -> None:
    reasons = ("the generator was late",)
    void = run(0, verdict=Verdict.VOID, reasons=reasons, achieved=replace(GOOD, latency_ns={"p99": 90_000_000}))

    assert judge(1_000, void, P99) == Trial(1_000, RateOutcome.VOID, "the generator was late")


def test_a_percentile_that_the_run_cannot_have_says_nothing_of_the_rate() -> None:
    reason = (
        "--slo p99.9: run run-0 has too few samples for it; "
        "make longer runs with -- --duration in another --runs-folder"
    )

    assert judge(1_000, run(0, achieved=GOOD), Objectives(p99_9_ms=50.0)) == Trial(1_000, RateOutcome.VOID, reason)


def test_a_run_with_planned_faults_is_judged_without_them_as_it_was_itself(tmp_path: Path) -> None:
    slow = {"p50": 9_000_000_000, "p99": 9_000_000_000}
    made = write_run(tmp_path, latency_ns=slow, latency_without_faults_ns={"p50": 500_000, "p99": 1_000_000})

    assert judge(1_000, read_run(made), P99).outcome is RateOutcome.HELD
