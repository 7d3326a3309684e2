"""A latency that climbs, starts slow or ends slow is told; noise of all kinds, standstills and aliasing are not."""

from collections.abc import Callable

import numpy as np
import pytest

from market_spread.controller.analysis.steadiness import (
    POINTS_MIN,
    Steadiness,
    Unsteady,
    medians_by_second,
    steadiness,
)
from market_spread.controller.statistics.intervals import Floats

SERIES = 500
Rng = np.random.Generator


def noise(rng: Rng, n: int, *, phi: float = 0.0, deviation: float = 0.15, median: float = 5.0) -> Floats:
    """A median of 5 ms with lognormal noise, each second's depending on the one before (AR(1))."""
    steps = rng.normal(0, deviation * np.sqrt(1 - phi**2), n)
    logs = np.empty(n)
    logs[0] = rng.normal(0, deviation)
    for i in range(1, n):
        logs[i] = phi * logs[i - 1] + steps[i]
    levels: Floats = median * np.exp(logs)
    return levels


def standstills(rng: Rng, n: int) -> Floats:
    """Every tenth second has a commit in it."""
    values = noise(rng, n, phi=0.3)
    values[int(rng.integers(0, 10)) :: 10] += rng.uniform(50, 400)
    return values


def sawtooth(rng: Rng, n: int) -> Floats:
    """Batches of 0.8 to 2.5 s: what comes at a batch's begin waits for its end, and the seconds cut that anywhere."""
    batch_s = rng.uniform(0.8, 2.5)
    times = np.arange(n * 20) / 20 + rng.uniform(0, batch_s)
    latencies = 100 + 1000 * (batch_s - times % batch_s)
    medians: Floats = np.median(latencies.reshape(n, 20), axis=1)
    return medians


def slow_second(rng: Rng, n: int) -> Floats:
    values = noise(rng, n, phi=0.3)
    values[rng.integers(0, n)] = 2000
    return values


STEADY: dict[str, Callable[[Rng, int], Floats]] = {
    "independent": noise,
    "independent, wide": lambda rng, n: noise(rng, n, deviation=0.4),
    "uniform, 0.1 to 1.7 s": lambda rng, n: rng.uniform(100, 1700, n),
    "sawtooth": sawtooth,
    "standstills": standstills,
    "one slow second": slow_second,
    "AR(0.5)": lambda rng, n: noise(rng, n, phi=0.5, deviation=0.3),
    "AR(0.7)": lambda rng, n: noise(rng, n, phi=0.7, deviation=0.3),
    "AR(0.8)": lambda rng, n: noise(rng, n, phi=0.8, deviation=0.25),
}


def base(rng: Rng, n: int) -> Floats:
    made = (noise, standstills, lambda rng, n: noise(rng, n, phi=0.6, deviation=0.25))
    return made[int(rng.integers(0, 3))](rng, n)


def test_a_climb_is_found_where_the_noise_grows_with_it() -> None:
    rng = np.random.default_rng(6)
    found = [steadiness((noise(rng, 60, deviation=0.2) * np.linspace(1, 39, 60)).tolist()) for _ in range(200)]

    assert sum(each.of_kind(Unsteady.SLOWER_AT_END) is not None for each in found) >= 0.95 * len(found)


UNSTEADY: dict[str, tuple[Callable[[int], Floats], Unsteady]] = {
    "climbs by 190 ms": (lambda n: np.linspace(0, 190, n), Unsteady.SLOWER_AT_END),
    "190 ms more in the first third": (
        lambda n: np.where(np.arange(n) < n / 3, 190.0, 0.0),
        Unsteady.TOO_SLOW_AT_START,
    ),
    "150 ms more in the last third": (
        lambda n: np.where(np.arange(n) >= 2 * n / 3, 150.0, 0.0),
        Unsteady.SLOWER_AT_END,
    ),
}


@pytest.mark.statistical
@pytest.mark.parametrize("seconds", [POINTS_MIN, 60, 300])
@pytest.mark.parametrize("kind", STEADY)
def test_steady_series_are_called_unsteady_once_in_a_hundred_at_most(kind: str, seconds: int) -> None:
    rng = np.random.default_rng(seconds)
    alarms = sum(steadiness(STEADY[kind](rng, seconds).tolist()) != Steadiness() for _ in range(SERIES))

    assert alarms <= SERIES / 100


@pytest.mark.parametrize("seconds", [POINTS_MIN, 60, 300])
@pytest.mark.parametrize("kind", UNSTEADY)
def test_changes_are_found_and_called_by_their_name(kind: str, seconds: int) -> None:
    more, expected = UNSTEADY[kind]
    rng = np.random.default_rng(seconds)
    found = [steadiness((base(rng, seconds) + more(seconds)).tolist()) for _ in range(200)]

    assert sum([change.kind for change in each.changes] == [expected] for each in found) >= 0.95 * len(found)


def test_begin_end_and_size_are_told_in_the_given_seconds() -> None:
    rng = np.random.default_rng(1)
    seconds = [1_700_000_000.0 + 2 * i for i in range(60)]

    at_start = steadiness((noise(rng, 60) + np.where(np.arange(60) < 20, 190, 0)).tolist(), seconds)
    at_end = steadiness((noise(rng, 60) + np.where(np.arange(60) >= 40, 150, 0)).tolist(), seconds)

    (change,) = at_start.changes
    assert (change.begin_s, change.end_s) == (seconds[0], seconds[20])
    assert change.size == pytest.approx(190, rel=0.05)
    assert change.share > 30
    (change,) = at_end.changes
    assert (change.begin_s, change.end_s) == (seconds[40], seconds[-1])
    assert change.size == pytest.approx(150, rel=0.05)


def test_cpu_of_a_jvm_that_still_compiles_is_too_slow_at_the_start() -> None:
    """CPU a message of a real run, by 5 s: 49, 37, 26, 27, 21, 23, 18, 23, 22, 22, 19, 23 us."""
    by_5_s = np.repeat([49, 37, 26, 27, 21, 23, 18, 23, 22, 22, 19, 23], 5)
    rng = np.random.default_rng(2)

    found = steadiness((by_5_s * np.exp(rng.normal(0, 0.05, 60))).tolist())

    assert [change.kind for change in found.changes] == [Unsteady.TOO_SLOW_AT_START]
    assert found.changes[0].begin_s == 0


def test_a_hump_is_neither_of_the_start_nor_of_the_end() -> None:
    hump = np.where((np.arange(90) >= 30) & (np.arange(90) < 60), 150, 0)

    found = steadiness((noise(np.random.default_rng(4), 90) + hump).tolist())

    assert [change.kind for change in found.changes] == [Unsteady.SLOWER_BETWEEN]
    assert found.of_kind(Unsteady.SLOWER_AT_END) is None


def test_less_than_half_of_the_median_is_no_change() -> None:
    step = np.where(np.arange(600) >= 300, 2.0, 0.0)  # 5 to 7 ms, without noise to speak of

    found = steadiness((noise(np.random.default_rng(5), 600, deviation=0.01) + step).tolist())

    assert found == Steadiness()


def test_medians_are_of_the_seconds_that_have_values() -> None:
    times_us = np.array([3_000_000, 1_999_999, 1_000_000, 1_500_000, 3_500_000])
    values_us = np.array([40, 9, 1, 5, 20])

    medians, seconds = medians_by_second(times_us, values_us)

    assert (medians.tolist(), seconds.tolist()) == ([5, 20], [1, 3])
    assert steadiness(
        *map(np.ndarray.tolist, medians_by_second(np.array([], np.int64), np.array([], np.int64)))
    ).unknown


def test_short_series_are_not_looked_at() -> None:
    found = steadiness([5.0] * (POINTS_MIN - 1))

    assert found.unknown == "too short: 39 seconds have a value, and 40 are needed"
    assert steadiness([0.0] * 60).unknown == "the median is 0"
    assert steadiness([5.0] * 60) == Steadiness()
