"""That cells summed while they come are what merging them later would make."""

import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from market_spread.common.hdr.codec import Buckets
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.metrics_aggregator.model.history import History, HistoryUsage, Resolution
from market_spread.metrics_aggregator.model.intervals import HistogramInterval, merged_histograms
from market_spread.metrics_aggregator.model.series import PARTS_MAX, HistogramHistory

SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND  # a multiple of 10 s
FINEST = Resolution()


def histogram(second: float, values_us: list[int], length_s: float = 1.0) -> tuple[HistogramInterval, Buckets]:
    values = HdrCounts()
    values.record(np.array(values_us, np.int64))
    start = BEGIN + round(second * SECOND)
    interval = HistogramInterval(start, start + round(length_s * SECOND), *values.exact, values.encode())
    return interval, Buckets.of(values.counts)


def summed(held: HistoryUsage, *parts: tuple[HistogramInterval, Buckets]) -> HistogramHistory:
    sums = HistogramHistory(HdrCounts(), held)
    for interval, buckets in parts:
        sums.count(interval, buckets)
    return sums


CELL = [histogram(second, [5, 70_000 * second, -second]) for second in range(10)]
INTERVALS = [interval for interval, _ in CELL]
NEXT = histogram(10, [7])


def test_sum_of_a_cell_is_its_merged_interval() -> None:
    (found,) = summed(HistoryUsage(), *CELL, NEXT).sum_of(INTERVALS)

    assert found == merged_histograms(INTERVALS)
    assert (found.count, found.negative, found.max_us) == (30, 9, 630_000)


def test_sum_of_a_cell_has_nothing_of_those_before() -> None:
    second = [histogram(second, [second, 80_000]) for second in range(10, 20)]
    intervals = [interval for interval, _ in second]

    assert summed(HistoryUsage(), *CELL, *second).sum_of(intervals) == [merged_histograms(intervals)]


def test_a_cell_that_goes_on_can_be_taken() -> None:
    assert summed(HistoryUsage(), *CELL[:3]).sum_of(INTERVALS[:3]) == [merged_histograms(INTERVALS[:3])]


def test_sum_is_not_taken_for_that_of_other_intervals() -> None:
    late = histogram(4, [8])[0]

    for cell in (INTERVALS[1:], INTERVALS[:-1], [*INTERVALS[:5], late, *INTERVALS[5:]]):
        assert summed(HistoryUsage(), *CELL, NEXT).sum_of(cell) == cell


def test_a_cell_that_is_left_and_comes_again_is_no_whole_one() -> None:
    held = HistoryUsage()
    sums = summed(held, *CELL[:8], NEXT, *CELL[8:], NEXT)

    assert sums.sum_of(INTERVALS) == INTERVALS
    assert held.bytes == 0


def test_one_interval_needs_no_sum() -> None:
    held = HistoryUsage()
    sums = summed(held, CELL[0], NEXT)

    assert held.bytes == 0
    assert sums.sum_of([INTERVALS[0]]) == [INTERVALS[0]]


def test_parts_of_seconds_are_not_kept() -> None:
    held = HistoryUsage()
    parts = [histogram(number * 10 / (PARTS_MAX + 1), [5], 0.1) for number in range(PARTS_MAX + 1)]
    sums = summed(held, *parts, NEXT)

    assert held.bytes == 0
    cell = [interval for interval, _ in parts]
    assert sums.sum_of(cell) == cell


def test_sums_are_counted_until_they_or_newer_ones_are_taken() -> None:
    held = HistoryUsage()
    sums = summed(held, *CELL, *(histogram(second, [9]) for second in range(10, 30)), histogram(30, [1]))
    counted = [held.bytes]

    for second in (10, 20):
        sums.sum_of([histogram(second, [9])[0]])
        counted.append(held.bytes)

    assert counted[0] > counted[1] > counted[2] == 0


def test_forgotten_sums_take_nothing() -> None:
    held = HistoryUsage()
    sums = summed(held, *CELL, *(histogram(second, [9]) for second in range(10, 13)))

    sums.drop_oldest()

    assert held.bytes == 0
    assert sums.sum_of(INTERVALS) == INTERVALS


def test_a_sum_takes_no_more_than_is_counted() -> None:
    held = HistoryUsage()
    sums = summed(held, *CELL, NEXT)
    ((number, kept),) = sums._ended.items()

    place_in_dictionary = 100
    taken = sum(sys.getsizeof(each) for each in (number, kept, *kept)) + place_in_dictionary
    assert taken <= held.bytes


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 10_000_000), st.booleans()), min_size=1, max_size=120),
    st.sampled_from([0.04, 0.5, 1.0, 3.0]),
)
@settings(max_examples=100)
def test_history_is_the_same_with_and_without_sums(came: list[tuple[int, int, bool]], length_s: float) -> None:
    held, alone = HistoryUsage(), HistoryUsage()
    total = HdrCounts()
    sums = HistogramHistory(total, held)
    without = History(merged_histograms, alone)
    coarsest = FINEST
    while coarser := coarsest.coarser():
        coarsest = coarser
    newest, second = 0, 0.0

    for gap, value, jumps in came:  # mostly one after the other, some late, some after a pause
        second += gap - 200 if jumps else length_s
        interval, buckets = histogram(second, [value], length_s)
        newest = max(newest, interval.end_unix_ns)
        sums.count(interval, buckets)
        for history in (sums, without):
            history.add(interval, newest, coarsest)

    assert list(sums) == list(without)
    for history in (sums, without):
        history.drop_oldest()
    assert held.bytes == alone.bytes
    assert total.count == len(came)
