"""gRPC servers and clients: health, reflection, bounded messages, deadlines, errors as status codes."""

import logging
import os
import socket
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from functools import partial
from inspect import iscoroutinefunction
from threading import BoundedSemaphore
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from market_spread.common.errors import DeadlineError, MarketSpreadError, UnavailableError, UsageError, WrongStateError
from market_spread.common.grpc.identity import OPEN, Identity, NotAllowedError
from market_spread.common.logs import log_event
from market_spread.v1.control_pb2 import PartitionOffset

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
DEADLINE_S = 5.0
# Each call that goes on has a thread. Those of one method, however long they wait, leave threads to the others.
_THREADS, _EACH_MAX, _CALLS_MAX = 32, 6, 64
_ANSWER_S = 0.2
MESSAGE_OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
)
# A process that is started again, perhaps elsewhere, is found within seconds, and one that vanished is given up.
_CLIENT_OPTIONS = (
    *MESSAGE_OPTIONS, ("grpc.max_reconnect_backoff_ms", 2_000), ("grpc.dns_min_time_between_resolutions_ms", 2_000),
    ("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 5_000), ("grpc.http2.max_pings_without_data", 0),
)  # fmt: skip
# A second server on the same port must fail, not share its connections; it takes the clients' pings.
SERVER_OPTIONS = (*MESSAGE_OPTIONS, ("grpc.so_reuseport", 0), ("grpc.http2.min_ping_interval_without_data_ms", 5_000))

# Where a health check that is answered with NOT_SERVING finds why.
REASON_KEY = "market-spread-reason"

_ANSWERS = health_pb2.HealthCheckResponse
_log = logging.getLogger(__name__)
Register = Callable[[Any], str]
Problem = Callable[[], str | None]


def status_of(error: Exception) -> tuple[grpc.StatusCode, str]:
    """The status code and message that a caller sees for an error of a handler; what is not meant is logged, too."""
    codes = {
        UsageError: grpc.StatusCode.INVALID_ARGUMENT, NotAllowedError: grpc.StatusCode.PERMISSION_DENIED,
        WrongStateError: grpc.StatusCode.FAILED_PRECONDITION, DeadlineError: grpc.StatusCode.DEADLINE_EXCEEDED,
        UnavailableError: grpc.StatusCode.UNAVAILABLE, MarketSpreadError: grpc.StatusCode.ABORTED,
    }  # fmt: skip
    for error_class, code in codes.items():
        if isinstance(error, error_class):
            return code, str(error)
    _log.error("rpc.failed", exc_info=error)
    return grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}"


class _ErrorsAsStatus(grpc.ServerInterceptor):
    """Turns an error into its status code, and refuses who may not call a method, and its calls beyond _EACH_MAX."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._free: defaultdict[str, BoundedSemaphore] = defaultdict(partial(BoundedSemaphore, _EACH_MAX))

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        method, kinds = handler_call_details.method, ("unary_unary", "unary_stream", "stream_stream")
        kind = next(kind for kind in kinds if getattr(handler, kind))
        call, free = getattr(handler, kind), self._free[method]

        def unary(request: Any, context: grpc.ServicerContext) -> Any:
            with self._abort_on_error(method, context), _one_of(free, method):
                return call(request, context)

        def streaming(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            with self._abort_on_error(method, context), _one_of(free, method):
                yield from call(request, context)

        return handler._replace(**{kind: unary if kind == "unary_unary" else streaming})

    @contextmanager
    def _abort_on_error(self, method: str, context: grpc.ServicerContext) -> Iterator[None]:
        try:
            self._identity.require(method, context.auth_context())
            yield
        except Exception as error:
            if context.code() is not None:  # type: ignore[attr-defined]  # the handler has aborted by itself
                raise
            context.abort(*status_of(error))


@contextmanager
def _one_of(free: BoundedSemaphore, method: str) -> Iterator[None]:
    """Be one of the calls of a method that go on. UnavailableError if there are as many as may be."""
    if not free.acquire(blocking=False):
        raise UnavailableError(f"{_EACH_MAX} calls of {method} go on already; wait for one of them to end")
    try:
        yield
    finally:
        free.release()


class _Health(health.HealthServicer):  # type: ignore[misc,unused-ignore]
    """The health service, which looks at each check, and also tells why: in the trailing metadata, as its answer has no
    place for it.
    """

    services: tuple[str, ...] = ()

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem
        self._told: str | None = None

    def look(self) -> str | None:
        """Say SERVING of all services, or NOT_SERVING if there is a problem now; returns it. A change is logged."""
        if (problem := self.problem()) != self._told:
            log_event(_log, "health.changed", logging.WARNING if problem else logging.INFO, reason=problem)
        self._told = problem
        for service in self.services:
            self.set(service, _ANSWERS.NOT_SERVING if problem else _ANSWERS.SERVING)
        return problem

    def Check(self, request: Any, context: grpc.ServicerContext) -> Any:
        if problem := self.look():
            context.set_trailing_metadata(((REASON_KEY, problem.encode("ascii", "replace").decode()),))
        return super().Check(request, context)


class Server:
    """A gRPC server with health service and reflection. `start`, then `stop`."""

    def __init__(
        self, address: str, register: Register, problem: Problem = lambda: None, identity: Identity = OPEN
    ) -> None:
        """`register` adds a servicer; returns its full name. UsageError if the address cannot be bound; port 0: any.

        problem: why the process cannot serve now, a sentence; None if it can. identity: who may call.
        """
        self._server = grpc.server(
            futures.ThreadPoolExecutor(_THREADS, thread_name_prefix="rpc"),
            interceptors=[_ErrorsAsStatus(identity)],
            options=SERVER_OPTIONS,
            maximum_concurrent_rpcs=_CALLS_MAX,
        )
        require_bindable(address)
        self._health = _Health(problem)
        self._health.services = complete(self._server, register(self._server), self._health, identity)
        self.port = bound_port(self._server, address, identity)

    def start(self) -> None:
        self._health.look()
        self._server.start()

    def stop(self, grace_s: float = 1.0) -> None:
        """Report NOT_SERVING, finish running calls within the grace, stop."""
        self._health.problem = lambda: "the process is ending"
        self._health.enter_graceful_shutdown()
        self._server.stop(grace_s).wait()


def complete(server: Any, service: str, health_servicer: Any, identity: Identity) -> tuple[str, str]:
    """Add health, and reflection if it is open to all, to a server with that service; the names in health checks."""
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
    if identity.tls_folder is None:
        reflection.enable_server_reflection((service, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    return service, ""


def bound_port(server: Any, address: str, identity: Identity) -> int:
    """The port that the server has bound. UsageError if the address cannot be bound, or a file cannot be read."""
    try:
        return identity.add_port(server, address)
    except RuntimeError as error:
        raise UsageError(f"{address} cannot be bound; is the port in use?") from error


@contextmanager
def listener(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket, port 0 a free one. UsageError if the address cannot be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host.strip("[]"), port), family=family, reuse_port=False)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UsageError(f"{host}:{port} cannot be bound: {reason}; choose another port or 0") from error
    with bound:
        yield bound


def require_bindable(address: str) -> None:
    """UsageError if the address cannot be bound. Asked before gRPC, which would log a line of its own about it."""
    host, _, port = address.rpartition(":")
    with listener(host, int(port)):
        pass


def time_to_answer_s(context: grpc.ServicerContext, most_s: float) -> float:
    """How long a call may wait, so that its answer, with what was missing, arrives before the caller gives up."""
    left_s = context.time_remaining()  # without a deadline: None, or more than a thread can wait
    return most_s if left_s is None else max(0.0, min(left_s - _ANSWER_S, most_s))


def partition_offsets(offsets: Mapping[tuple[str, int], int]) -> list[PartitionOffset]:
    """Offsets by topic and partition as messages have them, in order."""
    return [PartitionOffset(topic=topic, partition=of, offset=end) for (topic, of), end in sorted(offsets.items())]


def channel_to(address: str, identity: Identity = OPEN) -> grpc.Channel:
    """A channel with our message bounds. Connects when it is first used."""
    return identity.channel(address, _CLIENT_OPTIONS)


class _ErrorsAsStatusAio(grpc.aio.ServerInterceptor):  # type: ignore[misc,unused-ignore]
    """Turns an error that a handler raises into its status code, if it is a coroutine: unary, or a stream both ways."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        admit = partial(self._identity.require, handler_call_details.method)
        for kind in ("unary_unary", "stream_stream"):
            if iscoroutinefunction(call := getattr(handler, kind)):
                return handler._replace(**{kind: partial(_guarded, admit, call)})
        return handler if self._identity.tls_folder is None else None


async def _guarded(admit: Any, call: Callable[..., Awaitable[Any]], request: Any, context: Any) -> Any:
    try:
        admit(context.auth_context())
        return await call(request, context)
    except grpc.aio.AbortError:  # the handler has aborted by itself
        raise
    except Exception as error:
        await context.abort(*status_of(error))


class AioServer:
    """The twin of `Server`, of coroutine methods, for a process that lives in one asyncio loop: made inside it."""

    def __init__(self, address: str, register: Register, identity: Identity = OPEN) -> None:
        self._server = grpc.aio.server(
            interceptors=(_ErrorsAsStatusAio(identity),), options=SERVER_OPTIONS, maximum_concurrent_rpcs=8 * _CALLS_MAX
        )
        self._health = health.aio.HealthServicer()
        self._services = complete(self._server, register(self._server), self._health, identity)
        self.port = bound_port(self._server, address, identity)

    async def start(self) -> None:
        await self._server.start()
        for service in self._services:
            await self._health.set(service, _ANSWERS.SERVING)

    async def stop(self, grace_s: float = 1.0) -> None:
        for service in self._services:
            await self._health.set(service, _ANSWERS.NOT_SERVING)
        await self._server.stop(grace_s)
