"""A Lease of coordination.k8s.io, read and written through the API server.

It uses no client library: importing one would cost each restart of the driver seconds, and its image 70 MB.
"""

import json
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from market_spread.common.clock import Clock
from market_spread.common.errors import UnavailableError, WrongStateError
from market_spread.streaming.driver.config import KUBERNETES, JobConfig
from market_spread.streaming.driver.kubernetes.lease import DURATION_S, HeldLease, Lease

# Two calls that hang must fit between a renewal and the time at which a driver gives up.
_CALL_S = 2.5
# Where every pod finds its credentials for the API server.
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class ApiServer:
    """The API server at a URL. account: the folder with our token and the server's CA; None: neither is needed."""

    url: str
    account: Path | None = None

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The object in the answer. WrongStateError if ours is not the newest, KeyError if the path has none,
        UnavailableError if the server refuses or does not answer.
        """
        headers = {"Content-Type": "application/json"}
        if self.account:
            headers["Authorization"] = f"Bearer {(self.account / 'token').read_text().strip()}"
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.url}{path}", data, headers, method=method)
        try:
            # A new opener each time: both files of the account change while we run.
            authority = ssl.create_default_context(cafile=self.account / "ca.crt" if self.account else None)
            opener = build_opener(ProxyHandler({}), HTTPSHandler(context=authority))
            with opener.open(request, timeout=_CALL_S) as answer:
                found: dict[str, Any] = json.load(answer)
        except HTTPError as error:
            if error.code == HTTPStatus.CONFLICT:
                raise WrongStateError("the lease was changed by someone else") from error
            if error.code == HTTPStatus.NOT_FOUND:
                raise KeyError(path) from error
            raise UnavailableError(f"the API server answered {error.code}: {error.reason}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise UnavailableError(f"the API server does not answer: {error}") from error
        return found


class KubernetesLease:
    """The lease of that name. It is written as it was last read, so fields of others stay."""

    def __init__(self, api: ApiServer, *, namespace: str, name: str) -> None:
        self._api = api
        self._name = name
        self._folder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._lease: dict[str, Any] | None = None

    def read(self) -> HeldLease:
        try:
            self._lease = self._api.call("GET", f"{self._folder}/{self._name}")
        except KeyError:
            self._lease = self._created()
        return _held(self._lease)

    def write(self, holder: str, before: HeldLease, *, unix_ns: int) -> HeldLease:
        lease = self._lease
        if lease is None or _held(lease) != before:
            raise WrongStateError("the lease was read again meanwhile")
        spec = {**(lease.get("spec") or {})}
        # As the API server requires it: always with microseconds.
        now = datetime.fromtimestamp(unix_ns // 1000 / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        if (spec.get("holderIdentity") or "") != holder:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = (spec.get("leaseTransitions") or 0) + 1
        spec |= {"holderIdentity": holder, "renewTime": now, "leaseDurationSeconds": round(DURATION_S)}
        self._lease = None  # unknown until the server has answered
        try:
            self._lease = self._api.call("PUT", f"{self._folder}/{self._name}", {**lease, "spec": spec})
        except KeyError as error:
            raise WrongStateError("the lease was deleted by someone else") from error
        return _held(self._lease)

    def _created(self) -> dict[str, Any]:
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self._name}, "spec": {}}
        try:
            return self._api.call("POST", self._folder, lease)
        except KeyError as error:
            raise UnavailableError("the API server has no leases in this namespace") from error


def lease_in_cluster(config: JobConfig, clock: Clock) -> Lease:
    """The driver's lease, reached as pods reach their API server."""
    api = ApiServer(config.master.removeprefix(KUBERNETES), _ACCOUNT)
    store = KubernetesLease(api, namespace=config.namespace, name=str(config.lease))
    # With the address: a recreated pod has the same name as its predecessor, which may still be running.
    return Lease(store, identity=f"{config.pod_name}_{config.pod_ip}", clock=clock)


def _held(lease: dict[str, Any]) -> HeldLease:
    spec = lease.get("spec") or {}
    version = lease["metadata"].get("resourceVersion") or ""
    return HeldLease(spec.get("holderIdentity") or "", spec.get("renewTime") or "", version)
