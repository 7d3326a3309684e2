"""The life of a process that serves gRPC and pushes its metrics: from its configuration to its clean end."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import grpc

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.config import from_environment
from market_spread.common.grpc.calls import Server
from market_spread.common.grpc.identity import Identity
from market_spread.common.kafka.security import KafkaSecurity
from market_spread.common.logs import log_event
from market_spread.common.process.entry import run_main, write_ports
from market_spread.common.process.pinning import own_problem
from market_spread.common.processes import stop_event_on_signals
from market_spread.common.telemetry.pusher import Pusher
from market_spread.common.telemetry.recorder import Recorder
from market_spread.v1 import control_pb2, control_pb2_grpc

# Who serves needs both.
__all__ = ["ServiceConfig", "run_main", "run_service", "serving", "write_ports"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceConfig(KafkaSecurity):
    """What every such process is told."""

    bootstrap_servers: Annotated[str, "Addresses of the broker, HOST:PORT,..."]
    host: Annotated[str, "Address to listen on."] = "127.0.0.1"
    grpc_port: Annotated[int, "Port of the control service; 0 takes a free one."] = 0
    ports_file: Annotated[Path | None, "Where to say which port, as JSON, once it is bound."] = None
    aggregator_address: Annotated[str | None, "Where metrics go, HOST:PORT; nowhere if it is unset."] = None
    source: Annotated[str, "The process's name in metrics."]
    exclusive_cpus: Annotated[int | None, "CPUs promised for itself; until it has them it is NOT_SERVING."] = None

    def errors(self) -> list[str]:
        errors = KafkaSecurity.errors(self)
        if self.exclusive_cpus is not None and self.exclusive_cpus < 1:
            errors.append(f"exclusive_cpus={self.exclusive_cpus}; use 1 or more, or leave it out")
        return errors


Config = TypeVar("Config", bound=ServiceConfig)


def run_service(name: str, config_class: type[Config], make: Callable[[Config, Recorder, Clock], Any]) -> int:
    """Run the process that serves one control service until SIGTERM or SIGINT; returns the exit status.

    make: the service, whose `close` ends its work.
    """

    def serve() -> None:
        config, clock = from_environment(config_class), SystemClock()
        recorder = Recorder(source=config.source, clock=clock)
        service = make(config, recorder, clock)
        stop = stop_event_on_signals()
        with serving(config, name, service, recorder=recorder, clock=clock):
            stop.wait()
            service.close()

    return run_main(serve, config_class)


@contextmanager
def serving(config: ServiceConfig, name: str, service: object, *, recorder: Recorder, clock: Clock) -> Iterator[None]:
    """Serve that control service, and push metrics, while the body runs. UsageError if the address cannot be bound."""

    def register(server: grpc.Server) -> str:
        getattr(control_pb2_grpc, f"add_{name}Servicer_to_server")(service, server)
        return control_pb2.DESCRIPTOR.services_by_name[name].full_name

    identity, to = from_environment(Identity), config.aggregator_address
    address = f"{config.host}:{config.grpc_port}"
    server = Server(address, register, partial(own_problem, config.exclusive_cpus), identity=identity)
    pusher = Pusher(recorder, to, clock=clock, identity=identity) if to else None
    server.start()
    if pusher is not None:
        pusher.start()
    try:
        write_ports(config.ports_file, grpc=server.port)
        log_event(_log, "service.started", source=config.source, grpc_port=server.port)
        yield
    finally:
        server.stop()
        if pusher is not None:
            pusher.stop()
        log_event(_log, "service.stopped", source=config.source)
