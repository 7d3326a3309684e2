"""Clocks: the machine's, and one that a step of it does not move.

Time within a process is monotonic; time that crosses a process is Unix time. Both are integer nanoseconds.
"""

import time
from collections.abc import Iterator
from typing import Protocol

# Between two clocks a thread that keeps its core takes less.
_READING_NS, _READINGS_MAX = 20_000, 8


class Clock(Protocol):
    """Where a process takes its time from."""

    def unix_ns(self) -> int:
        """Nanoseconds since the Unix epoch; may be stepped by the host."""

    def monotonic_ns(self) -> int:
        """Nanoseconds since an arbitrary moment; never goes back."""

    def sleep_ns(self, duration_ns: int) -> None:
        """Block for the duration. Returns at once if it is not positive."""


class SystemClock:
    """The host's clocks. Thread-safe."""

    unix_ns = staticmethod(time.time_ns)
    monotonic_ns = staticmethod(time.monotonic_ns)

    def sleep_ns(self, duration_ns: int) -> None:
        if duration_ns > 0:
            time.sleep(duration_ns / 1e9)


class AnchoredClock:
    """Unix time of one moment, carried on by monotonic time: a step of the host's clock does not move it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead_ns = _unix_ahead_ns(clock)
        self.monotonic_ns, self.sleep_ns = clock.monotonic_ns, clock.sleep_ns

    def unix_ns(self) -> int:
        return self._ahead_ns + self.monotonic_ns()

    def deviation_ns(self) -> int:
        """How far the host's Unix time is ahead of this one, to some microseconds, however busy the cores are."""
        return _unix_ahead_ns(self._clock) - self._ahead_ns


def _unix_ahead_ns(clock: Clock) -> int:
    """Unix time less monotonic time, from the shortest of a few readings.

    A thread that loses its core between the two clocks would else find that they have moved apart.
    """
    readings: list[tuple[int, int]] = []
    while len(readings) < _READINGS_MAX and (not readings or readings[-1][0] > _READING_NS):
        before_ns, unix_ns, after_ns = clock.monotonic_ns(), clock.unix_ns(), clock.monotonic_ns()
        readings.append((after_ns - before_ns, unix_ns - (before_ns + after_ns) // 2))
    return min(readings)[1]


def polls(clock: Clock, within_s: float, *, every_s: float) -> Iterator[None]:
    """Moments to look whether something has happened: at once, then every so often, the last when the time is over."""
    deadline_ns = clock.monotonic_ns() + round(within_s * 1e9)
    yield
    while clock.monotonic_ns() < deadline_ns:
        clock.sleep_ns(round(every_s * 1e9))
        yield
