"""Carries out the planned faults of a run at their times, and ends each whatever happens to the run."""

import threading
from collections.abc import Sequence

from market_spread.common.clock import Clock
from market_spread.controller.deploy.base import Environment
from market_spread.controller.plan.faults import Fault, FaultEvent

_WAIT_S_MAX = 0.25


class FaultSchedule:
    """Faults that do not overlap on a target. `start`, then `close`; a thread of its own steps, as others may wait."""

    def __init__(self, faults: Sequence[Fault], environment: Environment, *, clock: Clock) -> None:
        self._waiting = sorted(faults, key=lambda fault: fault.at_s)
        self._environment, self._clock, self._begin_ns = environment, clock, 0
        self.begun: list[tuple[int, Fault]] = []  # all that have, and when, Unix nanoseconds
        self._open: list[tuple[int, Fault, int]] = []  # when it is to end, by monotonic time, and when it began
        self._over: list[FaultEvent] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="faults", daemon=True)

    def start(self, begin_unix_ns: int, *, threaded: bool = True) -> None:
        """Count the times of the faults from this moment on. threaded: else who calls it calls `step`."""
        self._begin_ns = begin_unix_ns - self._clock.unix_ns() + self._clock.monotonic_ns()
        if threaded and self._waiting:
            self._thread.start()

    def step(self) -> float:
        """End and begin what is due; returns after how many seconds to step again."""
        with self._lock:
            for due_ns, fault, began_unix_ns in list(self._open):
                if self._clock.monotonic_ns() >= due_ns:
                    self._end(due_ns, fault, began_unix_ns)
            while not self._closing.is_set() and self._waiting and self._left_ns() <= 0:
                fault, began_unix_ns = self._waiting.pop(0), self._clock.unix_ns()
                self.begun.append((began_unix_ns, fault))
                self._environment.strike(fault)
                due_ns = self._clock.monotonic_ns() + round(fault.for_s * 1e9)
                self._open.append((due_ns, fault, began_unix_ns))
                if not fault.for_s:
                    self._end(due_ns, fault, began_unix_ns)
            ends_s = [(due_ns - self._clock.monotonic_ns()) / 1e9 for due_ns, *_ in self._open]
            return max(0.0, min(_WAIT_S_MAX, *ends_s, self._left_ns() / 1e9 if self._waiting else _WAIT_S_MAX))

    def close(self) -> None:
        """End what has begun, and begin nothing more. Idempotent."""
        self._closing.set()
        with self._lock:
            for each in list(self._open):
                self._end(*each)
        if self._thread.is_alive():
            self._thread.join()

    @property
    def events(self) -> tuple[FaultEvent, ...]:
        """What was carried out and is over, by its end."""
        with self._lock:
            return tuple(self._over)

    def _run(self) -> None:
        while not self._closing.wait(self.step()):
            pass

    def _left_ns(self) -> int:
        return self._begin_ns + round(self._waiting[0].at_s * 1e9) - self._clock.monotonic_ns()

    def _end(self, due_ns: int, fault: Fault, began_unix_ns: int) -> None:
        self._open.remove((due_ns, fault, began_unix_ns))
        self._environment.heal(fault)
        self._over.append(FaultEvent(fault, began_unix_ns, self._clock.unix_ns()))
