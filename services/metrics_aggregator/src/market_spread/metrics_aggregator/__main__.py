"""The metrics-aggregator's process: gRPC and HTTP in one loop, until a signal ends it."""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from market_spread.common.clock import SystemClock
from market_spread.common.config import from_environment
from market_spread.common.logs import log_event
from market_spread.common.rpc import listener, require_bindable
from market_spread.common.rpc_aio import AioServer
from market_spread.common.service import run_main, write_ports
from market_spread.metrics_aggregator.service import MetricsService
from market_spread.metrics_aggregator.store import Store
from market_spread.metrics_aggregator.web import web_app

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AggregatorConfig:
    """Where the aggregator listens. Port 0 takes a free one; ports_file is where to say which, once both are bound."""

    host: str = "127.0.0.1"
    grpc_port: int = 0
    http_port: int = 0
    ports_file: Path | None = None


def main() -> int:
    """Run until SIGTERM or SIGINT; the exit status."""
    return run_main(lambda: asyncio.run(_serve(from_environment(AggregatorConfig))))


class _WebServer(uvicorn.Server):
    """A web server that leaves the process's signals to the process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _serve(config: AggregatorConfig) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    store = Store()
    grpc_address = f"{config.host}:{config.grpc_port}"
    require_bindable(grpc_address)
    with listener(config.host, config.http_port) as web_socket:
        rpc = AioServer(grpc_address, MetricsService(store).register)
        web = _WebServer(
            uvicorn.Config(
                web_app(store, SystemClock()),
                lifespan="off",
                log_config=None,
                log_level=logging.WARNING,
                access_log=False,
                timeout_graceful_shutdown=1,
            )
        )
        await rpc.start()
        serving = asyncio.create_task(web.serve(sockets=[web_socket]))
        ports = {"grpc": rpc.port, "http": web_socket.getsockname()[1]}
        if config.ports_file is not None:
            write_ports(config.ports_file, ports)
        log_event(_log, "aggregator.started", host=config.host, grpc_port=ports["grpc"], http_port=ports["http"])
        await stop.wait()
        await rpc.stop()
        web.should_exit = True
        await serving
    log_event(_log, "aggregator.stopped")


if __name__ == "__main__":
    sys.exit(main())
