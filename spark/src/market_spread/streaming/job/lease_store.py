"""A Lease of coordination.k8s.io, read and written through the API server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from market_spread.common.clock import Clock
from market_spread.common.errors import UnavailableError, WrongStateError
from market_spread.streaming.job.lease import DURATION_S, Held, Lease
from market_spread.streaming.job.pods import PodsConfig

# Two calls that hang must fit between a renewal and the moment at which a driver gives up.
_CALL_S = 2.5


class KubernetesLease:
    """The lease of that name. It is written as it was last read, so what others keep in it stays."""

    def __init__(self, api: Any, *, namespace: str, name: str) -> None:
        """api: CoordinationV1Api, or what answers like it."""
        self._api = api
        self._namespace = namespace
        self._name = name
        self._lease: Any = None

    def read(self) -> Held:
        with _as_ours():
            try:
                self._lease = self._api.read_namespaced_lease(self._name, self._namespace, _request_timeout=_CALL_S)
            except ApiException as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                self._lease = self._created()
        return _held(self._lease)

    def write(self, holder: str, before: Held, *, unix_ns: int) -> Held:
        lease = self._lease
        if lease is None or _held(lease) != before:
            raise WrongStateError("the lease was looked at again meanwhile")
        spec = lease.spec or client.V1LeaseSpec()
        now = _micro_time(unix_ns)
        if (spec.holder_identity or "") != holder:
            spec.acquire_time = now
            spec.lease_transitions = (spec.lease_transitions or 0) + 1
        spec.holder_identity, spec.renew_time, spec.lease_duration_seconds = holder, now, round(DURATION_S)
        lease.spec = spec
        self._lease = None  # until it is known what the server made of it
        with _as_ours():
            self._lease = self._api.replace_namespaced_lease(
                self._name, self._namespace, lease, _request_timeout=_CALL_S
            )
        return _held(self._lease)

    def _created(self) -> Any:
        metadata = client.V1ObjectMeta(name=self._name, namespace=self._namespace)
        body = client.V1Lease(metadata=metadata, spec=client.V1LeaseSpec())
        return self._api.create_namespaced_lease(self._namespace, body, _request_timeout=_CALL_S)


@contextmanager
def _as_ours() -> Iterator[None]:
    """Our errors for the client's."""
    try:
        yield
    except ApiException as error:
        if error.status == HTTPStatus.CONFLICT:
            raise WrongStateError("the lease was changed by someone else") from error
        raise UnavailableError(f"the API server answered {error.status}: {error.reason}") from error
    except HTTPError as error:
        raise UnavailableError(f"the API server does not answer: {error}") from error


def lease_in_cluster(pods: PodsConfig, clock: Clock, on_lost: Callable[[str], None] | None = None) -> Lease:
    """The driver's lease, reached as pods reach their API server."""
    settings = client.Configuration()
    config.load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]
    settings.retries = False
    api = client.CoordinationV1Api(client.ApiClient(settings))
    store = KubernetesLease(api, namespace=pods.namespace, name=str(pods.lease))
    # With the address, because a pod that is made again has the name of one that may still be running.
    return Lease(store, identity=f"{pods.pod_name}_{pods.pod_ip}", clock=clock, on_lost=on_lost)


def _held(lease: Any) -> Held:
    spec = lease.spec or client.V1LeaseSpec()
    renewed = spec.renew_time.isoformat() if spec.renew_time else ""
    return Held(spec.holder_identity or "", renewed, lease.metadata.resource_version or "")


def _micro_time(unix_ns: int) -> datetime:
    """A time that is never written without its microseconds, which the API server would refuse."""
    at = datetime.fromtimestamp(unix_ns // 1000 / 1e6, UTC)
    return at if at.microsecond else at.replace(microsecond=1)
