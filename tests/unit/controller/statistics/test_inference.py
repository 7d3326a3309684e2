"""The statistics of small groups: against tables, and against all orders there are."""

import itertools
import math

import numpy as np
import pytest

from market_spread.controller.statistics.inference import (
    ConfidenceInterval,
    counts_differ_p,
    holm,
    max_t,
    median_interval,
    paired_shift,
    rank_sum,
    unpaired_shift,
)


def p_by_enumeration(first: list[float], second: list[float]) -> float:
    """The share of all ways to deal the values that are as extreme, by the smaller tail twice."""
    values = [*first, *second]
    ranks = [sum(v < w for v in values) + (sum(v == w for v in values) + 1) / 2 for w in values]
    observed = sum(ranks[: len(first)])
    sums = [sum(drawn) for drawn in itertools.combinations(ranks, len(first))]
    low = sum(each <= observed for each in sums) / len(sums)
    high = sum(each >= observed for each in sums) / len(sums)
    return min(1.0, 2 * min(low, high))


def test_groups_apart_have_the_least_p_there_is() -> None:
    p = rank_sum([1, 2, 3, 4, 5, 6, 7, 8], [11, 12, 13, 14, 15, 16, 17, 18])[0]

    assert p == pytest.approx(2 / math.comb(16, 8))


def test_thirteen_is_the_critical_value_of_two_eights_as_in_the_tables() -> None:
    # U is how often a value of the first group is above one of the second.
    at_13 = rank_sum([1, 2, 3, 4, 5, 6, 12, 16], [7, 8, 9, 10, 11, 13, 14, 15])[0]
    at_14 = rank_sum([1, 2, 3, 4, 5, 6, 13, 16], [7, 8, 9, 10, 11, 12, 14, 15])[0]

    assert at_13 == pytest.approx(0.0499, abs=1e-4)
    assert at_14 == pytest.approx(0.0650, abs=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_p_is_that_of_all_orders_with_ties_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 6, 4).astype(float).tolist()
    second = rng.integers(1, 8, 5).astype(float).tolist()

    assert rank_sum(first, second)[0] == pytest.approx(p_by_enumeration(first, second))


def test_equal_values_show_no_difference() -> None:
    assert rank_sum([3.0] * 8, [3.0] * 8)[0] == 1.0


def test_median_of_eight_lies_between_the_first_and_the_last() -> None:
    interval = median_interval([8, 1, 2, 3, 4, 5, 6, 7])

    assert interval == ConfidenceInterval(4.5, 1, 8)


def test_median_of_twelve_leaves_out_two_at_each_end() -> None:
    assert median_interval(list(range(1, 13))) == ConfidenceInterval(6.5, 3, 10)


def test_median_of_five_has_no_bounds() -> None:
    assert median_interval([1, 2, 3, 4, 5]) == ConfidenceInterval(3, None, None)


def test_ratio_is_found_whatever_the_scale() -> None:
    before = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7]
    after = [value * 1.1 for value in before]

    interval = unpaired_shift(before, after)

    assert interval.estimate == pytest.approx(0.1)
    assert interval.low is not None
    assert interval.high is not None
    assert 0.05 < interval.low < 0.1 < interval.high < 0.15


def test_ratio_bound_of_two_eights_is_the_thirteenth_difference() -> None:
    # Groups of powers of two, so that every ratio is a power of two and the logarithms are whole numbers.
    before, after = [1.0] * 8, [2.0**power for power in range(8)]

    interval = unpaired_shift(before, after)

    logs = sorted(power for power in range(8) for _ in range(8))
    assert interval.low == pytest.approx(2.0 ** logs[12] - 1)
    assert interval.high == pytest.approx(2.0 ** logs[-13] - 1)


def test_three_runs_have_no_bounds_of_their_ratio() -> None:
    assert unpaired_shift([1, 2, 3], [1, 2, 3]).low is None


def test_ratio_bounds_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(1000):
        interval = unpaired_shift(np.exp(rng.normal(0, 0.1, 8)).tolist(), np.exp(rng.normal(0.05, 0.1, 8)).tolist())
        assert interval.low is not None
        assert interval.high is not None
        held += interval.low <= math.expm1(0.05) <= interval.high

    assert 940 <= held <= 990


@pytest.mark.parametrize(
    ("first", "second", "expected"), [([1, 2], [3, 4], 1.0), ([3, 4], [1, 2], 0.0), ([1, 2], [1, 2], 0.5)]
)
def test_superiority_is_the_share_of_pairs(first: list[float], second: list[float], expected: float) -> None:
    assert rank_sum(first, second)[1] == expected


def test_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_stays_at_one_and_takes_nothing() -> None:
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def log_ratios(
    pairs: int, figures: int, shift: float = 0.0, seed: int = 3
) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    return np.random.default_rng(seed).normal(shift, 0.03, (pairs, figures))


def test_one_figure_is_tested_by_all_signs_of_its_pairs() -> None:
    (alone,), (adjusted,) = max_t(np.array([[0.1], [0.2], [0.3], [0.15], [0.25], [0.12]]))

    assert alone == adjusted == 2 / 2**6


def test_p_is_that_of_all_signs_by_their_means() -> None:
    # With one figure, t orders the signs as the mean does.
    ratios = log_ratios(7, 1, 0.02)
    means = [abs(np.dot(signs, ratios[:, 0])) for signs in itertools.product((1, -1), repeat=7)]
    expected = np.mean([mean >= abs(ratios.sum()) - 1e-12 for mean in means])

    assert max_t(ratios)[1] == [pytest.approx(expected)]


def test_adjusted_p_is_never_below_that_of_the_figure_alone() -> None:
    alone, adjusted = max_t(log_ratios(8, 11, 0.01))

    assert all(p <= q for p, q in zip(alone, adjusted, strict=True))
    assert any(p < q for p, q in zip(alone, adjusted, strict=True))


def test_figures_that_move_together_cost_no_more_than_one() -> None:
    one = log_ratios(8, 1, 0.03)

    assert max_t(np.hstack([one] * 11))[1][0] == pytest.approx(max_t(one)[1][0])


def test_pairs_that_lack_a_figure_do_not_spoil_the_others() -> None:
    ratios = log_ratios(8, 2, 0.1)
    ratios[:2, 1] = np.nan

    _, (whole, lacking) = max_t(ratios)

    assert whole == pytest.approx(2 / 2**8)
    assert lacking >= 2 / 2**6


def test_pairs_that_are_equal_show_nothing() -> None:
    assert max_t(np.zeros((8, 3)))[1] == [1.0, 1.0, 1.0]


def test_more_than_twelve_pairs_are_tested_by_a_draw_that_is_the_same_each_time() -> None:
    ratios = log_ratios(20, 3, 0.1)

    assert max_t(ratios) == max_t(ratios)
    assert max(max_t(ratios)[1]) <= 2 / 4096


def test_paired_shift_is_the_median_of_the_means_of_two() -> None:
    logs = [0.10, 0.11, 0.12, 0.13, 0.14, 0.60]

    interval = paired_shift(logs)

    walsh = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
    assert interval.estimate == pytest.approx(math.expm1(np.median(walsh)))
    assert interval.low == pytest.approx(math.expm1(0.10))
    assert interval.high == pytest.approx(math.expm1(0.60))


def test_paired_bounds_of_eight_are_those_of_the_tables() -> None:
    # The critical value of the signed-rank test for 8 pairs at 5% is 3, so the bound is the fourth mean of two.
    logs = np.log1p(np.arange(8) / 10).tolist()

    walsh = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
    assert paired_shift(logs).low == pytest.approx(math.expm1(walsh[3]))


def test_five_pairs_have_no_bounds() -> None:
    assert paired_shift([0.1] * 5).low is None


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [((0, 8), (0, 8), 1.0), ((3, 1), (1, 3), 34 / 70), ((0, 11), (5, 8), 0.0412)],  # the second is the lady's tea
)
def test_counts_are_compared_by_fishers_test(first: tuple[int, int], second: tuple[int, int], expected: float) -> None:
    assert counts_differ_p(first, second) == pytest.approx(expected, abs=1e-3)
