"""How often a comparison, a search or a history errs, by simulation: the promises of docs/comparing.md.

The seeds are fixed, so a failure is a change of the method and not of luck. tests/benchmarks/verdict_rates has the
whole tables.
"""

import pytest

from tests.benchmarks.verdict_rates.simulated import (
    DRIFTS,
    Bench,
    Drift,
    Series,
    autoregressive,
    history_rates,
    hourly,
    none,
    rates,
    search_rates,
    two_states,
)

pytestmark = pytest.mark.statistical
REPETITIONS = 150


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
def test_same_code_is_called_better_or_worse_in_at_most_five_of_a_hundred(drift: Drift) -> None:
    assert rates(Bench(drift), repetitions=REPETITIONS, seed=7).any_wrong <= 0.05


@pytest.mark.parametrize(("drift", "at_least"), [(none, 0.9), (hourly, 0.8)])
def test_a_tenth_slower_is_found_with_eight_pairs(drift: Drift, at_least: float) -> None:
    assert rates(Bench(drift, slower_share=0.1), repetitions=REPETITIONS, seed=8).worse >= at_least


def test_same_code_at_little_noise_is_called_the_same() -> None:
    assert rates(Bench(hourly, noise_share=0.01, pairs=12), repetitions=50, seed=9).same >= 0.75


def test_a_shift_below_what_matters_is_seldom_called_worse() -> None:
    assert rates(Bench(none, slower_share=0.02), repetitions=REPETITIONS, seed=10).worse <= 0.05


def test_groups_made_one_after_the_other_get_no_verdict() -> None:
    found = rates(Bench(hourly, slower_share=0.2, one_after_the_other=True), repetitions=30, seed=11)

    assert (found.worse, found.same, found.any_wrong) == (0, 0, 0)


@pytest.mark.parametrize("noise_share", [0.03, 0.1])
def test_slow_runs_that_are_void_make_no_slower_system_the_same_or_better(noise_share: float) -> None:
    bench = Bench(autoregressive, slower_share=0.2, noise_share=noise_share, void_above=0.1)

    assert rates(bench, repetitions=REPETITIONS, seed=12).any_wrong <= 0.02


@pytest.mark.parametrize(
    ("drift", "noise_share"),
    [(none, 0.05), (none, 0.2), (hourly, 0.05), (two_states, 0.05)],
    ids=["little noise", "noise", "hourly", "two states"],
)
def test_the_interval_of_a_search_holds_the_limit(drift: Drift, noise_share: float) -> None:
    found = search_rates(drift, noise_share, repetitions=40, seed=13)

    assert found.covers >= 0.9
    assert found.covers_search >= 0.85  # 0.9 is the promise; 40 searches are few
    assert found.not_bracketed <= 0.15
    assert found.runs <= 20


@pytest.mark.parametrize(
    "series",
    [Series(20), Series(20, memory=0.5), Series(30, drift=hourly, noise_share=0.03, has_anchor=True)],
    ids=["independent", "remembering", "by the anchor"],
)
def test_a_history_without_a_change_has_none_in_nineteen_of_twenty(series: Series) -> None:
    falsely, _ = history_rates(series, repetitions=60, seed=14)

    assert falsely <= 0.05


def test_a_fifth_slower_is_found_in_a_history() -> None:
    assert history_rates(Series(30, noise_share=0.03, step_share=0.2), repetitions=10, seed=15)[1] >= 0.9
