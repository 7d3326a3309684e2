"""The verdict of a comparison."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from market_spread.controller.compare.comparison import Comparison, Direction, Judged, compare, pairs_needed
from market_spread.controller.compare.figures import Figure
from market_spread.controller.compare.groups import Group, are_in_turn
from market_spread.controller.compare.runs import Place, RecordedRun
from tests.unit.controller.compare.run_fixtures import group, run

P99 = Figure("latency_ns.p99", "latency p99", "ms", 1e6)
RATE = Figure("achieved_rate_per_s", "achieved rate", higher_is_better=True)
EIGHT = [20.0, 20.1, 20.2, 20.3, 20.4, 20.5, 20.6, 20.7]


def times(values: Sequence[float], factor: float) -> list[float]:
    return [value * factor for value in values]


def judged(comparison: Comparison) -> Judged:
    return comparison.contrasts[0].judged[0]


def test_a_tenth_slower_is_worse() -> None:
    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 1.1))), (P99,))

    assert judged(comparison).change is Direction.WORSE
    assert judged(comparison).note == ""
    assert comparison.exit_status == 1


def test_a_tenth_faster_is_better() -> None:
    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 0.9))), (P99,))

    assert judged(comparison).change is Direction.BETTER
    assert comparison.exit_status == 0


def test_more_is_better_where_the_figure_says_so() -> None:
    path = "achieved_rate_per_s"

    comparison = compare((group("a", EIGHT, path), group("b", times(EIGHT, 1.1), path)), (RATE,))

    assert judged(comparison).change is Direction.BETTER


def test_a_chosen_figure_that_no_run_has_is_undecided_and_a_usual_one_left_out() -> None:
    groups, chosen = (group("a", EIGHT), group("b", EIGHT)), replace(RATE, is_chosen=True)

    comparison = compare(groups, (P99, chosen))

    assert compare(groups, (P99, RATE)).exit_status == 0
    assert [each.change for each in comparison.contrasts[0].judged] == [Direction.SAME, Direction.UNDECIDED]
    assert comparison.exit_status == 3


def test_a_difference_that_does_not_matter_is_the_same_however_sure_it_is() -> None:
    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 1.02))), (P99,))

    found = judged(comparison)
    assert found.corrected_p is not None
    assert found.corrected_p < 0.05
    assert found.change is Direction.SAME
    assert comparison.exit_status == 0


def test_the_least_difference_is_the_figures_own() -> None:
    strict = Figure("latency_ns.p99", "latency p99", least_share=0.015)

    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 1.03))), (strict,))

    assert judged(comparison).change is Direction.WORSE


def test_noise_is_undecided() -> None:
    noisy = [10.0, 40.0, 12.0, 38.0, 15.0, 30.0, 20.0, 25.0]

    comparison = compare((group("a", noisy), group("b", noisy[::-1])), (P99,))

    assert judged(comparison).change is Direction.UNDECIDED
    assert judged(comparison).note == "the runs differ too much among themselves; make more"
    assert comparison.exit_status == 3


def test_a_difference_that_perhaps_does_not_matter_is_undecided() -> None:
    spread = [20.0, 20.4, 20.8, 21.2, 21.6, 22.0, 22.4, 22.8]

    comparison = compare(
        (group("a", spread), group("b", times(spread, 1.049))), (Figure(P99.path, "", least_share=0.05),)
    )

    found = judged(comparison)
    assert found.change is Direction.UNDECIDED


def test_seven_runs_are_too_few_for_a_verdict() -> None:
    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 2)[:7])), (P99,))

    assert judged(comparison).change is Direction.UNDECIDED
    assert judged(comparison).note == "7 runs; a verdict needs 8 in each group"


def test_values_that_some_runs_lack_do_not_count_as_runs() -> None:
    slower = Group("b", (*group("b", times(EIGHT, 2)).runs[:7], run(99)))

    comparison = compare((group("a", EIGHT), slower), (P99,))

    assert judged(comparison).runs == (8, 7)
    assert judged(comparison).change is Direction.UNDECIDED


def test_a_figure_of_one_group_alone_is_undecided() -> None:
    comparison = compare((group("a", EIGHT), Group("b", tuple(run(2 * n) for n in range(8)))), (P99,))

    assert judged(comparison).note == "no values to compare"
    assert comparison.exit_status == 3


def test_a_figure_that_no_run_has_is_left_out() -> None:
    comparison = compare((group("a", EIGHT), group("b", EIGHT)), (P99, RATE))

    assert [each.figure for each in comparison.contrasts[0].judged] == [P99]


def test_no_figure_at_all_is_undecided() -> None:
    comparison = compare((group("a", EIGHT), group("b", EIGHT)), (RATE,))

    assert comparison.contrasts[0].change is Direction.UNDECIDED
    assert comparison.exit_status == 3


def test_values_of_zero_have_no_ratio() -> None:
    comparison = compare((group("a", EIGHT), group("b", [0.0, *EIGHT[1:]])), (P99,))

    assert judged(comparison).note == "not all its values are above 0, so there is no ratio"


def test_every_group_is_judged_by_the_first_and_corrected_for_all() -> None:
    groups = (group("a", EIGHT), group("b", times(EIGHT, 1.2)), group("c", times(EIGHT, 0.8)))

    comparison = compare(groups, (P99,))

    assert [(pair.first.name, pair.other.name, pair.change) for pair in comparison.contrasts] == [
        ("a", "b", Direction.WORSE),
        ("a", "c", Direction.BETTER),
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

    assert [each.change for each in comparison.contrasts[0].judged] == [Direction.WORSE, Direction.UNDECIDED]
    assert comparison.exit_status == 1


def test_a_void_run_in_it_gives_no_exit_status_of_a_verdict() -> None:
    slower = group("b", times(EIGHT, 1.1))
    forced = Group("b", (*slower.runs[:7], run(99, {P99.path: 22.0}, void_reasons=("the generator was late",))))

    comparison = compare((group("a", EIGHT), forced), (P99,))

    assert judged(comparison).change is Direction.WORSE
    assert comparison.is_forced
    assert comparison.exit_status == 3


def paired(ratios: Sequence[float], levels: Sequence[float] = EIGHT, first_number: int = 0) -> tuple[Group, Group]:
    """Runs of `ab`: by pair a level of the machine, which both runs have, and by how much b is above a."""
    arms = [
        Group(
            arm,
            tuple(
                run(2 * pair + late, {P99.path: level * ratio}, place=Place("s", first_number + pair, arm))
                for pair, (level, ratio) in enumerate(zip(levels, factors, strict=False))
            ),
        )
        for late, (arm, factors) in enumerate((("a", [1.0] * len(ratios)), ("b", ratios)))
    ]
    return arms[0], arms[1]


DRIFTING = [20.0, 28.0, 35.0, 22.0, 41.0, 30.0, 25.0, 38.0]
A_TENTH = [1.1, 1.11, 1.09, 1.12, 1.1, 1.08, 1.11, 1.1]


def test_pairs_show_a_tenth_under_a_drift_that_hides_it_from_ranks() -> None:
    first, other = paired(A_TENTH, DRIFTING)
    unpaired = [Group(group.name, tuple(replace(run, place=None) for run in group.runs)) for group in (first, other)]

    assert judged(compare((first, other), (P99,))).change is Direction.WORSE
    assert compare((first, other), (P99,)).contrasts[0].pairs == 8
    assert judged(compare(unpaired, (P99,))).change is Direction.UNDECIDED


def test_pairs_of_the_same_are_the_same() -> None:
    ratios = [1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0]

    assert judged(compare(paired(ratios, DRIFTING), (P99,))).change is Direction.SAME


@pytest.mark.parametrize(("pairs", "change"), [(5, Direction.UNDECIDED), (6, Direction.WORSE)])
def test_a_verdict_needs_six_pairs(pairs: int, change: Direction) -> None:
    found = judged(compare(paired(A_TENTH[:pairs], DRIFTING), (P99,)))

    assert found.change is change
    assert found.note == ("5 pairs; a verdict needs 6" if pairs == 5 else "")


def test_more_contrasts_need_more_pairs() -> None:
    assert [pairs_needed(contrasts) for contrasts in (1, 2, 4)] == [6, 7, 8]


def test_a_run_without_its_partner_is_in_no_pair() -> None:
    first, other = paired(A_TENTH, DRIFTING)

    found = compare((Group("a", first.runs[1:]), other), (P99,))

    assert found.contrasts[0].pairs == 7
    assert judged(found).runs == (7, 7)


def test_runs_of_two_sessions_make_no_pairs() -> None:
    first, _ = paired(A_TENTH)
    _, other = paired(A_TENTH, first_number=100)

    assert compare((first, other), (P99,)).contrasts[0].pairs == 0
    assert judged(compare((first, other), (P99,))).change is Direction.UNDECIDED
    assert "or are of other pairs, " in judged(compare((first, other), (P99,))).note
    assert judged(compare((first, other), (P99,))).note.endswith("make them in turn: market-spread ab A.yaml B.yaml")


def test_a_figure_that_many_pairs_lack_is_undecided() -> None:
    first, other = paired(A_TENTH, DRIFTING)
    lacking = Group("b", (*other.runs[:5], *(replace(run, figures={"x": 1.0}) for run in other.runs[5:])))

    assert judged(compare((first, lacking), (P99,))).note == "3 of 8 pairs lack it"


def test_groups_made_one_after_the_other_are_undecided_with_the_remedy() -> None:
    comparison = compare((group("a", EIGHT), group("b", times(EIGHT, 1.5), first_number=100)), (P99,))

    found = judged(comparison)
    assert found.change is Direction.UNDECIDED
    assert "were not made in turn" in found.note
    assert "market-spread ab" in found.note
    assert comparison.exit_status == 3


@pytest.mark.parametrize(("order", "in_turn"), [("abbaabba", True), ("aabbaabb", True), ("aaabbbab", False)])
def test_in_turn_is_no_more_than_two_of_a_group_after_each_other(order: str, in_turn: bool) -> None:
    groups = [Group(arm, tuple(run(at) for at, of in enumerate(order) if of == arm)) for arm in "ab"]

    assert are_in_turn(*groups) is in_turn


def void_runs(count: int, **changes: Any) -> tuple[RecordedRun, ...]:
    return tuple(run(200 + n, void_reasons=("the generator was late",), **changes) for n in range(count))


@pytest.mark.parametrize(
    ("void", "said"),
    [
        ((0, 0), ""),
        ((1, 1), ""),
        ((0, 4), "runs of b are void more often (0 of 8 of a, 4 of 12 of b), so those that are left may be its fast"),
        ((3, 3), "6 of 22 runs are void, so those that are left may be the fast ones"),
    ],
)
def test_void_runs_that_are_unequal_or_many_forbid_a_verdict(void: tuple[int, int], said: str) -> None:
    groups = [
        replace(group, left_out=void_runs(count)) for group, count in zip(paired(A_TENTH, DRIFTING), void, strict=True)
    ]

    found = judged(compare(groups, (P99,)))

    assert found.note.startswith(said)
    assert found.change is (Direction.UNDECIDED if said else Direction.WORSE)


def test_runs_that_the_user_interrupted_choose_nothing() -> None:
    first, other = paired(A_TENTH, DRIFTING)
    interrupted = replace(other, left_out=void_runs(4, place=Place("s", 9, "b"), is_interrupted=True))

    assert judged(compare((first, interrupted), (P99,))).change is Direction.WORSE
