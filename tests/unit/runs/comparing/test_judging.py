"""The verdict of a comparison."""

from collections.abc import Sequence

import pytest

from market_spread.runs.comparing.figures import Figure
from market_spread.runs.comparing.groups import Group
from market_spread.runs.comparing.judging import Change, Comparison, Judged, compare
from tests.unit.runs.comparing.made import group, run

P99 = Figure("latency_ns.p99", "latency p99", "ms", 1e6)
RATE = Figure("achieved_rate_per_s", "achieved rate", higher_is_better=True)
EIGHT = [20.0, 20.1, 20.2, 20.3, 20.4, 20.5, 20.6, 20.7]


def times(values: Sequence[float], factor: float) -> list[float]:
    return [value * factor for value in values]


def judged(comparison: Comparison) -> Judged:
    return comparison.pairs[0].judged[0]


def test_a_tenth_slower_is_worse() -> None:
    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 1.1))), (P99,))

    assert judged(comparison).change is Change.WORSE
    assert judged(comparison).note == ""
    assert comparison.exit_status == 1


def test_a_tenth_faster_is_better() -> None:
    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 0.9))), (P99,))

    assert judged(comparison).change is Change.BETTER
    assert comparison.exit_status == 0


def test_more_is_better_where_the_figure_says_so() -> None:
    path = "achieved_rate_per_s"

    comparison = compare((group("a", EIGHT, path), group("b", times(EIGHT, 1.1), path)), (RATE,))

    assert judged(comparison).change is Change.BETTER


def test_a_difference_that_does_not_matter_is_the_same_however_sure_it_is() -> None:
    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 1.02))), (P99,))

    found = judged(comparison)
    assert found.corrected_p is not None
    assert found.corrected_p < 0.05
    assert found.change is Change.SAME
    assert comparison.exit_status == 0


def test_the_least_difference_is_the_figures_own() -> None:
    strict = Figure("latency_ns.p99", "latency p99", least_share=0.015)

    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 1.03))), (strict,))

    assert judged(comparison).change is Change.WORSE


def test_noise_is_undecided() -> None:
    noisy = [10.0, 40.0, 12.0, 38.0, 15.0, 30.0, 20.0, 25.0]

    comparison = compare((group("a", noisy), group("b", noisy[::-1])), (P99,))

    assert judged(comparison).change is Change.UNDECIDED
    assert judged(comparison).note == "the runs differ too much among themselves; make more"
    assert comparison.exit_status == 3


def test_a_difference_that_perhaps_does_not_matter_is_undecided() -> None:
    spread = [20.0, 20.4, 20.8, 21.2, 21.6, 22.0, 22.4, 22.8]

    comparison = compare(
        (group("a", spread), group("b", times(spread, 1.049))), (Figure(P99.path, "", least_share=0.05),)
    )

    found = judged(comparison)
    assert found.change is Change.UNDECIDED


def test_seven_runs_are_too_few_for_a_verdict() -> None:
    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 2)[:7])), (P99,))

    assert judged(comparison).change is Change.UNDECIDED
    assert judged(comparison).note == "7 runs; a verdict needs 8 in each group"


def test_values_that_some_runs_lack_do_not_count_as_runs() -> None:
    slower = Group("b", (*group("b", times(EIGHT, 2)).runs[:7], run(99)))

    comparison = compare((group("a", EIGHT), slower), (P99,))

    assert judged(comparison).runs == (8, 7)
    assert judged(comparison).change is Change.UNDECIDED


def test_a_figure_of_one_group_alone_is_undecided() -> None:
    comparison = compare((group("a", EIGHT), Group("b", tuple(run(n) for n in range(8)))), (P99,))

    assert judged(comparison).note == "no run of b has it"
    assert comparison.exit_status == 3


def test_a_figure_that_no_run_has_is_left_out() -> None:
    comparison = compare((group("a", EIGHT), group("b", EIGHT)), (P99, RATE))

    assert [each.figure for each in comparison.pairs[0].judged] == [P99]


def test_no_figure_at_all_is_undecided() -> None:
    comparison = compare((group("a", EIGHT), group("b", EIGHT)), (RATE,))

    assert comparison.pairs[0].change is Change.UNDECIDED
    assert comparison.exit_status == 3


def test_values_of_zero_have_no_ratio() -> None:
    comparison = compare((group("a", EIGHT), group("b", [0.0, *EIGHT[1:]])), (P99,))

    assert judged(comparison).note == "not all its values are above 0, so there is no ratio"


def test_every_group_is_judged_by_the_first_and_corrected_for_all() -> None:
    groups = (group("a", EIGHT), group("b", times(EIGHT, 1.2)), group("c", times(EIGHT, 0.8)))

    comparison = compare(groups, (P99,))

    assert [(pair.first.name, pair.other.name, pair.change) for pair in comparison.pairs] == [
        ("a", "b", Change.WORSE),
        ("a", "c", Change.BETTER),
    ]
    assert judged(comparison).p == pytest.approx(2 / 12870)
    assert judged(comparison).corrected_p == pytest.approx(4 / 12870)
    assert comparison.exit_status == 1


def test_one_worse_figure_outweighs_an_undecided_one() -> None:
    noisy = [10.0, 40.0, 12.0, 38.0, 15.0, 30.0, 20.0, 25.0]
    groups = [
        Group(
            name,
            tuple(run(n, {P99.path: p99, RATE.path: rate}) for n, (p99, rate) in enumerate(zip(a, b, strict=True))),
        )
        for name, a, b in (("a", EIGHT, noisy), ("b", times(EIGHT, 1.2), noisy[::-1]))
    ]

    comparison = compare(groups, (P99, RATE))

    assert [each.change for each in comparison.pairs[0].judged] == [Change.WORSE, Change.UNDECIDED]
    assert comparison.exit_status == 1


def test_a_void_run_in_it_gives_no_exit_status_of_a_verdict() -> None:
    slower = group("b", times(EIGHT, 1.1))
    forced = Group("b", (*slower.runs[:7], run(99, {P99.path: 22.0}, void_reasons=("the generator was late",))))

    comparison = compare((group("a", EIGHT), forced), (P99,))

    assert judged(comparison).change is Change.WORSE
    assert comparison.is_forced
    assert comparison.exit_status == 3
