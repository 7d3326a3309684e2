"""Signals that end a process, whatever its main thread is doing when they come."""

import signal
import threading
from collections.abc import Iterator

import pytest

from market_spread.common.processes import stop_event_on_signals

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture(autouse=True)
def handlers_are_put_back() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    signal.set_wakeup_fd(-1)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.timeout(20)
def test_a_signal_at_the_moment_when_waiting_begins_is_not_lost(number: signal.Signals) -> None:
    stop = stop_event_on_signals()

    with vars(stop)["_cond"]:  # `wait` holds it for an instant, and a handler runs between any two steps
        signal.raise_signal(number)

    assert stop.wait(10)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.timeout(20)
def test_a_signal_that_another_thread_takes_ends_the_wait(number: signal.Signals) -> None:
    stop = stop_event_on_signals()
    waiting, over = threading.Event(), threading.Event()

    def take() -> None:
        waiting.wait(10)
        over.wait(0.3)  # the main thread is inside its wait by now
        signal.pthread_kill(threading.get_ident(), number)
        over.wait(10)  # a step of this thread's end would wake nobody, yet let it run no further

    taker = threading.Thread(target=take)
    taker.start()
    waiting.set()

    assert stop.wait(5)
    over.set()
    taker.join()
