"""The life of a process that serves gRPC and pushes its metrics: from its configuration to its clean end."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from market_spread.common.clock import Clock
from market_spread.common.errors import MarketSpreadError, UsageError
from market_spread.common.logs import log_event, set_up_logs
from market_spread.common.push import Pusher
from market_spread.common.recording import Recorder
from market_spread.common.rpc import Server

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceConfig:
    """What every such process is told.

    grpc_port: 0 takes a free one; ports_file: where to say which (JSON), once it is bound; aggregator_address: where
    metrics go, nowhere if absent; source: the process's name in metrics.
    """

    bootstrap_servers: str
    host: str = "127.0.0.1"
    grpc_port: int = 0
    ports_file: Path | None = None
    aggregator_address: str | None = None
    source: str


def run_main(body: Callable[[], None]) -> int:
    """Run the body; its exit status. An error that is meant for a person is one line on standard error."""
    set_up_logs()
    try:
        body()
    except MarketSpreadError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


@contextmanager
def serving(
    config: ServiceConfig, register: Callable[[grpc.Server], str], *, recorder: Recorder, clock: Clock
) -> Iterator[None]:
    """Serve, and push metrics, while the body runs. UsageError if the address cannot be bound."""
    server = Server(f"{config.host}:{config.grpc_port}", register)
    pusher = Pusher(recorder, config.aggregator_address, clock=clock) if config.aggregator_address else None
    server.start()
    if pusher is not None:
        pusher.start()
    try:
        if config.ports_file is not None:
            write_ports(config.ports_file, {"grpc": server.port})
        log_event(_log, "service.started", source=config.source, grpc_port=server.port)
        yield
    finally:
        server.stop()
        if pusher is not None:
            pusher.stop()
        log_event(_log, "service.stopped", source=config.source)


def write_ports(path: Path, ports: dict[str, int]) -> None:
    """Write the bound ports, so that a reader sees all of them or no file. UsageError if it cannot be written."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(ports))
        unfinished.replace(path)
    except OSError as error:
        raise UsageError(f"the ports file {path} cannot be written: {error.strerror}") from error
