"""Carries out the planned faults of a run at their times, and ends each whatever happens to the run."""

import threading
from collections.abc import Sequence
from sched import scheduler

from market_spread.common.clock import Clock
from market_spread.controller.deploy.base import Environment
from market_spread.controller.plan.faults import Fault, FaultEvent

_WAIT_S_MAX = 0.25


class FaultSchedule:
    """Faults that do not overlap on a target. `start`, then `close`; a thread of its own steps, as others may wait."""

    def __init__(self, faults: Sequence[Fault], environment: Environment, *, clock: Clock) -> None:
        self._faults, self._environment, self._clock = faults, environment, clock
        self.begun: list[tuple[int, Fault]] = []  # all that have, and when, Unix nanoseconds
        self._over: list[FaultEvent] = []
        self._due = scheduler(clock.monotonic_ns, lambda _: None)  # begins and ends, nanoseconds
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="faults", daemon=True)

    def start(self, begin_unix_ns: int, *, threaded: bool = True) -> None:
        """Count the times of the faults from this moment on. threaded: else who calls it calls `step`."""
        begin_ns = begin_unix_ns - self._clock.unix_ns() + self._clock.monotonic_ns()
        for fault in self._faults:
            self._due.enterabs(begin_ns + round(fault.at_s * 1e9), 1, self._begin, (fault,))
        if threaded and self._faults:
            self._thread.start()

    def step(self) -> float:
        """End and begin what is due; returns after how many seconds to step again."""
        with self._lock:
            left_ns = self._due.run(blocking=False)
            return _WAIT_S_MAX if left_ns is None else min(_WAIT_S_MAX, left_ns / 1e9)

    def close(self) -> None:
        """End what has begun, and begin nothing more. Idempotent."""
        self._closing.set()
        with self._lock:
            for each in self._due.queue:
                self._due.cancel(each)
                if each.action == self._end:
                    self._end(*each.argument)
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

    def _begin(self, fault: Fault) -> None:
        if not self._closing.is_set():
            self.begun.append((began_unix_ns := self._clock.unix_ns(), fault))
            self._environment.strike(fault)
            if fault.for_s:
                self._due.enter(round(fault.for_s * 1e9), 0, self._end, (fault, began_unix_ns))
            else:
                self._end(fault, began_unix_ns)

    def _end(self, fault: Fault, began_unix_ns: int) -> None:
        self._environment.heal(fault)
        self._over.append(FaultEvent(fault, began_unix_ns, self._clock.unix_ns()))
