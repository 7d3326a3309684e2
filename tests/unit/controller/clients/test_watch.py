"""Who stood still, as the run controller sees it."""

import threading

import pytest

from market_spread.common.clock import SystemClock
from market_spread.controller.clients import probe
from market_spread.controller.clients.probe import Silence, Watch
from tests.support.clock import ManualClock

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


def test_a_look_that_came_late_does_not_make_a_silence_longer(clock: ManualClock) -> None:
    """The run controller waited for a job that stood still, after one look without progress."""
    watch = Watch(clock=clock)

    seen(watch, clock, [(100, 95)])
    seen(watch, clock, [(150, 95)], every_ns=10 * SECOND_NS)
    seen(watch, clock, [(2_200, 2_190)])

    assert watch.silences() == ()


def test_a_broker_is_silent_from_when_it_was_seen_to_owe_an_answer(clock: ManualClock) -> None:
    watch = Watch(clock=clock)

    seen(watch, clock, [(100, 100)], every_ns=10 * SECOND_NS)
    seen(watch, clock, [(150, 100)] * 4)

    assert durations_ms(watch.silences()) == [("broker", 1_000)]


def test_a_broker_that_was_sent_nothing_is_silent_while_it_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_BROKER_EVERY_S", 0.0)
    monkeypatch.setattr(probe, "SILENCE_NS_MIN", 1)
    asked, answer = threading.Event(), threading.Event()
    watch = Watch(clock=SystemClock())

    def look() -> None:
        asked.set()
        answer.wait(10)

    watch.ask_broker(look)
    assert asked.wait(10)
    silences = watch.silences()
    answer.set()
    watch.close()

    assert [silence.component for silence in silences] == ["broker"]


def test_what_was_not_looked_at_is_no_silence(clock: ManualClock) -> None:
    """The run controller may wait for another process meanwhile."""
    watch = Watch(clock=clock)

    seen(watch, clock, [(100, 95), (5_000, 4_990), (10_000, 9_990)], every_ns=5 * SECOND_NS)

    assert watch.silences() == ()
