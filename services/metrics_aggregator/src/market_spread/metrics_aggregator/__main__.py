"""The metrics-aggregator's process: gRPC and HTTP in one loop, until a signal ends it."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.config import from_environment
from market_spread.common.errors import UnavailableError
from market_spread.common.grpc.calls import AioServer, listener, require_bindable
from market_spread.common.grpc.identity import Identity
from market_spread.common.logs import log_event
from market_spread.common.process.service import run_main, write_ports
from market_spread.metrics_aggregator.http.app import web_app
from market_spread.metrics_aggregator.http.archive import Archive
from market_spread.metrics_aggregator.http.security import Hosts
from market_spread.metrics_aggregator.http.updates import Feeds
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.service import AggregatorConfig, MetricsService

# Runs whose logs have changed in this time go on: their processes may be pushing.
_RESTORED_NS = 600_000_000_000
_TICK_S = 1.0
# What the system holds of answers that a slow client does not take; it would be megabytes.
_SEND_BUFFER_BYTES = 256 * 1024

_CONNECTIONS_MAX = 256  # beyond those of event streams, and far below the descriptors that a process may have

_log = logging.getLogger(__name__)


def main() -> int:
    """Run until SIGTERM or SIGINT; the exit status."""
    return run_main(lambda: asyncio.run(_serve(from_environment(AggregatorConfig))), AggregatorConfig)


class _WebServer(uvicorn.Server):
    """A web server that leaves the process's signals to the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Connection(H11Protocol):
    """Of one client. When there are too many, the oldest of those that await no answer makes room."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since_s = self.loop.time()
        ours = [it for it in self.connections if isinstance(it, _Connection) and not it.transport.is_closing()]
        if len(ours) > _CONNECTIONS_MAX:
            idle = [it for it in ours if it.cycle is None or it.cycle.response_complete]
            min(idle, key=lambda it: it.since_s).transport.close()


async def _serve(config: AggregatorConfig) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    clock = SystemClock()
    files = RunFiles(config.runs_folder) if config.runs_folder is not None else None
    store = Store(history_bytes_max=config.history_bytes_max, clock=clock, log=files)
    grpc_address = f"{config.host}:{config.grpc_port}"
    require_bindable(grpc_address)
    with listener(config.host, config.http_port) as web_socket:
        web_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        if files is not None and config.takes_pushes:
            _restore(store, files, clock)
        service = MetricsService(store, takes_pushes=config.takes_pushes)
        rpc = AioServer(grpc_address, service.register, identity=from_environment(Identity))
        async with _web(config, store, clock, web_socket):
            await rpc.start()
            http_port = web_socket.getsockname()[1]
            write_ports(config.ports_file, grpc=rpc.port, http=http_port)
            log_event(_log, "aggregator.started", host=config.host, grpc_port=rpc.port, http_port=http_port)
            await stop.wait()
            service.end_streams()
            await rpc.stop()
    if files is not None:
        files.close()
    log_event(_log, "aggregator.stopped")


@asynccontextmanager
async def _web(config: AggregatorConfig, store: Store, clock: Clock, web_socket: socket.socket) -> AsyncIterator[None]:
    """Serve HTTP while the body runs."""
    feeds = Feeds(store, clock)
    archive = None
    if config.runs_folder is not None:
        archive = Archive(config.runs_folder, clock=clock, history_bytes_max=config.history_bytes_max // 4)
    hosts = Hosts(config.host, [name.strip() for name in config.allowed_hosts.split(",") if name.strip()])
    app = web_app(store, clock, feeds=feeds, archive=archive, hosts=hosts)
    web = _WebServer(uvicorn.Config(
        app, http=_Connection, lifespan="off", log_config=None, log_level=logging.WARNING, access_log=False,
        server_header=False, timeout_graceful_shutdown=1,
    ))  # fmt: skip
    serving = asyncio.create_task(web.serve(sockets=[web_socket]))
    ticking = asyncio.create_task(_tick(feeds))
    try:
        yield
    finally:
        ticking.cancel()
        feeds.close()
        web.should_exit = True
        await serving


async def _tick(feeds: Feeds) -> None:
    while True:
        await asyncio.sleep(_TICK_S)
        feeds.tick()


def _restore(store: Store, files: RunFiles, clock: Clock) -> None:
    """Read the runs back that were pushed for until a short time ago, so that their pushes go on where they were."""
    begin_ns = clock.monotonic_ns()
    run_ids = files.changed_since(clock.unix_ns() - _RESTORED_NS)
    pushes = 0
    for run_id in run_ids:
        try:
            pushes += sum(epoch.pushes for epoch in store.restore(run_id).epochs.values())
        except UnavailableError as error:
            log_event(_log, "aggregator.not_restored", logging.ERROR, run=run_id, reason=str(error))
    if run_ids:
        taken_ms = (clock.monotonic_ns() - begin_ns) / 1e6
        log_event(_log, "aggregator.restored", runs=run_ids, pushes=pushes, taken_ms=taken_ms, damaged=files.damaged)


if __name__ == "__main__":
    sys.exit(main())
