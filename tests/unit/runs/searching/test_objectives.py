"""Objectives, and what a run says of its rate."""

import pytest

from market_spread.common.errors import UsageError
from market_spread.runs.searching.objectives import Finding, Objectives, Outcome, judge, read_objectives
from tests.unit.runs.comparing.made import run

GOOD = {
    "latency_ns.p50": 7e6,
    "latency_ns.p99": 40e6,
    "duration_s": 30.0,
    "offered_rate_per_s": 20_000.0,
    "achieved_rate_per_s": 19_990.0,
    "alerts_missing": 0.0,
    "messages_failed": 0.0,
    "backlog.slope_per_s": 3.0,
    "backlog.slope_per_s_low": -12.0,
}
P99 = Objectives((("p99", 50.0),))


def test_objectives_are_read() -> None:
    objectives = read_objectives(("p99=50ms", "p99.9=0.2s", "max=900us", "rate=99%", "loss=3"))

    assert objectives == Objectives((("p99", 50.0), ("p99.9", 200.0), ("max", 0.9)), 0.99, 3)
    assert objectives.text == "p99 ≤ 50 ms, p99.9 ≤ 200 ms, max ≤ 0.9 ms, rate ≥ 0.99 of the offered, loss ≤ 3"


@pytest.mark.parametrize(
    "text", ["p99", "p99=50", "p98=50ms", "p99=0ms", "p99=1.2.3ms", "rate=120%", "rate=fast", "loss=-1", "loss=few"]
)
def test_what_is_no_objective_is_said(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_objectives((text,))

    assert str(raised.value).startswith(f"--slo {text}; use p50, p95, p99, p99.9, p99.99, max with a time (p99=50ms)")


def test_a_good_run_holds_its_rate() -> None:
    assert judge(run(0, GOOD), P99) == Finding(Outcome.HELD)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"latency_ns.p99": 61e6}, "p99 is 61 ms"),
        (
            {"backlog.slope_per_s": 900.0, "backlog.slope_per_s_low": 700.0},
            "the backlog grows by 900 messages a second",
        ),
        ({"alerts_missing": 2.0}, "2 messages or alerts are lost"),
        ({"messages_failed": 5.0, "alerts_missing": 1.0, "latency_ns.p99": 61e6}, "6 messages or alerts are lost"),
    ],
)
def test_what_breaks_a_rate_is_said(changes: dict[str, float], reason: str) -> None:
    assert judge(run(0, GOOD | changes), P99) == Finding(Outcome.BROKEN, reason)


@pytest.mark.parametrize(("low_per_s", "outcome"), [(660.0, Outcome.HELD), (670.0, Outcome.BROKEN)])
def test_a_backlog_may_grow_by_what_a_batch_leaves(low_per_s: float, outcome: Outcome) -> None:
    assert judge(run(0, GOOD | {"backlog.slope_per_s_low": low_per_s}), P99).outcome is outcome


def test_loss_may_be_allowed() -> None:
    assert judge(run(0, GOOD | {"alerts_missing": 2.0}), Objectives(loss_max=2)).outcome is Outcome.HELD


def test_a_rate_that_is_not_achieved_is_broken() -> None:
    finding = judge(run(0, GOOD | {"achieved_rate_per_s": 15_000.0}), Objectives(rate_share_min=0.99))

    assert finding == Finding(Outcome.BROKEN, "15,000 messages a second are achieved")


def test_a_run_that_failed_for_another_reason_is_broken() -> None:
    failed = run(0, GOOD, verdict="failed", reasons=("the job does not keep up: the median latency grew",))

    assert judge(failed, P99) == Finding(Outcome.BROKEN, "the job does not keep up: the median latency grew")


def test_a_void_run_says_nothing() -> None:
    void = run(0, GOOD | {"latency_ns.p99": 90e6}, void_reasons=("the generator was late",))

    assert judge(void, P99) == Finding(Outcome.VOID, "the generator was late")


def test_a_run_whose_lag_grows_is_broken() -> None:
    growing = run(0, GOOD, lag_reasons=("the lag grows", "the latency drifts"))

    assert judge(growing, P99) == Finding(Outcome.BROKEN, "the lag grows")


def test_a_percentile_that_the_run_cannot_have_is_said() -> None:
    with pytest.raises(UsageError, match=r"--slo p99.9: run run-0 has too few alerts for it; make the runs longer"):
        judge(run(0, GOOD), Objectives((("p99.9", 50.0),)))
