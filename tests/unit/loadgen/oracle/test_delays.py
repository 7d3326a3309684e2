import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from market_spread.common.wire.codec import Int64s
from market_spread.loadgen.oracle.delays import Delays, constant_delay, observed_delays

SECOND_US = 1_000_000
EVERY_US = 5_000


def steady(seconds: int, delay_us: int = 4_000) -> tuple[Int64s, Int64s]:
    """200 alerts a second, all with one delay."""
    intended_us = np.arange(0, seconds * SECOND_US, EVERY_US)
    return intended_us, intended_us + delay_us


def bound_ms(delays: Delays, *seconds: float) -> list[float]:
    at = delays.at(np.array([round(second * SECOND_US) for second in seconds]))
    return [round(value / 1000, 2) for value in at]


def test_bound_is_the_delay_and_the_time_between_alerts_with_a_quarter_and_50_ms_more() -> None:
    delays = observed_delays(*steady(20))

    assert bound_ms(delays, -100, 0, 10, 19.99, 1_000) == [61.25] * 5
    assert delays.longest_us == 4_000


def test_standstill_widens_the_bound_around_it_alone() -> None:
    intended_us, received_us = steady(60)
    received_us = np.where((received_us > 20 * SECOND_US) & (received_us < 21.2 * SECOND_US), 21_200_000, received_us)

    delays = observed_delays(intended_us, received_us)

    assert bound_ms(delays, 0, 18.9, 24.5, 59) == [61.25] * 4
    assert min(bound_ms(delays, 19.1, 20, 20.5, 21.2, 22, 23)) > 1_500
    assert delays.longest_us == 1_200_000


def test_where_no_alert_is_the_nearest_two_hold() -> None:
    intended_us = np.array([0, 100 * SECOND_US])

    delays = observed_delays(intended_us, intended_us + np.array([400_000, 800_000]))

    assert bound_ms(delays, -5, 3, 50, 99) == [550, 2300, 2300, 2300]  # 800 ms, and 1 s of the time between


def test_without_alerts_it_is_a_second_and_more() -> None:
    nothing = np.empty(0, np.int64)

    assert bound_ms(observed_delays(nothing, nothing), 0, 9) == [1050, 1050]
    assert observed_delays(nothing, nothing).longest_us == 0


def test_alert_received_before_its_order_was_sent_took_no_time() -> None:
    intended_us = np.array([1_000, 2_000])

    assert observed_delays(intended_us, intended_us - 500).longest_us == 0


def test_bound_at_worst_is_a_second_longer_than_the_longest() -> None:
    delays = observed_delays(np.array([0, 100 * SECOND_US]), np.array([400_000, 100_800_000]))

    assert bound_ms(delays.at_worst(), 0, 50, 200) == [3300] * 3
    assert bound_ms(constant_delay(7_000), -9, 9) == [7, 7]


@settings(max_examples=200)
@given(
    alerts=st.lists(st.tuples(st.integers(0, 20_000_000), st.integers(0, 3_000_000)), min_size=1, max_size=30),
    at_us=st.lists(st.integers(-1_000_000, 25_000_000), min_size=1, max_size=10),
)
def test_bound_is_never_below_what_an_alert_near_by_took(alerts: list[tuple[int, int]], at_us: list[int]) -> None:
    intended_us = np.array([alert[0] for alert in alerts])
    delay_us = np.array([alert[1] for alert in alerts])

    bounds = observed_delays(intended_us, intended_us + delay_us).at(np.array(at_us))

    for moment, bound in zip(at_us, bounds, strict=True):
        near = (intended_us - SECOND_US <= moment) & (moment < intended_us + SECOND_US + 2 * delay_us)
        assert bound >= delay_us[near].max(initial=50_000)


@pytest.mark.parametrize("count", [1, 1_000, 100_000])
def test_bound_stays_small_in_number_however_many_alerts_there_are(count: int) -> None:
    intended_us = np.arange(count) * 20 * SECOND_US // count

    delays = observed_delays(intended_us, intended_us + 7_000)

    assert len(delays.moments_us) <= 2 * 200
