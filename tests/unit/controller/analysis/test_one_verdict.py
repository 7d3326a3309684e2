"""One result has one verdict, whoever reads it: the run, the comparison, the sweep and the list."""

import itertools
import json
from pathlib import Path

import pytest

from market_spread.controller.analysis.evidence import Assessment, Cause, Criterion, Evidence, Verdict, Verdicts
from market_spread.controller.archive.store import RunStore
from market_spread.controller.compare.runs import read_run
from market_spread.controller.plan.objectives import Objectives
from market_spread.controller.sweep.search import RateOutcome
from market_spread.controller.sweep.session import judge
from tests.unit.controller.compare.run_fixtures import write_run

OUTCOMES = {Verdict.PASSED: RateOutcome.HELD, Verdict.FAILED: RateOutcome.BROKEN, Verdict.VOID: RateOutcome.VOID}
PAIRS = [*itertools.combinations(Criterion, 2), *((each, each) for each in Criterion)]


def verdicts_of(*failing: Criterion) -> Verdicts:
    """The assessments of a run in which these fail and all else holds."""

    def assessment(question: str) -> Assessment:
        criteria = [each for each in Criterion if question_of(each) == question]
        return Assessment(tuple(Evidence(each, each not in failing, f"{each} says so") for each in criteria))

    return Verdicts(assessment("correct"), assessment("valid"), assessment("objectives"))


def question_of(criterion: Criterion) -> str:
    if criterion.cause is Cause.RIG:
        return "valid"
    criteria = list(Criterion)
    return "correct" if criteria.index(criterion) < criteria.index(Criterion.LAG_GROWING) else "objectives"


@pytest.mark.parametrize("failing", PAIRS, ids="-".join)
def test_everyone_says_what_the_result_says(failing: tuple[Criterion, ...], tmp_path: Path) -> None:
    verdicts = verdicts_of(*failing)
    conclusion = verdicts.conclude()
    written = write_run(
        tmp_path,
        verdict=conclusion.verdict.value,
        cause=conclusion.cause,
        latencies_void=conclusion.latencies_void,
        reasons=list(conclusion.reasons),
        verdicts=verdicts.to_mapping(),
    )

    run = read_run(written)
    (listed,) = RunStore(str(tmp_path)).summaries()

    assert run.verdict is conclusion.verdict
    assert run.is_void is conclusion.latencies_void
    assert judge(1, run, Objectives()).outcome is OUTCOMES[conclusion.verdict]
    assert (listed["verdict"], listed["cause"]) == (conclusion.verdict, conclusion.cause)
    assert conclusion.reasons
    assert json.loads((written / "result.json").read_text())["verdict"] == conclusion.verdict


@pytest.mark.parametrize("criterion", Criterion)
def test_each_criterion_alone_is_laid_to_whom_it_belongs(criterion: Criterion) -> None:
    conclusion = verdicts_of(criterion).conclude()

    assert conclusion.cause is criterion.cause
    assert conclusion.verdict is (Verdict.FAILED if criterion.cause is Cause.SYSTEM else Verdict.VOID)


@pytest.mark.parametrize("consequence", [Criterion.UNDECIDED, Criterion.NOT_STEADY])
@pytest.mark.parametrize("behind", [Criterion.LAG_GROWING, Criterion.STALLED])
def test_what_falling_behind_brings_about_excuses_nothing(behind: Criterion, consequence: Criterion) -> None:
    conclusion = verdicts_of(behind, consequence).conclude()

    assert (conclusion.verdict, conclusion.latencies_void) == (Verdict.FAILED, False)


def test_a_latency_beyond_its_objective_excuses_undecided_orders_and_no_cold_begin() -> None:
    assert verdicts_of(Criterion.LATENCY_P95, Criterion.UNDECIDED).conclude().verdict is Verdict.FAILED
    assert verdicts_of(Criterion.LATENCY_P95, Criterion.UNDECIDED, Criterion.STOLEN).conclude().verdict is Verdict.VOID
    assert verdicts_of(Criterion.LATENCY_P95, Criterion.NOT_STEADY).conclude().verdict is Verdict.VOID


@pytest.mark.parametrize("slow", [Criterion.LAG_GROWING, Criterion.STALLED, Criterion.LATENCY_P99, Criterion.RATE])
def test_slowness_on_a_spoiled_machine_is_the_machines(slow: Criterion) -> None:
    assert verdicts_of(slow, Criterion.STOLEN).conclude().verdict is Verdict.VOID


@pytest.mark.parametrize("late", [Criterion.LATE_GENERATOR, Criterion.GENERATOR_QUEUE])
def test_a_load_that_was_late_excuses_no_stall_but_all_other_slowness(late: Criterion) -> None:
    conclusion = verdicts_of(Criterion.STALLED, Criterion.LAG_GROWING, late).conclude()

    assert (conclusion.verdict, conclusion.cause, conclusion.latencies_void) == (Verdict.FAILED, Cause.SYSTEM, True)
    assert conclusion.decisive == (Criterion.STALLED, late)
    assert verdicts_of(Criterion.LAG_GROWING, late).conclude().verdict is Verdict.VOID
    spoiled = verdicts_of(Criterion.STALLED, late, Criterion.FOREIGN_LOAD).conclude()
    assert spoiled.verdict is Verdict.VOID


def test_nothing_against_it_is_passed() -> None:
    conclusion = verdicts_of().conclude()

    assert (conclusion.verdict, conclusion.cause, conclusion.reasons) == (Verdict.PASSED, None, ())
