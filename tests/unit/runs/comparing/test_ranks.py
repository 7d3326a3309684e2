"""The statistics of small groups: against tables, and against all orders there are."""

import itertools
import math

import numpy as np
import pytest

from market_spread.runs.comparing.ranks import (
    Interval,
    holm,
    median_interval,
    rank_sum_p,
    ratio_interval,
    superiority,
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
    p = rank_sum_p([1, 2, 3, 4, 5, 6, 7, 8], [11, 12, 13, 14, 15, 16, 17, 18])

    assert p == pytest.approx(2 / math.comb(16, 8))


def test_thirteen_is_the_critical_value_of_two_eights_as_in_the_tables() -> None:
    # U is how often a value of the first group is above one of the second.
    at_13 = rank_sum_p([1, 2, 3, 4, 5, 6, 12, 16], [7, 8, 9, 10, 11, 13, 14, 15])
    at_14 = rank_sum_p([1, 2, 3, 4, 5, 6, 13, 16], [7, 8, 9, 10, 11, 12, 14, 15])

    assert at_13 == pytest.approx(0.0499, abs=1e-4)
    assert at_14 == pytest.approx(0.0650, abs=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_p_is_that_of_all_orders_with_ties_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 6, 4).astype(float).tolist()
    second = rng.integers(1, 8, 5).astype(float).tolist()

    assert rank_sum_p(first, second) == pytest.approx(p_by_enumeration(first, second))


def test_equal_values_show_no_difference() -> None:
    assert rank_sum_p([3.0] * 8, [3.0] * 8) == 1.0


def test_large_groups_are_tested_as_the_exact_sums_would() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.normal(0, 1, 50), rng.normal(0.4, 1, 50)
    one_more = [*second.tolist(), float(np.median(second))]

    exact, approximate = rank_sum_p(first.tolist(), second.tolist()), rank_sum_p(first.tolist(), one_more)

    assert approximate == pytest.approx(exact, rel=0.15)


def test_median_of_eight_lies_between_the_first_and_the_last() -> None:
    interval = median_interval([8, 1, 2, 3, 4, 5, 6, 7])

    assert interval == Interval(4.5, 1, 8)


def test_median_of_twelve_leaves_out_two_at_each_end() -> None:
    assert median_interval(list(range(1, 13))) == Interval(6.5, 3, 10)


def test_median_of_five_has_no_bounds() -> None:
    assert median_interval([1, 2, 3, 4, 5]) == Interval(3, None, None)


def test_ratio_is_found_whatever_the_scale() -> None:
    before = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7]
    after = [value * 1.1 for value in before]

    interval = ratio_interval(before, after)

    assert interval.estimate == pytest.approx(0.1)
    assert interval.low is not None
    assert interval.high is not None
    assert 0.05 < interval.low < 0.1 < interval.high < 0.15


def test_ratio_bound_of_two_eights_is_the_fourteenth_difference() -> None:
    # Groups of powers of two, so that every ratio is a power of two and the logarithms are whole numbers.
    before, after = [1.0] * 8, [2.0**power for power in range(8)]

    interval = ratio_interval(before, after)

    logs = sorted(power for power in range(8) for _ in range(8))
    assert interval.low == pytest.approx(2.0 ** logs[13] - 1)
    assert interval.high == pytest.approx(2.0 ** logs[-14] - 1)


def test_three_runs_have_no_bounds_of_their_ratio() -> None:
    assert ratio_interval([1, 2, 3], [1, 2, 3]).low is None


def test_ratio_bounds_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(1000):
        interval = ratio_interval(np.exp(rng.normal(0, 0.1, 8)).tolist(), np.exp(rng.normal(0.05, 0.1, 8)).tolist())
        assert interval.low is not None
        assert interval.high is not None
        held += interval.low <= math.expm1(0.05) <= interval.high

    assert 930 <= held <= 980


@pytest.mark.parametrize(
    ("first", "second", "expected"), [([1, 2], [3, 4], 1.0), ([3, 4], [1, 2], 0.0), ([1, 2], [1, 2], 0.5)]
)
def test_superiority_is_the_share_of_pairs(first: list[float], second: list[float], expected: float) -> None:
    assert superiority(first, second) == expected


def test_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_stays_at_one_and_takes_nothing() -> None:
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
