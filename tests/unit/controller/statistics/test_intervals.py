"""A percentile has an interval that covers it as often as it says, and none where its tail is a few events."""

from collections.abc import Callable
from time import process_time

import numpy as np
import pytest

from market_spread.common.wire.codec import Int64s
from market_spread.controller.statistics.intervals import count_clusters, intervals_and_clusters

NAMES = ("p50", "p95", "p99")
Samples = tuple[Int64s, Int64s]
SECOND = 1_000_000


def independent(rng: np.random.Generator, seconds: int = 120, rate: int = 100) -> Samples:
    count = rng.poisson(seconds * rate)
    return rng.integers(0, seconds * SECOND, count), rng.lognormal(8.5, 0.8, count).astype(np.int64)


def with_standstills(rng: np.random.Generator, seconds: int = 120, rate: int = 100) -> Samples:
    """Every 10 s nothing goes on for some 0.4 s, and what was to go then waits for the end of it."""
    times, latencies = independent(rng, seconds, rate)
    for begin_s in np.arange(rng.uniform(0, 10), seconds, 10):
        begin, end = begin_s * SECOND, (begin_s + rng.uniform(0.33, 0.43)) * SECOND
        waits = np.where((times >= begin) & (times < end), end - times, 0)
        latencies = latencies + waits.astype(np.int64)
    return times, latencies


@pytest.mark.statistical
@pytest.mark.parametrize("made", [independent, with_standstills])
def test_intervals_cover_what_they_are_of(made: Callable[..., Samples]) -> None:
    rng = np.random.default_rng(17)
    long_run = np.concatenate([made(rng, 500)[1] for _ in range(20)])
    truth_ns = {name: np.percentile(long_run, float(name[1:])) * 1000 for name in NAMES}
    covered: dict[str, list[bool]] = {name: [] for name in NAMES}

    for _ in range(50):
        for name, interval in intervals_and_clusters(*made(rng), NAMES)[0].items():
            covered[name].append(interval["low_ns"] <= truth_ns[name] <= interval["high_ns"] * 1.001)

    assert {name: len(runs) for name, runs in covered.items()} == dict.fromkeys(NAMES, 50)
    assert {name: np.mean(runs) for name, runs in covered.items() if np.mean(runs) < 0.9} == {}


def test_interval_is_wider_where_what_is_slow_is_slow_together() -> None:
    """The same values in another order: one sample knows nothing of the next."""
    rng = np.random.default_rng(3)
    times, latencies = with_standstills(rng)
    together = intervals_and_clusters(times, latencies, ["p95"])[0]["p95"]
    apart = intervals_and_clusters(times, rng.permutation(latencies), ["p95"])[0]["p95"]

    assert together["high_ns"] - together["low_ns"] > 1.5 * (apart["high_ns"] - apart["low_ns"])


def test_tail_of_a_few_events_has_no_interval() -> None:
    """120 s at 200 samples a second: 240 are above p99, but all of them are of 4 standstills."""
    rng = np.random.default_rng(5)
    times, latencies = independent(rng, rate=200)
    for begin_s in (10, 40, 70, 100):
        slow = (times >= begin_s * SECOND) & (times < (begin_s + 0.5) * SECOND)
        latencies = np.where(slow, latencies + 2_000_000, latencies)

    intervals, clusters = intervals_and_clusters(times, latencies, ("p50", "p99"))

    assert intervals.keys() == {"p50"}
    assert clusters["p99"] == 4


def test_order_of_the_samples_does_not_matter() -> None:
    times, latencies = independent(np.random.default_rng(7))
    shuffled = np.random.default_rng(8).permutation(len(times))

    found = intervals_and_clusters(times[shuffled], latencies[shuffled], NAMES)

    assert found == intervals_and_clusters(times, latencies, NAMES)
    assert found[0].keys() == set(NAMES)


def test_block_that_is_all_slow_widens_the_interval_to_it() -> None:
    """12 blocks, one of them at 100 ms: drawn twice it is 17% of the samples, so that p95 may be 100 ms, or 1 ms."""
    times = np.arange(0, 60 * SECOND, 10_000)
    latencies = np.where(times < 5 * SECOND, 100_000, 1_000)

    interval = intervals_and_clusters(times, latencies, ["p90"])[0]["p90"]

    assert interval["low_ns"] == 1_000_000
    assert interval["high_ns"] // 1_000_000 == 100


def test_median_needs_samples_and_its_interval_ten_blocks_and_clusters() -> None:
    def known(count: int, seconds: int) -> tuple[bool, bool]:
        times = np.linspace(0, seconds * SECOND, count).astype(np.int64)
        intervals, clusters = intervals_and_clusters(times, np.full(count, 5_000), ["p50"])
        return "p50" in intervals, "p50" in clusters

    assert known(20, 60) == (True, True)
    assert known(19, 60) == (False, False)
    assert known(1000, 45) == (False, True)
    assert known(1000, 50) == (True, True)
    assert intervals_and_clusters(np.array([], np.int64), np.array([], np.int64), ["p50"]) == ({}, {})
    at_once = np.append(np.zeros(99, np.int64), 60 * SECOND)
    assert intervals_and_clusters(at_once, np.full(100, 5_000), ["p50"]) == ({}, {"p50": 2})


def test_clusters_are_parted_by_more_than_a_second() -> None:
    assert count_clusters(np.array([], np.int64)) == 0
    assert count_clusters(np.array([0, SECOND, 2 * SECOND])) == 1
    assert count_clusters(np.array([0, SECOND + 1, 2 * SECOND])) == 2
    assert count_clusters(np.arange(0, 60 * SECOND, 100_000)) == 12, "one that fills 12 blocks is no single event"


def test_negative_and_endless_latencies_are_kept_within_the_histogram() -> None:
    times = np.arange(0, 100 * SECOND, SECOND)
    latencies = np.where(times % (2 * SECOND) == 0, -5, 10**15)

    intervals, _ = intervals_and_clusters(times, latencies, ["p50", "p90"])

    assert intervals["p50"]["low_ns"] == 0
    assert intervals["p90"]["low_ns"] == intervals["p90"]["high_ns"] >= 3_600 * 10**9


def test_a_million_samples_take_less_than_two_seconds() -> None:
    rng = np.random.default_rng(1)
    times = rng.integers(0, 3600 * SECOND, 1_000_000)
    latencies = rng.lognormal(9, 1, 1_000_000).astype(np.int64)

    begun = process_time()
    intervals, _ = intervals_and_clusters(times, latencies, ("p50", "p95", "p99", "p99.9", "p99.99"))

    assert process_time() - begun < 2
    assert len(intervals) == 5
