"""How the intervals of a series become fewer with age, and lose nothing."""

import random
import sys
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from market_spread.common.hdr.codec import Buckets
from market_spread.common.hdr.histogram import Exact, HdrCounts
from market_spread.metrics_aggregator.model.history import LEVEL_MAX, History, HistoryUsage, Resolution
from market_spread.metrics_aggregator.model.intervals import (
    HistogramInterval,
    Point,
    bytes_of,
    last,
    merged_histograms,
    summed,
)

SECOND = 1_000_000_000
HOUR = 3_600 * SECOND
BEGIN = 1_700_000_000 * SECOND  # no multiple of a minute
FINEST = Resolution()


def point(second: float, value: float = 1.0, length_s: float = 1.0) -> Point:
    start = BEGIN + round(second * SECOND)
    return Point(start, start + round(length_s * SECOND), value)


def histogram(second: int, values_us: Iterable[int]) -> HistogramInterval:
    values = HdrCounts()
    values.record(np.array(list(values_us), np.int64))
    start = BEGIN + second * SECOND
    return HistogramInterval(start, start + SECOND, values.exact, values.encode())


def counter_of(points: Iterable[Point], resolution: Resolution = FINEST) -> History[Point]:
    history = History(summed, HistoryUsage())
    newest = 0
    for each in points:
        newest = max(newest, each.end_unix_ns)
        history.add(each, newest, resolution)
    return history


def level(number: int) -> Resolution:
    resolution = FINEST
    for _ in range(number):
        coarser = resolution.coarser()
        assert coarser is not None
        resolution = coarser
    return resolution


def lengths_s(history: History[Point]) -> list[float]:
    return [(each.end_unix_ns - each.start_unix_ns) / SECOND for each in history]


def test_a_day_of_seconds_becomes_3_150_intervals_whose_sum_is_the_same() -> None:
    history = counter_of(point(second) for second in range(86_400))

    assert len(history) == 3_152
    assert sum(each.value for each in history) == 86_400
    lengths = lengths_s(history)
    assert {length: lengths.count(length) for length in (1.0, 10.0, 60.0)} == {1.0: 900, 10.0: 992, 60.0: 1_259}
    spans = list(history)
    assert all(one.end_unix_ns == other.start_unix_ns for one, other in pairwise(spans))


def test_what_is_older_than_a_day_is_dropped_and_counted() -> None:
    history = counter_of(point(minute * 60.0, length_s=60) for minute in range(1_500))

    oldest = next(iter(history))
    assert oldest.end_unix_ns >= BEGIN + 1_500 * 60 * SECOND - 24 * HOUR
    assert len(history) + history.held.dropped == 1_500
    assert history.held.dropped >= 59


def test_late_intervals_are_taken_to_the_place_of_their_age() -> None:
    points = [point(second) for second in range(20_000)]
    late = points[100:160] + points[9_000:9_100] + points[19_500:19_600]
    in_time = [each for each in points if each not in set(late)]

    history = counter_of([*in_time, *late])

    assert sum(each.value for each in history) == 20_000
    starts = [each.start_unix_ns for each in history]
    assert starts == sorted(starts)
    assert len(history) == len(counter_of(points))


def test_intervals_of_less_than_a_second_become_seconds() -> None:
    history = counter_of(point(number / 20, length_s=1 / 20) for number in range(200))

    assert len(history) == 10
    assert sum(each.value for each in history) == 200


def test_seconds_with_jitter_stay_as_they_came() -> None:
    jitter = random.Random(7)
    ends = [number * SECOND + jitter.randrange(2_000_000) for number in range(1, 302)]
    points = [Point(BEGIN + start, BEGIN + end, 1.0) for start, end in pairwise(ends)]

    assert len(counter_of(points)) >= 150


def test_merged_histograms_have_all_values_and_exact_ends() -> None:
    parts = [histogram(0, [5, 1_234_567]), histogram(1, []), histogram(2, [3, -1, 4_000_000_000])]

    merged = merged_histograms(parts)

    assert merged[:-1] == (BEGIN, BEGIN + 3 * SECOND, Exact(5, 4_001_234_575, 0, 4_000_000_000, 1, 1))
    assert Buckets.decode(merged.encoded).counts[[0, 3, 5]].tolist() == [1, 1, 1]


@given(st.lists(st.lists(st.integers(0, 10_000_000), max_size=5), min_size=1, max_size=40), st.randoms())
@settings(max_examples=30)
def test_histograms_lose_nothing_in_any_order(values: list[list[int]], order: random.Random) -> None:
    spread = [histogram(number * 97, part) for number, part in enumerate(values)]
    order.shuffle(spread)
    history = History(merged_histograms, HistoryUsage())
    newest = max(each.end_unix_ns for each in spread) + 900 * SECOND

    for each in spread:
        history.add(each, newest, level(6))

    everything = merged_histograms(list(history))
    expected = histogram(0, [value for part in values for value in part])
    assert everything[2:8] == expected[2:8]
    assert Buckets.decode(everything.encoded).counts.tolist() == Buckets.decode(expected.encoded).counts.tolist()


def test_gauge_has_the_value_at_the_end_of_the_span() -> None:
    assert last([point(1, 5), point(3, 7), point(2, 6)]) == Point(BEGIN + SECOND, BEGIN + 4 * SECOND, 7)


def test_each_coarser_resolution_has_about_half_the_intervals_and_the_same_sum() -> None:
    history = counter_of(point(second * 5, length_s=5) for second in range(17_280))
    newest = max(each.end_unix_ns for each in history)
    found = [len(history)]

    for number in range(1, LEVEL_MAX + 1):
        history.coarsen(newest, level(number))
        found.append(len(history))

    assert (found[:3], found[-1]) == ([2_432, 1_263, 644], 15)
    assert sum(each.value for each in history) == 17_280


def test_there_is_a_coarsest_resolution() -> None:
    coarsest = level(LEVEL_MAX)

    assert coarsest.coarser() is None
    assert (coarsest.fine_ns, coarsest.coarse_width_ns) == (3_515_625_000, 15_360 * SECOND)


def test_bytes_are_those_of_the_intervals() -> None:
    history = History(merged_histograms, HistoryUsage())
    for second in range(2_000):
        history.add(histogram(second, [second]), BEGIN + (second + 1) * SECOND, FINEST)
    history.coarsen(BEGIN + 2_000 * SECOND, level(3))
    history.drop_oldest()

    assert history.held.bytes == sum(bytes_of(each) for each in history)


def test_an_interval_takes_no_more_than_is_counted() -> None:
    blob = histogram(0, [10, 2_000, 1_000_000])
    points = [Point(BEGIN + number, BEGIN + number + 1, number / 3) for number in range(1_000)]

    of_point = sys.getsizeof(points) / 1_000 + sum(sys.getsizeof(part) for part in (points[7], *points[7]))
    of_histogram = 9 + sys.getsizeof(blob) + sum(sys.getsizeof(part) for part in (*blob, *blob.exact))

    assert of_point <= bytes_of(points[7])
    assert of_histogram <= bytes_of(blob)
