"""The Lease that lets one driver at a time use a checkpoint: it is acquired before the checkpoint is opened and renewed
continuously; the process exits when it loses the lease.

It keeps two drivers apart that both obey it. It does not fence executors, nor a driver that is suspended and resumes:
docs/adr/0012 says what does. It is a Lease of coordination.k8s.io.
"""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from market_spread.common.clock import Clock
from market_spread.common.errors import UnavailableError, WrongStateError
from market_spread.common.kubernetes import ACCOUNT, ApiServer, RefusedError
from market_spread.common.logs import log_event
from market_spread.streaming.driver.config import KUBERNETES, JobConfig

# A driver that could not renew for GIVE_UP exits; another one takes a lease that was not renewed for DURATION.
DURATION_S, GIVE_UP_S, RENEW_EVERY_S = 12.0, 8.0, 2.0
# Two calls that hang must fit between a renewal and the time at which a driver gives up.
_CALL_S = 2.5
_LOST_EXIT_STATUS = 75
_NS = 1_000_000_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease as the API server stores it. renewed: changes with each renewal; stored: the object, with its version."""

    holder: str
    renewed: str
    stored: dict[str, Any]


class KubernetesLease:
    """The lease of that name. It is written as it was last read, so fields of others stay.

    Each call raises UnavailableError if the API server does not answer, or refuses.
    """

    def __init__(self, api: ApiServer, *, namespace: str, name: str) -> None:
        self._api, self._name = api, name
        self._folder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    def read(self) -> HeldLease:
        """The lease now."""
        try:
            return _held(self._api.call("GET", f"{self._folder}/{self._name}"))
        except RefusedError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self._name}, "spec": {}}
        return _held(self._api.call("POST", self._folder, lease))

    def write(self, holder: str, before: HeldLease, *, unix_ns: int) -> HeldLease:
        """Renew it for the holder, or release it if that is empty. WrongStateError if it has changed since `before`."""
        spec = {**(before.stored.get("spec") or {})}
        # As the API server requires it: always with microseconds.
        now = datetime.fromtimestamp(unix_ns // 1000 / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        if (spec.get("holderIdentity") or "") != holder:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = (spec.get("leaseTransitions") or 0) + 1
        spec |= {"holderIdentity": holder, "renewTime": now, "leaseDurationSeconds": round(DURATION_S)}
        try:
            return _held(self._api.call("PUT", f"{self._folder}/{self._name}", {**before.stored, "spec": spec}))
        except RefusedError as error:
            if error.status not in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND):
                raise
            raise WrongStateError("the lease was changed or deleted by someone else") from error


class Lease:
    """One driver's side of the lease: `start`, `wait_until_held`, work, `release`. A thread renews it."""

    def __init__(
        self, store: KubernetesLease, *, identity: str, clock: Clock, on_lost: Callable[[str], None] | None = None
    ) -> None:
        """identity: unique, but unchanged by a restart in the same pod; on_lost: ends the process."""
        self._store, self._identity, self._clock = store, identity, clock
        self._on_lost = on_lost or end_at_once
        self._seen: HeldLease | None = None
        self._seen_ns = self._renewed_ns = 0
        self._is_held = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    @property
    def is_held(self) -> bool:
        """Whether this driver may open the checkpoint."""
        return self._is_held.is_set()

    def start(self) -> None:
        self._thread.start()

    def wait_until_held(self) -> None:
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


def lease_in_cluster(config: JobConfig, clock: Clock) -> Lease:
    """The driver's lease, reached as pods reach their API server."""
    api = ApiServer(config.master.removeprefix(KUBERNETES), ACCOUNT, _CALL_S)
    store = KubernetesLease(api, namespace=config.namespace, name=str(config.lease))
    # With the address: a recreated pod has the same name as its predecessor, which may still be running.
    return Lease(store, identity=f"{config.pod_name}_{config.pod_ip}", clock=clock)


def _held(lease: dict[str, Any]) -> HeldLease:
    spec = lease.get("spec") or {}
    return HeldLease(spec.get("holderIdentity") or "", spec.get("renewTime") or "", lease)
