"""A percentile has an interval that covers it as often as it says, and none where its tail is a few events."""

from collections.abc import Callable
from time import process_time

import numpy as np
import pytest

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.wire.codec import Int64s
from market_spread.controller.statistics.intervals import PercentileEstimate, count_clusters, percentiles_with_intervals

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
        for name, figure in percentiles_with_intervals(*made(rng), NAMES).items():
            if figure.low_ns is not None and figure.high_ns is not None:
                covered[name].append(figure.low_ns <= truth_ns[name] <= figure.high_ns * 1.001)

    assert {name: len(runs) for name, runs in covered.items()} == dict.fromkeys(NAMES, 50)
    assert {name: np.mean(runs) for name, runs in covered.items() if np.mean(runs) < 0.9} == {}


def test_interval_is_wider_where_what_is_slow_is_slow_together() -> None:
    """The same values in another order: one sample knows nothing of the next."""
    rng = np.random.default_rng(3)
    times, latencies = with_standstills(rng)
    together = percentiles_with_intervals(times, latencies, ["p95"])["p95"]
    apart = percentiles_with_intervals(times, rng.permutation(latencies), ["p95"])["p95"]

    assert together.value_ns == apart.value_ns
    assert None not in (together.low_ns, together.high_ns, apart.low_ns, apart.high_ns)
    assert together.high_ns - together.low_ns > 1.5 * (apart.high_ns - apart.low_ns)  # type: ignore[operator]


def test_tail_of_a_few_events_has_neither_value_nor_interval() -> None:
    """120 s at 200 samples a second: 240 are above p99, but all of them are of 4 standstills."""
    rng = np.random.default_rng(5)
    times, latencies = independent(rng, rate=200)
    for begin_s in (10, 40, 70, 100):
        slow = (times >= begin_s * SECOND) & (times < (begin_s + 0.5) * SECOND)
        latencies = np.where(slow, latencies + 2_000_000, latencies)

    found = percentiles_with_intervals(times, latencies, ("p50", "p99"))

    assert found["p99"] == PercentileEstimate(None, None, None, clusters=4)
    assert found["p50"].value_ns is not None


def test_value_is_that_of_the_histogram() -> None:
    times, latencies = independent(np.random.default_rng(7))
    histogram = HdrCounts()
    histogram.record(latencies)
    shuffled = np.random.default_rng(8).permutation(len(times))

    found = percentiles_with_intervals(times[shuffled], latencies[shuffled], NAMES)

    assert {name: found[name].value_ns for name in NAMES} == {
        name: histogram.percentile(float(name[1:])) * 1000 for name in NAMES
    }
    assert found == percentiles_with_intervals(times, latencies, NAMES)


def test_block_that_is_all_slow_widens_the_interval_to_it() -> None:
    """12 blocks, one of them at 100 ms: drawn twice it is 17% of the samples, so that p95 may be 100 ms, or 1 ms."""
    times = np.arange(0, 60 * SECOND, 10_000)
    latencies = np.where(times < 5 * SECOND, 100_000, 1_000)

    figure = percentiles_with_intervals(times, latencies, ["p90"])["p90"]

    assert figure.low_ns == 1_000_000
    assert figure.high_ns is not None
    assert figure.high_ns // 1_000_000 == 100


def test_median_needs_samples_and_its_interval_ten_blocks_and_clusters() -> None:
    def p50(count: int, seconds: int) -> PercentileEstimate:
        times = np.linspace(0, seconds * SECOND, count).astype(np.int64)
        return percentiles_with_intervals(times, np.full(count, 5_000), ["p50"])["p50"]

    assert p50(20, 60).value_ns is not None
    with pytest.raises(KeyError):
        p50(19, 60)
    assert (p50(1000, 45).value_ns is not None, p50(1000, 45).low_ns) == (True, None)
    assert p50(1000, 50).low_ns is not None
    assert percentiles_with_intervals(np.array([], np.int64), np.array([], np.int64), ["p50"]) == {}
    at_once = np.append(np.zeros(99, np.int64), 60 * SECOND)
    figure = percentiles_with_intervals(at_once, np.full(100, 5_000), ["p50"])["p50"]
    assert (figure.value_ns is not None, figure.low_ns, figure.clusters) == (True, None, 2)


def test_clusters_are_parted_by_more_than_a_second() -> None:
    assert count_clusters(np.array([], np.int64)) == 0
    assert count_clusters(np.array([0, SECOND, 2 * SECOND])) == 1
    assert count_clusters(np.array([0, SECOND + 1, 2 * SECOND])) == 2
    assert count_clusters(np.arange(0, 60 * SECOND, 100_000)) == 12, "one that fills 12 blocks is no single event"


@pytest.mark.parametrize("name", ["max", "p0", "p100", "99", "pp", "pnan"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="names no percentile"):
        percentiles_with_intervals(np.array([1]), np.array([1]), [name])


def test_negative_and_endless_latencies_are_kept_within_the_histogram() -> None:
    times = np.arange(0, 100 * SECOND, SECOND)
    latencies = np.where(times % (2 * SECOND) == 0, -5, 10**15)

    figure = percentiles_with_intervals(times, latencies, ["p50", "p90"])

    assert figure["p50"].value_ns == 0
    assert figure["p90"].value_ns is not None


def test_a_million_samples_take_less_than_two_seconds() -> None:
    rng = np.random.default_rng(1)
    times = rng.integers(0, 3600 * SECOND, 1_000_000)
    latencies = rng.lognormal(9, 1, 1_000_000).astype(np.int64)

    begun = process_time()
    found = percentiles_with_intervals(times, latencies, ("p50", "p95", "p99", "p99.9", "p99.99"))

    assert process_time() - begun < 2
    assert all(figure.low_ns is not None for figure in found.values())
