"""Who stood still, as the run controller sees it."""

import pytest

from market_spread.common.clock import ManualClock
from market_spread.controller.clients.watch import Silence, Watch

SECOND_NS = 1_000_000_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def seen(watch: Watch, clock: ManualClock, counts: list[tuple[int, int]], every_ns: int = SECOND_NS // 4) -> None:
    """Have it see frames sent and acknowledged, a quarter of a second apart."""
    for sent, acknowledged in counts:
        watch.acknowledged(sent, acknowledged)
        clock.advance_ns(every_ns)


def durations_ms(silences: tuple[Silence, ...]) -> list[tuple[str, int]]:
    return [(silence.component, silence.duration_us // 1000) for silence in silences]


def test_a_broker_that_acknowledges_nothing_of_what_it_was_sent_is_silent(clock: ManualClock) -> None:
    watch = Watch(clock=clock)
    standing = [(200 + 50 * number, 190) for number in range(40)]

    seen(watch, clock, [(100, 95), *standing, (2_300, 2_200), (2_400, 2_350)])

    assert durations_ms(watch.silences()) == [("broker", 10_000)]


def test_a_broker_that_still_stands_is_silent_until_now(clock: ManualClock) -> None:
    watch = Watch(clock=clock)

    seen(watch, clock, [(100, 95), *[(200, 100)] * 8])

    assert durations_ms(watch.silences()) == [("broker", 2_000)]


def test_a_broker_that_has_nothing_to_acknowledge_is_not_silent(clock: ManualClock) -> None:
    watch = Watch(clock=clock)

    seen(watch, clock, [(100, 100)] * 20)

    assert watch.silences() == ()


def test_what_was_not_looked_at_is_no_silence(clock: ManualClock) -> None:
    """The run controller may wait for another process meanwhile."""
    watch = Watch(clock=clock)

    seen(watch, clock, [(100, 95), (5_000, 4_990), (10_000, 9_990)], every_ns=5 * SECOND_NS)

    assert watch.silences() == ()
