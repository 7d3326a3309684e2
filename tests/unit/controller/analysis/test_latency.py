"""Latencies out of alerts: stages that add up, standstills at batch ends, and growth."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis import latency
from market_spread.controller.analysis.latency import (
    STAGES,
    Boundary,
    Growth,
    Latencies,
    latency_growth,
    stages_us,
)
from market_spread.loadgen.columns import Alerts
from market_spread.v1.control_pb2 import CommittedBatch

find_boundaries = partial(latency.find_boundaries, batch_s=10.0)
latencies_of = partial(latency.latencies_of, batch_s=10.0)
T0_US = 1_700_000_000_000_000
STAGE_US = dict(zip(STAGES, (1_000, 2_000, 3_000, 4_000), strict=True))


def alerts_of(
    intended_us: Sequence[int],
    *,
    order_ids: Sequence[int] | None = None,
    send_lag_us: int | Sequence[int] = 1_000,
    ingest_us: int | Sequence[int] = 2_000,
    compute_us: int | Sequence[int] = 3_000,
    delivery_us: int | Sequence[int] = 4_000,
) -> Alerts:
    """Alerts of orders at these times after T0, with the time that each stage took."""
    count = len(intended_us)

    def column(values: int | Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(np.broadcast_to(values, count), np.int64)

    intended = T0_US + column(intended_us)
    sent = intended + column(send_lag_us)
    read = sent + column(ingest_us)
    emitted = read + column(compute_us)
    zeros = np.zeros(count, np.int64)
    return Alerts(
        order_id=np.array(range(1, count + 1) if order_ids is None else order_ids, np.int64),
        symbol=np.full(count, b"AAPL  "),
        side=np.full(count, ord("B"), np.uint8),
        account=zeros, quantity=zeros, price=zeros, bid=zeros, offer=zeros, quote_sequence=zeros,
        intended_us=intended, sent_us=sent, read_us=read, emitted_us=emitted,
        received_us=emitted + column(delivery_us),
    )  # fmt: skip


def batch(start_s: float, *, took_s: float = 10.0) -> CommittedBatch:
    """A batch that was triggered so long after T0."""
    return CommittedBatch(start_unix_ns=T0_US * 1_000 + round(start_s * 1e9), duration_ns=round(took_s * 1e9))


def latency_us(latencies: Latencies) -> Int64s:
    return latencies.alerts.received_us - latencies.alerts.intended_us


def test_no_alerts_have_no_latency() -> None:
    latencies = latencies_of(alerts_of([]), [batch(0)], from_us=0)

    assert len(latencies.alerts) == 0
    assert latencies.boundaries == ()
    assert latencies.growth == Growth(not_evaluated="too few samples (0, at least 40 are needed)")


def test_the_sparkline_has_the_highest_latency_of_each_sixtieth_by_when_its_order_was_due() -> None:
    due_us = [0, 500_000, 900_000, 2_000_000, 60_000_000 - 1]
    delivery_us = [4_000, 94_000, 4_000, 494_000, 1_000]

    sparkline = latencies_of(alerts_of(due_us, delivery_us=delivery_us), [], from_us=0).sparkline_ns

    assert (len(sparkline), sparkline[:4], sparkline[-1]) == (60, (100_000_000, None, 500_000_000, None), 7_000_000)
    assert set(sparkline[3:-1]) == {None}
    assert latencies_of(alerts_of([7]), [], from_us=0).sparkline_ns == (10_000_000, *[None] * 59)
    assert latencies_of(alerts_of([]), [], from_us=0).sparkline_ns == (None,) * 60


def test_stages_are_what_lies_between_the_stamps() -> None:
    assert {name: max(values_us) for name, values_us in stages_us(alerts_of([0, 10])).items()} == STAGE_US


@given(st.lists(st.tuples(*[st.integers(0, 50_000)] * 4), min_size=1, max_size=50))
def test_stages_of_every_alert_add_up_to_its_latency(lengths_us: list[tuple[int, ...]]) -> None:
    columns = [list(column) for column in zip(*lengths_us, strict=True)]
    alerts = alerts_of(
        range(len(lengths_us)),
        send_lag_us=columns[0],
        ingest_us=columns[1],
        compute_us=columns[2],
        delivery_us=columns[3],
    )

    assert list(zip(*stages_us(alerts).values(), strict=True)) == lengths_us
    assert latency_us(latencies_of(alerts, [], from_us=0)).tolist() == [sum(stages) for stages in lengths_us]


def test_settling_time_is_left_out() -> None:
    latencies = latencies_of(alerts_of([0, 5_000, 9_999, 10_000, 20_000]), [], from_us=T0_US + 10_000)

    assert len(latencies.alerts) == 2


def test_order_counts_by_its_first_alert() -> None:
    alerts = alerts_of([0, 0, 50], order_ids=[8, 8, 3], delivery_us=[4_000, 900_000, 4_000])

    latencies = latencies_of(alerts, [], from_us=0)

    assert latency_us(latencies).tolist() == [10_000, 10_000]


@pytest.mark.parametrize("stage", STAGES)
def test_stage_that_ends_before_it_begins_is_below_zero(stage: str) -> None:
    alerts = alerts_of([0, 10, 20], **{f"{stage}_us": [-1, 5, -3_600_000_000]})

    found = {name: values_us.tolist() for name, values_us in stages_us(alerts).items()}

    assert found == {**{name: [us] * 3 for name, us in STAGE_US.items()}, stage: [-1, 5, -3_600_000_000]}


# Standstills


def emitted(*pauses_us: tuple[int, int], until_us: int = 30_000_000) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Emissions every 5 ms after T0, with pauses (begin, end) in which there is none."""
    times = np.arange(0, until_us, 5_000, dtype=np.int64)
    for begin_us, end_us in pauses_us:
        times = times[(times <= begin_us) | (times >= end_us)]
    return T0_US + times


def test_steady_alerts_have_no_boundary() -> None:
    assert find_boundaries(emitted(), [batch(0), batch(10)]) == ()


def test_standstill_is_found_at_each_batch_end() -> None:
    times = emitted((10_000_000, 10_400_000), (20_500_000, 20_700_000))

    found = find_boundaries(times, [batch(0), batch(10.4)])

    assert found == (
        Boundary(T0_US + 10_000_000, T0_US + 10_400_000),
        Boundary(T0_US + 20_500_000, T0_US + 20_700_000),
    )
    assert [boundary.gap_us for boundary in found] == [400_000, 200_000]
    assert found[0].caught_up_us == T0_US + 10_800_000


def test_order_of_emission_does_not_matter() -> None:
    times = emitted((10_000_000, 10_400_000))

    assert find_boundaries(times[::-1], [batch(0)]) == find_boundaries(times, [batch(0)])


def test_pause_far_from_a_batch_end_is_no_boundary() -> None:
    assert find_boundaries(emitted((5_000_000, 6_000_000)), [batch(0), batch(10)]) == ()


def test_pause_under_50_ms_is_taken_for_chance() -> None:
    assert find_boundaries(emitted((10_000_000, 10_045_000)), [batch(0)]) == ()


def test_pause_of_50_ms_is_a_boundary() -> None:
    assert [boundary.gap_us for boundary in find_boundaries(emitted((10_000_000, 10_050_000)), [batch(0)])] == [50_000]


def test_longest_pause_near_the_end_is_the_standstill() -> None:
    times = emitted((9_000_000, 9_100_000), (10_200_000, 10_900_000), (11_200_000, 11_300_000))

    assert [boundary.gap_us for boundary in find_boundaries(times, [batch(0)])] == [700_000]


def test_standstill_longer_than_the_search_is_found_whole() -> None:
    times = emitted((10_000_000, 15_000_000))

    assert find_boundaries(times, [batch(0, took_s=14)]) == (Boundary(T0_US + 10_000_000, T0_US + 15_000_000),)


def test_standstill_of_a_batch_that_ends_late_is_found() -> None:
    times = emitted((12_000_000, 14_000_000))

    assert find_boundaries(times, [batch(0, took_s=14)]) == (Boundary(T0_US + 12_000_000, T0_US + 14_000_000),)


def test_standstill_over_two_batch_ends_is_found_once() -> None:
    times = emitted((9_900_000, 15_100_000))

    found = find_boundaries(times, [batch(0), batch(10, took_s=5)])

    assert found == (Boundary(T0_US + 9_900_000, T0_US + 15_100_000),)


def test_batches_outside_the_alerts_have_no_boundary() -> None:
    assert find_boundaries(emitted(), [batch(-100), batch(100)]) == ()


def test_boundary_is_left_out_of_the_steady_latency_alone() -> None:
    intended_us = [*range(0, 10_000_000, 5_000), *range(10_400_000, 20_000_000, 5_000)]
    held_up = alerts_of([10_100_000, 10_300_000], order_ids=[90_001, 90_002], ingest_us=300_000)
    alerts = Alerts.concatenate([alerts_of(intended_us), held_up])

    latencies = latencies_of(alerts, [batch(0)], from_us=0)

    assert len(latencies.boundaries) == 1
    assert latency_us(latencies).max() == 308_000
    assert latency_us(latencies)[~latencies.met].max() == 10_000
    assert latencies.met.any()
    assert len(latencies.alerts) == len(alerts)


def test_time_of_catching_up_belongs_to_the_boundary() -> None:
    intended_us = [*range(0, 10_000_000, 5_000), *range(10_400_000, 20_000_000, 5_000)]
    while_catching_up = alerts_of([10_700_000], order_ids=[90_001], delivery_us=70_000)
    after_it = alerts_of([10_900_000], order_ids=[90_002], delivery_us=50_000)
    alerts = Alerts.concatenate([alerts_of(intended_us), while_catching_up, after_it])

    latencies = latencies_of(alerts, [batch(0)], from_us=0)

    assert latency_us(latencies).max() == 76_000
    assert latency_us(latencies)[~latencies.met].max() == 56_000


def test_without_a_boundary_all_latency_is_steady() -> None:
    latencies = latencies_of(alerts_of(range(0, 20_000_000, 5_000)), [batch(0)], from_us=0)

    assert latencies.boundaries == ()
    assert not latencies.met.any()
    assert len(latencies.alerts) == 4_000


# Growth


def with_latency(latency_us: np.ndarray[tuple[int], np.dtype[np.int64]], *, duration_s: float = 60) -> Alerts:
    """Alerts at even times, with these latencies."""
    intended_us = np.arange(len(latency_us)) * round(duration_s * 1e6) // len(latency_us)
    return alerts_of(list(intended_us), send_lag_us=0, ingest_us=0, compute_us=0, delivery_us=list(latency_us))


def growth_of(alerts: Alerts, boundaries: Sequence[Boundary]) -> Growth:
    return latency_growth(alerts.intended_us, alerts.received_us - alerts.intended_us, boundaries)


def noisy(count: int, *, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Latencies of some 10 ms, now and then of 300 ms."""
    random = np.random.default_rng(seed)
    latency_us = random.lognormal(np.log(10_000), 0.5, count)
    latency_us[random.random(count) < 0.02] += 300_000
    return latency_us.astype(np.int64)


def test_constant_latency_does_not_grow() -> None:
    growth = growth_of(with_latency(np.full(400, 10_000)), ())

    assert (growth.grown_us, growth.p50_us, growth.agreement, growth.is_queue) == (0, 10_000, 0.0, False)


def test_growth_is_the_trend_over_the_measured_time() -> None:
    growth = growth_of(with_latency(np.arange(4_000) * 500), ())

    assert growth.grown_us == pytest.approx(2_000_000, rel=0.01)
    assert growth.p50_us == pytest.approx(1_000_000, rel=0.01)
    assert growth.duration_us == pytest.approx(60_000_000, rel=0.01)
    assert growth.agreement == 1.0
    assert growth.is_queue


@pytest.mark.parametrize("before_us", [0, 200_000, 500_000])
def test_overload_by_a_twentieth_for_a_minute_is_a_queue(before_us: int) -> None:
    age_us = np.arange(12_000) * 5_000
    standing_us = 500_000 * (age_us // 10_000_000)  # a standstill at each batch end is not caught up with

    for queued_us in (age_us // 20, age_us // 20 + standing_us):
        assert growth_of(with_latency(before_us + queued_us + noisy(12_000)), ()).is_queue


def test_overload_of_twice_the_rate_is_a_queue_although_every_alert_meets_a_boundary() -> None:
    alerts = with_latency(np.arange(12_000) * 5_000)

    latencies = latencies_of(alerts, [batch(start_s) for start_s in range(0, 120, 10)], from_us=0)

    assert latencies.growth.is_queue


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_queue(seed: int) -> None:
    assert not growth_of(with_latency(noisy(2_000, seed=seed)), ()).is_queue


@pytest.mark.parametrize("known", [True, False])
def test_spikes_at_boundaries_are_no_queue_even_if_they_grow(known: bool) -> None:
    latency_us = noisy(12_000)
    age_us = np.arange(12_000) * 5_000
    boundaries = []
    for number, begin_us in enumerate(range(9_000_000, 60_000_000, 10_000_000)):
        gap_us = 400_000 * (number + 1)
        held_up = (age_us >= begin_us) & (age_us < begin_us + gap_us)
        latency_us[held_up] += begin_us + gap_us - age_us[held_up]
        boundaries.append(Boundary(T0_US + begin_us, T0_US + begin_us + gap_us))

    growth = growth_of(with_latency(latency_us), boundaries if known else ())

    assert not growth.is_queue


def test_what_falls_into_a_boundary_has_no_part_in_the_growth() -> None:
    latency_us = np.arange(12_000) * 50
    after_us = 30_000_000
    latency_us[6_000:] = 0

    growth = growth_of(with_latency(latency_us), [Boundary(T0_US + after_us, T0_US + 2 * after_us)])

    assert growth.duration_us == after_us - 5_000
    assert growth.is_queue


def test_slow_start_is_no_queue() -> None:
    latency_us = np.concatenate([np.full(3_000, 900_000), noisy(9_000)])

    assert not growth_of(with_latency(latency_us), ()).is_queue


@pytest.mark.parametrize(
    ("grown_us", "p50_us", "agreement", "is_queue"),
    [
        (5_001, 5_000, 0.51, True),
        (5_000, 5_000, 1.0, False),
        (900_000, 900_000, 1.0, False),
        (900_001, 900_000, 1.0, True),
        (900_000, 0, 0.5, False),
        (-900_000, 0, -1.0, False),
    ],
)
def test_queue_is_a_clear_growth_by_more_than_the_runs_own_median(
    grown_us: int, p50_us: int, agreement: float, is_queue: bool
) -> None:
    assert Growth(grown_us, p50_us, 60_000_000, agreement).is_queue is is_queue


def test_few_alerts_do_not_tell_growth() -> None:
    growth = growth_of(with_latency(np.arange(39) * 100_000), ())

    assert growth == Growth(not_evaluated="too few samples (39, at least 40 are needed)")


def test_alerts_of_one_moment_do_not_tell_growth() -> None:
    growth = growth_of(alerts_of([7] * 50, delivery_us=list(range(50))), ())

    assert growth == Growth(not_evaluated="too short (0.0 s, at least 10 s are needed)")
