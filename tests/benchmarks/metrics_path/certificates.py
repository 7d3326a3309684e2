"""What certificates on both ends cost: of each push and each health check, both processes together."""

import tempfile
from pathlib import Path
from statistics import median

import psutil
from aggregator import require_taken
from figure import Figure, Figures
from grpc_health.v1 import health_pb2, health_pb2_grpc
from pushes import sender_pushes

from market_spread.common.grpc.calls import channel_to
from market_spread.common.grpc.identity import AGGREGATOR, OPEN, SENDER, Identity
from market_spread.common.processes import cpu_us
from market_spread.common.telemetry.pusher import PushStream
from tests.support.aggregators import launcher
from tests.support.certificates import Authority

ROUNDS = 9
PUSHES = 1_000
CHECKS = 2_000
CONNECTIONS = 100
_DOMAIN = "spread"
# Of a run, by its code: four processes push each second; two are asked ten times a second, and three four times.
_PUSHES_PER_S, _CALLS_PER_S = 4, 32


def certificates(scale: float) -> Figures:
    """Open and with certificates in turn, in processes of their own each time; what is added, by pairs."""
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority.make(Path(folder) / "ca")
        server, client = (_identity(authority, Path(folder), role) for role in (AGGREGATOR, SENDER))
        _round(OPEN, OPEN, scale)  # the first one in a process costs more
        taken: list[tuple[list[float], list[float]]] = []
        for number in range(max(1, round(ROUNDS * scale))):
            opened, secured = (OPEN, OPEN), (server, client)
            in_turn = (opened, secured) if number % 2 else (secured, opened)
            used = {each: _round(*each, scale) for each in in_turn}
            taken.append((used[opened], used[secured]))
    found = []
    added_us = []
    for at, name in enumerate(("a push", "a health check", "a connection, with a check")):
        added_us.append(median(secured[at] - opened[at] for opened, secured in taken))
        found.append(Figure(f"CPU of {name}, open", median(opened[at] for opened, _ in taken), "us"))
        found.append(Figure(f"CPU that certificates add to {name}", added_us[-1], "us"))
    of_run_us = added_us[0] * _PUSHES_PER_S + added_us[1] * _CALLS_PER_S
    found.append(Figure("CPU that they add to a run", of_run_us / 1e4, "% of a core"))
    return found


def _identity(authority: Authority, folder: Path, role: str) -> Identity:
    return Identity(authority.issue(folder / role, f"spiffe://{_DOMAIN}/{role}"), _DOMAIN)


def _round(server: Identity, client: Identity, scale: float) -> list[float]:
    """CPU of a push, of a check and of a connection, microseconds, of the aggregator and this process."""
    used_us = []
    pushes = sender_pushes("sender-0", max(20, round(PUSHES * scale)))
    checks, connections = max(20, round(CHECKS * scale)), max(5, round(CONNECTIONS * scale))
    ask = health_pb2.HealthCheckRequest()
    with tempfile.TemporaryDirectory() as folder, launcher(Path(folder)) as launch:
        aggregator = launch(identity=server)
        processes, address = (psutil.Process(aggregator.process.pid), psutil.Process()), aggregator.address

        def of_both_us() -> float:
            return sum(map(cpu_us, processes))

        with channel_to(address, client) as channel:
            stub, stream = health_pb2_grpc.HealthStub(channel), PushStream(channel)  # type: ignore[no-untyped-call]
            stub.Check(ask, timeout=10)
            begin_us = of_both_us()
            for push in pushes:
                stream.send(push)
                require_taken(stream)
            used_us.append((of_both_us() - begin_us) / len(pushes))
            begin_us = of_both_us()
            for _ in range(checks):
                stub.Check(ask, timeout=10)
            used_us.append((of_both_us() - begin_us) / checks)
        begin_us = of_both_us()
        for _ in range(connections):
            with channel_to(address, client) as channel:
                health_pb2_grpc.HealthStub(channel).Check(ask, timeout=10)  # type: ignore[no-untyped-call]
        used_us.append((of_both_us() - begin_us) / connections)
    return used_us
