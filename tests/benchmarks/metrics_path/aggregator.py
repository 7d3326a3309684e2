"""What the aggregator's process costs: a push, fifty pages that watch, a restart."""

import json
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import psutil
from figure import Figure, Figures
from pushes import Values, receiver_pushes, record_receiver, record_sender, sender_pushes

from market_spread.common.clock import SystemClock
from market_spread.common.errors import RunFailedError
from market_spread.common.grpc.calls import channel_to
from market_spread.common.processes import cpu_us
from market_spread.common.telemetry.pusher import IN_FLIGHT_MAX, Pusher, PushStream
from market_spread.common.telemetry.recorder import Recorder
from market_spread.controller.deploy.local.services import Services
from market_spread.metrics_aggregator.model.hlog import push_block
from market_spread.metrics_aggregator.model.push_validation import read_push
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.service import AggregatorConfig
from market_spread.v1.metrics_pb2 import PushRequest

SOURCES = 8
PUSHES_A_SOURCE = 2_000
CLIENTS = 50
WATCH_S = 20.0
RESTART_PUSHES = 4_000
_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Aggregator:
    """A running one."""

    process: psutil.Process
    grpc: str
    http_port: int


def pushes(scale: float) -> Figures:
    """CPU of a push, and how many a second that is on one core, with the log on disk and without.

    Each process has a connection and a stream of its own, and one push on its way, as those of a run have; `backlog`
    is what they do after the aggregator was away.
    """
    found = []
    each = sender_pushes("sender-0", max(20, round(PUSHES_A_SOURCE * scale)))
    for name, on_disk, in_flight in (("on disk", True, 1), ("in memory", False, 1), ("backlog", True, IN_FLIGHT_MAX)):
        with running(on_disk=on_disk) as aggregator:
            begin_us, begin_ns = cpu_us(aggregator.process), _CLOCK.monotonic_ns()
            threads = [
                threading.Thread(target=_push_all, args=(aggregator.grpc, f"sender-{number}", each, in_flight))
                for number in range(SOURCES)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            taken_s = (_CLOCK.monotonic_ns() - begin_ns) / 1e9
            used_us = (cpu_us(aggregator.process) - begin_us) / (SOURCES * len(each))
        found.append(Figure(f"CPU of a push, {name}", used_us, "us"))
        found.append(Figure(f"pushes on one core, {name}", 1e6 / used_us, "1/s"))
        found.append(Figure(f"pushes taken, {name}, {SOURCES} processes at once", SOURCES * len(each) / taken_s, "1/s"))
    found.append(Figure("a push on the wire", len(each[0].SerializeToString()), "bytes"))
    return found


def clients(scale: float) -> Figures:
    """What fifty pages that watch a run add, as a share of a core; one that watches is there without them, too."""
    watch_s = max(2.0, WATCH_S * scale)
    with running(on_disk=False) as aggregator, _working(aggregator):
        with _watching(aggregator, 1):
            alone = _cpu_share(aggregator, watch_s)
        with _watching(aggregator, CLIENTS + 1) as received:
            together = _cpu_share(aggregator, watch_s)
        bytes_per_s = sum(received) / watch_s / len(received)
    return [
        Figure("CPU with one page", 100 * alone, "% of a core"),
        Figure(f"CPU that {CLIENTS} more pages add", 100 * (together - alone), "% of a core"),
        Figure("what a page gets", bytes_per_s, "bytes/s"),
    ]


def restart(scale: float) -> Figures:
    """Reading a run back."""
    count = max(20, round(RESTART_PUSHES * scale / 2))
    with tempfile.TemporaryDirectory() as folder:
        files = RunFiles(Path(folder))
        for push in (*sender_pushes("sender-0", count), *receiver_pushes("receiver-0", count)):
            files.append("r1", push_block(push, read_push(push)), push.start_unix_ns)
        files.close()
        size = files.path("r1").stat().st_size
        begin_ns = _CLOCK.monotonic_ns()
        Store(log=RunFiles(Path(folder))).restore("r1")
        taken_ms = (_CLOCK.monotonic_ns() - begin_ns) / 1e6
    return [
        Figure("restart, of a push", taken_ms / (2 * count), "ms"),
        Figure("restart, of a run of 10 minutes with 4 processes", taken_ms / (2 * count) * 2_400 / 1e3, "s"),
        Figure("log of a push", size / (2 * count), "bytes"),
    ]


@contextmanager
def running(*, on_disk: bool) -> Iterator[Aggregator]:
    """An aggregator of its own."""
    with tempfile.TemporaryDirectory() as folder:
        services = Services(Path(folder), clock=_CLOCK, on_started=lambda name, pid: None)
        ports_file = services.ports_file("aggregator")
        config = AggregatorConfig(ports_file=ports_file, runs_folder=Path(folder) / "runs" if on_disk else None)
        try:
            services.start("aggregator", "market_spread.metrics_aggregator", config)
            ports = services.ports("aggregator")
            process = psutil.Process(services.children["aggregator"].pid)
            yield Aggregator(process, f"127.0.0.1:{ports['grpc']}", ports["http"])
        finally:
            services.stop(["aggregator"])


def _push_all(address: str, source: str, each: list[PushRequest], in_flight: int) -> None:
    with channel_to(address) as channel:
        stream = PushStream(channel)
        for number, push in enumerate(each):
            copy = PushRequest()
            copy.CopyFrom(push)
            copy.source = source
            stream.send(copy)
            if number >= in_flight - 1:
                require_taken(stream)
        for _ in range(min(in_flight - 1, len(each))):
            require_taken(stream)


def require_taken(stream: PushStream) -> None:
    """Wait for a push to be taken. RunFailedError if it was refused."""
    answer = stream.answer(30)
    if answer is None or answer.refusal:
        raise RunFailedError(f"a push was not taken: {answer}")


@contextmanager
def _working(aggregator: Aggregator) -> Iterator[None]:
    """A sender and a receiver that push every second."""
    ended = threading.Event()
    recorders = [Recorder(source=source, clock=_CLOCK, run_id="r1") for source in ("sender-0", "receiver-0")]
    values = Values()

    def work() -> None:
        while not ended.wait(0.5):
            record_sender(recorders[0], values)
            record_receiver(recorders[1], values)

    pushers = [Pusher(recorder, aggregator.grpc, clock=_CLOCK) for recorder in recorders]
    thread = threading.Thread(target=work)
    thread.start()
    for pusher in pushers:
        pusher.start()
    try:
        _wait_for_run(aggregator)
        yield
    finally:
        ended.set()
        thread.join()
        for pusher in pushers:
            pusher.stop()


def _wait_for_run(aggregator: Aggregator) -> None:
    connection = HTTPConnection("127.0.0.1", aggregator.http_port, timeout=10)
    for _ in range(100):
        connection.request("GET", "/api/v1/runs")
        if json.loads(connection.getresponse().read())["runs"]:
            connection.close()
            return
        _CLOCK.sleep_ns(100_000_000)
    raise RunFailedError("nothing was pushed within 10 s")


@contextmanager
def _watching(aggregator: Aggregator, count: int) -> Iterator[list[int]]:
    """So many pages; the bytes that each has got so far."""
    received = [0] * count
    connections = [socket.create_connection(("127.0.0.1", aggregator.http_port), timeout=60) for _ in range(count)]

    def read(number: int) -> None:
        with suppress(OSError):
            while piece := connections[number].recv(1 << 18):
                received[number] += len(piece)

    threads = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(count)]
    for connection, thread in zip(connections, threads, strict=True):
        connection.sendall(b"GET /api/v1/runs/r1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        thread.start()
    _CLOCK.sleep_ns(2_000_000_000)
    received[:] = [0] * count
    yield received
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()


def _cpu_share(aggregator: Aggregator, watch_s: float) -> float:
    begin_us, begin_ns = cpu_us(aggregator.process), _CLOCK.monotonic_ns()
    _CLOCK.sleep_ns(round(watch_s * 1e9))
    return (cpu_us(aggregator.process) - begin_us) * 1e3 / (_CLOCK.monotonic_ns() - begin_ns)
