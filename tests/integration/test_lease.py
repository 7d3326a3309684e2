"""The driver's lease as it asks for it, against a server that keeps a Lease as the API server does."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from market_spread.common.clock import SystemClock
from market_spread.common.errors import UnavailableError, WrongStateError
from market_spread.common.kubernetes import ApiServer as Api
from market_spread.controller.deploy.local.broker import free_port
from market_spread.streaming.driver.kubernetes import lease as lease_module
from market_spread.streaming.driver.kubernetes.lease import KubernetesLease, Lease
from tests.support.waiting import eventually

PATH = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


class ApiServer:
    """Leases with resource versions: an update of another version than the newest is a conflict."""

    def __init__(self) -> None:
        self.leases: dict[str, dict[str, Any]] = {}
        self.version = 0
        self.refuses = False
        self.port = free_port()
        routes = [
            Route(PATH, self._create, methods=["POST"]),
            Route(PATH + "/{name}", self._one, methods=["GET", "PUT"]),
        ]
        config = uvicorn.Config(Starlette(routes=routes), port=self.port, log_config=None, lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def start(self) -> None:
        self._thread.start()
        eventually("the server listens", lambda: self._server.started)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)

    def store(self) -> KubernetesLease:
        return KubernetesLease(Api(f"http://127.0.0.1:{self.port}"), namespace="spread", name="job-0")

    async def _create(self, request: Request) -> JSONResponse:
        return self._keep(await request.json(), 201)

    async def _one(self, request: Request) -> JSONResponse:
        if self.refuses:
            return status(403, "Forbidden")
        found = self.leases.get(request.path_params["name"])
        if found is None:
            return status(404, "NotFound")
        if request.method == "GET":
            return JSONResponse(found)
        body = await request.json()
        if body["metadata"].get("resourceVersion") != found["metadata"]["resourceVersion"]:
            return status(409, "Conflict")
        return self._keep(body, 200)

    def _keep(self, lease: dict[str, Any], code: int) -> JSONResponse:
        for name in ("renewTime", "acquireTime"):
            if lease.get("spec", {}).get(name):
                assert "." in lease["spec"][name]  # the API server takes no time without microseconds
        self.version += 1
        lease["metadata"]["resourceVersion"] = str(self.version)
        self.leases[lease["metadata"]["name"]] = lease
        return JSONResponse(lease, code)


def status(code: int, reason: str) -> JSONResponse:
    return JSONResponse(
        {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}, code
    )


@pytest.fixture
def server() -> Iterator[ApiServer]:
    server = ApiServer()
    server.start()
    yield server
    server.stop()


def test_lease_of_the_chart_is_taken_and_keeps_its_labels(server: ApiServer) -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    metadata = {"name": "job-0", "labels": labels, "resourceVersion": "7"}
    server.leases["job-0"] = {"metadata": metadata, "spec": {}}
    store = server.store()

    held = store.write("job-0_10.0.0.1", store.read(), unix_ns=1_700_000_000_000_000_000)

    kept = server.leases["job-0"]
    assert held.holder == "job-0_10.0.0.1"
    assert kept["metadata"]["labels"] == labels
    assert kept["spec"]["leaseTransitions"] == 1
    assert kept["spec"]["leaseDurationSeconds"] == 12


def test_lease_that_is_not_there_is_made(server: ApiServer) -> None:
    store = server.store()

    store.write("a", store.read(), unix_ns=1_700_000_000_000_000_001)

    assert server.leases["job-0"]["spec"]["holderIdentity"] == "a"


def test_of_two_who_have_seen_the_same_only_one_gets_it(server: ApiServer) -> None:
    first, second = server.store(), server.store()
    seen_by_first, seen_by_second = first.read(), second.read()

    first.write("a", seen_by_first, unix_ns=1_700_000_000_000_000_001)

    with pytest.raises(WrongStateError):
        second.write("b", seen_by_second, unix_ns=1_700_000_000_000_000_002)
    assert server.leases["job-0"]["spec"]["holderIdentity"] == "a"


def test_server_that_refuses_or_is_gone_is_unavailable(server: ApiServer) -> None:
    store = server.store()
    server.refuses = True

    with pytest.raises(UnavailableError, match="the API server answered 403"):
        store.read()
    server.stop()
    with pytest.raises(UnavailableError, match="the API server does not answer"):
        store.read()


def test_second_driver_comes_in_when_the_first_releases(server: ApiServer) -> None:
    first = Lease(server.store(), identity="a", clock=SystemClock())
    second = Lease(server.store(), identity="b", clock=SystemClock())
    first.start()
    eventually("the first holds it", lambda: first.is_held)
    second.start()
    time.sleep(3 * lease_module.RENEW_EVERY_S)
    held_by_both = second.is_held

    first.release()
    eventually("the second holds it", lambda: second.is_held)
    second.release()

    assert not held_by_both


def test_driver_that_cannot_renew_is_told_before_another_one_takes_over(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("DURATION_S", 1.5), ("GIVE_UP_S", 0.8), ("RENEW_EVERY_S", 0.2)):
        monkeypatch.setattr(lease_module, name, seconds)
    lost_at, held_at = [], []
    paused = threading.Event()
    store = server.store()
    write = store.write

    def write_unless_paused(*words: Any, **more: Any) -> Any:
        if paused.is_set():
            raise UnavailableError("this driver's node is cut off")
        return write(*words, **more)

    monkeypatch.setattr(store, "write", write_unless_paused)
    first = Lease(store, identity="a", clock=SystemClock(), on_lost=lambda _: lost_at.append(time.monotonic()))
    second = Lease(server.store(), identity="b", clock=SystemClock())
    first.start()
    eventually("the first holds it", lambda: first.is_held)
    second.start()
    time.sleep(1.0)

    paused.set()
    second.wait_until_held()
    held_at.append(time.monotonic())
    second.release()

    assert len(lost_at) == 1
    assert lost_at[0] < held_at[0]
