"""The Lease that lets one driver at a time use a checkpoint: it is acquired before the checkpoint is opened and renewed
continuously; the process exits when it loses the lease.

It keeps two drivers apart that both obey it. It does not fence executors, nor a driver that is suspended and resumes:
docs/adr/0012 says what does.
"""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from market_spread.common.clock import Clock
from market_spread.common.errors import UnavailableError, WrongStateError
from market_spread.common.logs import log_event

# A driver that could not renew for GIVE_UP exits; another one takes a lease that was not renewed for DURATION.
DURATION_S = 12.0
GIVE_UP_S = 8.0
RENEW_EVERY_S = 2.0
_LOST_EXIT_STATUS = 75
_NS = 1_000_000_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease as the API server stores it. renewed: changes with each renewal; version: of the object."""

    holder: str
    renewed: str
    version: str


class LeaseStore(Protocol):
    """The API server's side of a lease; unit tests have one without a server.

    Each call raises UnavailableError if the API server does not answer, or refuses.
    """

    def read(self) -> HeldLease:
        """The lease now."""

    def write(self, holder: str, before: HeldLease, *, unix_ns: int) -> HeldLease:
        """Renew it for the holder, or release it if that is empty. WrongStateError if it has changed since `before`."""


class Lease:
    """One driver's side of the lease: `start`, `wait_until_held`, work, `release`. A thread renews it."""

    def __init__(
        self, store: LeaseStore, *, identity: str, clock: Clock, on_lost: Callable[[str], None] | None = None
    ) -> None:
        """identity: unique, but unchanged by a restart in the same pod; on_lost: ends the process."""
        self._store = store
        self._identity = identity
        self._clock = clock
        self._on_lost = on_lost or end_at_once
        self._seen: HeldLease | None = None
        self._seen_ns = 0
        self._renewed_ns = 0
        self._is_held = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    @property
    def is_held(self) -> bool:
        """Whether this driver may open the checkpoint."""
        return self._is_held.is_set()

    def start(self) -> None:
        """Start to acquire it."""
        self._thread.start()

    def wait_until_held(self) -> None:
        """Block until it is held."""
        self._is_held.wait()

    def release(self) -> None:
        """Stop renewing and release it, so the next driver need not wait. Best effort."""
        self._stopping.set()
        self._thread.join(RENEW_EVERY_S * 2)
        if self.is_held and self._seen is not None:
            try:
                self._store.write("", self._seen, unix_ns=self._clock.unix_ns())
            except (UnavailableError, WrongStateError) as error:
                log_event(_log, "lease.not_released", logging.WARNING, reason=str(error))

    def step(self) -> None:
        """Acquire or renew it, once; calls `on_lost` if it was held and is lost."""
        begun_ns = self._clock.monotonic_ns()
        try:
            self._acquire_or_renew(begun_ns)
        except UnavailableError as error:
            log_event(_log, "lease.unavailable", logging.WARNING, reason=str(error))
        except WrongStateError:
            self._seen = None  # someone else was quicker: read it again
        if self.is_held and self._clock.monotonic_ns() - self._renewed_ns > GIVE_UP_S * _NS:
            self._lose(f"it was not renewed for {GIVE_UP_S:g} s")

    def _acquire_or_renew(self, begun_ns: int) -> None:
        seen = self._seen if self.is_held and self._seen else self._read(begun_ns)
        if self.is_held and seen.holder != self._identity:
            self._lose(f"{seen.holder or 'no one'} holds it")
            return
        if seen.holder not in ("", self._identity) and begun_ns - self._seen_ns <= DURATION_S * _NS:
            log_event(_log, "lease.awaited", holder=seen.holder)
            return
        self._seen = self._store.write(self._identity, seen, unix_ns=self._clock.unix_ns())
        self._renewed_ns = begun_ns  # not later: the call may have taken long, and others count from its arrival
        if not self.is_held:
            log_event(_log, "lease.held", holder=self._identity)
            self._is_held.set()

    def _read(self, now_ns: int) -> HeldLease:
        """Note when the lease last changed, by this machine's clock: other clocks may be wrong."""
        found = self._store.read()
        before, self._seen = self._seen, found
        if before is None or (before.holder, before.renewed) != (found.holder, found.renewed):
            self._seen_ns = now_ns
        return found

    def _lose(self, reason: str) -> None:
        log_event(_log, "lease.lost", logging.ERROR, reason=reason)
        self._stopping.set()
        self._on_lost(reason)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.step()
            self._stopping.wait(RENEW_EVERY_S)


def end_at_once(_reason: str) -> None:
    """Kill this process and its children without any cleanup: another driver may own the checkpoint."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
    os._exit(_LOST_EXIT_STATUS)
