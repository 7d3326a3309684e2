"""Who may call what, at real gRPC servers with certificates: each role at each method, strangers, and rotation."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace as replace_values
from pathlib import Path
from typing import Any, cast

import grpc
import numpy as np
import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.config import from_environment
from market_spread.common.errors import UsageError
from market_spread.common.grpc import identity as identity_module
from market_spread.common.grpc.calls import AioServer, Server, channel_to, listener
from market_spread.common.grpc.identity import (
    AGGREGATOR,
    CALLERS,
    JOB,
    OPEN,
    RECEIVER,
    ROLES,
    RUN,
    SENDER,
    Identity,
)
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.process.service import ServiceConfig
from market_spread.common.process.service import serving as process_serving
from market_spread.common.telemetry.metrics import SEND_LAG
from market_spread.common.telemetry.pusher import Pusher
from market_spread.common.telemetry.recorder import Recorder
from market_spread.controller.clients.probe import service_problem
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.service import MetricsService
from market_spread.receiver.service import ReceiverService
from market_spread.sender.service import SenderService
from market_spread.streaming.driver.control_service import JobService
from market_spread.streaming.driver.supervisor import Supervisor
from market_spread.v1 import control_pb2, control_pb2_grpc, metrics_pb2
from tests.support.aggregators import recorder_of
from tests.support.certificates import Authority
from tests.support.waiting import eventually

DOMAIN = "spread"
DOCUMENT = Path(__file__).parents[2] / "docs" / "security.md"
DENIED, UNAVAILABLE, UNIMPLEMENTED = (
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.UNIMPLEMENTED,
)
CONTROL, STOP = ("Sender", "Receiver", "Job"), "/market_spread.v1.Sender/Stop"
URIS = {role: f"spiffe://{DOMAIN}/{role}" for role in ROLES}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.make(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture(scope="module")
def identities(authority: Authority) -> dict[str, Identity]:
    folders = {role: authority.issue(authority.folder / role, f"spiffe://{DOMAIN}/{role}") for role in ROLES}
    return {role: Identity(folder, DOMAIN) for role, folder in folders.items()}


def register(server: grpc.Server) -> str:
    """All control services, of which each method that may be called says UNIMPLEMENTED."""
    for name in CONTROL:
        getattr(control_pb2_grpc, f"add_{name}Servicer_to_server")(
            getattr(control_pb2_grpc, f"{name}Servicer")(), server
        )
    return "market_spread.v1.Sender"


@contextmanager
def serving(identity: Identity) -> Iterator[str]:
    server = Server("127.0.0.1:0", register, identity=identity)
    server.start()
    yield f"127.0.0.1:{server.port}"
    server.stop(0)


@contextmanager
def aggregating(identity: Identity) -> Iterator[tuple[str, Store]]:
    """An aggregator's gRPC server in a loop of its own."""
    store = Store(history_bytes_max=1_000_000, clock=SystemClock())
    loop, ready, ports = asyncio.new_event_loop(), threading.Event(), list[int]()
    stop = asyncio.Event()

    async def serve() -> None:
        service = MetricsService(store, takes_pushes=True)
        server = AioServer("127.0.0.1:0", service.register, identity=identity)
        await server.start()
        ports.append(server.port)
        ready.set()
        await stop.wait()
        service.end_streams()
        await server.stop(0)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    yield f"127.0.0.1:{ports[0]}", store
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()


def code_of(channel: grpc.Channel, method: str, within_s: float = 10) -> grpc.StatusCode:
    """How a call without content ends."""
    call: Any = channel.stream_stream(method)
    try:
        list(call(iter([b""]), timeout=within_s))
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def methods_of(*descriptors: Any) -> set[str]:
    services = [service for file in descriptors for service in file.services_by_name.values()]
    return {f"/{service.full_name}/{method.name}" for service in services for method in service.methods}


def test_every_method_has_its_callers() -> None:
    ours = methods_of(control_pb2.DESCRIPTOR, metrics_pb2.DESCRIPTOR)

    assert len(ours) == 14
    assert set(CALLERS) == ours | {"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"}
    assert {method.rpartition("/")[2] for method, roles in CALLERS.items() if roles == set(ROLES)} == {"Check", "Watch"}


def test_the_documentation_has_the_table() -> None:
    lines = DOCUMENT.read_text().splitlines()

    written = [line for line in lines if line.startswith(("| `market_spread", "| `grpc."))]
    assert written == [
        f"| `{method.removeprefix('/')}` | {', '.join(sorted(roles))} |" for method, roles in sorted(CALLERS.items())
    ]


@pytest.fixture(scope="module")
def addresses(identities: dict[str, Identity], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The processes' own services, by name, as their environment has them serve; of each `NAME health` is the port for
    a kubelet. Their broker is away and the job has no query: who is let in fails by that.
    """
    folder, clock, found = tmp_path_factory.mktemp("services"), SystemClock(), dict[str, str]()
    broker = KafkaBroker("127.0.0.1:1")
    with ExitStack() as ending, pytest.MonkeyPatch.context() as patch:
        for name, role in zip(CONTROL, (SENDER, RECEIVER, JOB), strict=True):
            recorder = Recorder(source=role, clock=clock)
            service: object = {
                SENDER: lambda known=recorder: SenderService(broker=broker, recorder=known, clock=clock),
                RECEIVER: lambda known=recorder: ReceiverService(
                    broker=broker, folder=folder, recorder=known, clock=clock
                ),
                JOB: lambda: JobService(cast(Supervisor, None), mode="x", settings={}, clock=clock),
            }[role]()  # fmt: skip
            with listener("127.0.0.1", 0) as free:
                health = free.getsockname()[1]
            patch.setenv("MARKET_SPREAD_TLS_FOLDER", str(identities[role].tls_folder))
            patch.setenv("MARKET_SPREAD_TLS_DOMAIN", DOMAIN)
            patch.setenv("MARKET_SPREAD_TLS_HEALTH_PORT", str(health))
            ports = folder / f"{role}.json"
            config = ServiceConfig(bootstrap_servers="127.0.0.1:1", source=role, ports_file=ports)
            ending.enter_context(process_serving(config, name, service, recorder=recorder, clock=clock))
            found[name] = f"127.0.0.1:{json.loads(ports.read_text())['grpc']}"
            found[f"{name} health"] = f"127.0.0.1:{health}"
        yield found


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", CONTROL)
def test_each_role_may_call_what_the_table_says_and_nothing_else(
    name: str, role: str, identities: dict[str, Identity], addresses: dict[str, str]
) -> None:
    control = {method for method in methods_of(control_pb2.DESCRIPTOR) if f".{name}/" in method}
    with closing(channel_to(addresses[name], identities[role])) as channel:
        answers = {method: code_of(channel, method, within_s=2 if role == RUN else 10) for method in control}
        reflected = code_of(channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        problem = service_problem(addresses[name], identities[role])

    assert {method for method, code in answers.items() if code is not DENIED} == (control if role == RUN else set())
    assert list(answers.values()).count(UNAVAILABLE) <= 1  # of what asks the broker
    assert reflected is UNIMPLEMENTED  # it is not there
    assert problem is None


@pytest.mark.parametrize("name", CONTROL)
def test_a_kubelet_without_a_certificate_learns_the_health_and_nothing_else(
    name: str, addresses: dict[str, str]
) -> None:
    control = {method for method in methods_of(control_pb2.DESCRIPTOR) if f".{name}/" in method}
    with closing(channel_to(addresses[f"{name} health"])) as channel:
        answers = {code_of(channel, method) for method in (*control, "/grpc.health.v1.Health/Watch")}
        reflected = code_of(channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
    problem = service_problem(addresses[f"{name} health"])

    assert answers == {DENIED}
    assert reflected is UNIMPLEMENTED
    assert problem is None


@pytest.mark.parametrize("role", ROLES)
def test_measuring_roles_push_and_the_run_alone_notes(role: str, identities: dict[str, Identity]) -> None:
    with aggregating(identities[AGGREGATOR]) as (address, _), closing(channel_to(address, identities[role])) as channel:
        push, note = (code_of(channel, f"/market_spread.v1.Metrics/{name}") for name in ("Push", "Note"))
        problem = service_problem(address, identities[role])

    assert (push is not DENIED) == (role in {RUN, SENDER, RECEIVER, JOB})
    assert (note is not DENIED) == (role == RUN)
    assert problem is None


def test_a_kubelet_learns_the_health_of_the_aggregator_and_nothing_else(identities: dict[str, Identity]) -> None:
    with listener("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    with aggregating(replace_values(identities[AGGREGATOR], tls_health_port=port)), ExitStack() as ending:
        channel = ending.enter_context(closing(channel_to(f"127.0.0.1:{port}")))
        answers = {code_of(channel, f"/market_spread.v1.Metrics/{name}") for name in ("Push", "Note")}
        problem = service_problem(f"127.0.0.1:{port}")

    assert answers == {DENIED}
    assert problem is None


def test_strangers_get_no_connection(identities: dict[str, Identity], authority: Authority, tmp_path: Path) -> None:
    name, method = f"spiffe://{DOMAIN}/{RUN}", "/market_spread.v1.Sender/Stop"
    other = Authority.make(tmp_path / "other")
    forged = other.issue(tmp_path / "forged", name)
    (forged / "ca.crt").write_bytes((authority.folder / "ca.crt").read_bytes())
    expired = authority.issue(tmp_path / "expired", name, days=-1)
    root = grpc.ssl_channel_credentials((authority.folder / "ca.crt").read_bytes())
    with serving(identities[SENDER]) as address:
        channels = {
            "no certificate": grpc.secure_channel(address, root),
            "another authority": channel_to(address, Identity(forged, DOMAIN)),
            "expired": channel_to(address, Identity(expired, DOMAIN)),
            "no encryption": channel_to(address),
            "the run": channel_to(address, identities[RUN]),
        }
        answers = {who: code_of(channel, method) for who, channel in channels.items()}
        for channel in channels.values():
            channel.close()

    assert answers.pop("the run") is UNIMPLEMENTED
    assert answers == dict.fromkeys(answers, UNAVAILABLE)


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["spiffe://other/run"],
        ["spiffe://spread/run/more"],
        ["spiffe://spread/root"],
        ["spiffe://spread/sender", "spiffe://spread/run"],
    ],
    ids=["none", "another release", "a longer name", "an unknown role", "two roles"],
)
def test_a_name_that_is_not_exactly_the_roles_is_refused(
    names: list[str], identities: dict[str, Identity], authority: Authority, tmp_path: Path
) -> None:
    own = Identity(authority.issue(tmp_path / "own", *names), DOMAIN)

    with serving(identities[SENDER]) as address, closing(channel_to(address, own)) as channel:
        answer = code_of(channel, "/market_spread.v1.Sender/Stop")

    assert answer is DENIED


def test_a_server_of_another_authority_is_not_talked_to(identities: dict[str, Identity], tmp_path: Path) -> None:
    forged = Authority.make(tmp_path / "other").issue(tmp_path / "forged", f"spiffe://{DOMAIN}/{SENDER}")

    with serving(Identity(forged, DOMAIN)) as address, closing(channel_to(address, identities[RUN])) as channel:
        answer = code_of(channel, "/market_spread.v1.Sender/Stop")

    assert answer is UNAVAILABLE


def test_certificates_change_200_times_under_load_without_an_error(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By those of another authority and back, as Kubernetes replaces them; both are believed until the end."""
    new = Authority.make(tmp_path / "new")
    both = (authority.folder / "ca.crt").read_bytes() + (new.folder / "ca.crt").read_bytes()
    servers = [by.issue(tmp_path / f"sender-{of}", URIS[SENDER]) for of, by in enumerate((authority, new))]
    callers = [by.issue(tmp_path / f"run-{of}", URIS[RUN]) for of, by in enumerate((authority, new))]
    for folder in (*servers, *callers):
        (folder / "ca.crt").write_bytes(both)
    shown, called = tmp_path / "shown", tmp_path / "called"
    for folder in (shown, called):
        folder.mkdir()
    codes, changes, ending = list[grpc.StatusCode](), list[object](), threading.Event()
    read = identity_module._read

    def reading(folder: Path) -> object:
        files = read(folder)
        if folder == shown and files != (changes or [None])[-1]:
            changes.append(files)
        return files

    monkeypatch.setattr(identity_module, "_read", reading)
    replace(shown, servers[0])
    replace(called, callers[0])

    with serving(Identity(shown, DOMAIN)) as address:

        def load(*, reconnecting: bool) -> None:
            channel = channel_to(address, Identity(called, DOMAIN))
            while not ending.is_set():
                codes.append(code_of(channel, STOP))
                if reconnecting:
                    channel.close()
                    channel = channel_to(address, Identity(called, DOMAIN))
            channel.close()

        threads = [threading.Thread(target=load, kwargs={"reconnecting": it}) for it in (True, True, True, False)]
        for thread in threads:
            thread.start()
        begun_s = time.monotonic()
        for turn in range(1, 201):
            replace(called, callers[turn % 2])
            replace(shown, servers[turn % 2])
            eventually(f"the server has changed {turn} times", lambda turn=turn: len(changes) > turn)
        took_s = time.monotonic() - begun_s
        replace(called, callers[1])
        before = len(codes)
        eventually("nobody connects with the old certificate", lambda: len(codes) > before + 20)
        replace(shown, new.issue(tmp_path / "sender-new", URIS[SENDER]))  # believes the new authority alone
        eventually("the last change", lambda: len(changes) > 201)
        ending.set()
        for thread in threads:
            thread.join(20)
        with closing(channel_to(address, Identity(callers[0], DOMAIN))) as channel:
            old = code_of(channel, STOP)

    assert len(changes) == 202
    assert took_s > 200 * 0.05, "a change must wait for the handshakes that have begun"
    assert len(codes) > 200
    assert set(codes) == {UNIMPLEMENTED}
    assert old is UNAVAILABLE


def test_files_that_do_not_fit_change_nothing(
    identities: dict[str, Identity], authority: Authority, tmp_path: Path
) -> None:
    shown, good = tmp_path / "shown", authority.issue(tmp_path / "good", URIS[SENDER])
    mixed, part = (authority.issue(tmp_path / name, URIS[SENDER]) for name in ("mixed", "part"))
    (mixed / "tls.key").write_bytes((good / "tls.key").read_bytes())
    (part / "tls.key").unlink()
    stranger = Authority.make(tmp_path / "other").issue(tmp_path / "stranger", URIS[SENDER])
    shown.mkdir()
    replace(shown, good)

    def asked() -> grpc.StatusCode:
        with closing(channel_to(address, identities[RUN])) as channel:
            return code_of(channel, STOP)

    answers = []
    with serving(Identity(shown, DOMAIN)) as address:
        for folder in (good, mixed, part, good, stranger, good):
            replace(shown, folder)
            answers.append(asked())

    assert answers == [*[UNIMPLEMENTED] * 4, UNAVAILABLE, UNIMPLEMENTED]


def replace(folder: Path, issued: Path, authorities: bytes | None = None) -> None:
    """Show the files in the folder all at once, as Kubernetes shows a Secret."""
    if authorities is not None:
        (issued / "ca.crt").write_bytes(authorities)
    link = folder / "..new"
    link.symlink_to(issued)
    link.replace(folder / "..data")


def test_what_is_measured_goes_on_over_a_new_certificate(
    identities: dict[str, Identity], authority: Authority, tmp_path: Path
) -> None:
    folder = authority.issue(tmp_path / "own", f"spiffe://{DOMAIN}/{RECEIVER}", days=-1)
    with aggregating(identities[AGGREGATOR]) as (address, _):
        recorder = recorder_of("receiver")
        recorder.histogram(SEND_LAG).record_us(np.array([7]))
        pusher = Pusher(recorder, address, clock=SystemClock(), identity=Identity(folder, DOMAIN))
        pusher.step()
        waiting = pusher.delivery.pending
        authority.issue(folder, f"spiffe://{DOMAIN}/{RECEIVER}")
        deadline = time.monotonic() + 20
        while pusher.delivery.pending and time.monotonic() < deadline:
            pusher.step()
        left = pusher.delivery.pending
        pusher.stop()

    assert waiting > 0
    assert left == 0


def test_files_that_are_not_there_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{tmp_path} has no certificate that can be read.*mount ca.crt"):
        Server("127.0.0.1:0", register, identity=Identity(tmp_path, DOMAIN))


def test_certificates_without_a_release_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"tls_folder={tmp_path} without tls_domain"):
        from_environment(Identity, {"MARKET_SPREAD_TLS_FOLDER": str(tmp_path)})
    assert from_environment(Identity, {}) == OPEN
