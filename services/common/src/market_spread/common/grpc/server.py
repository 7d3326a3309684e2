"""The gRPC server of a process that lives in one asyncio loop: the twin of `calls.Server`."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2

from market_spread.common.grpc.calls import SERVER_OPTIONS, bound_port, complete, status_of

_log = logging.getLogger(__name__)


class _ErrorsAsStatusAio(grpc.aio.ServerInterceptor):  # type: ignore[misc,unused-ignore]
    """Turns an error that a handler raises into its status code, if it is a coroutine: unary, or a stream both ways."""

    def __init__(self) -> None:
        self._guarded: dict[str, Any] = {}  # by method, so that a call makes none of its own

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        guarded = self._guarded.get(handler_call_details.method)
        if guarded is None:
            guarded = self._guarded[handler_call_details.method] = _guarded_handler(handler)
        return guarded


def _guarded_handler(handler: Any) -> Any:
    codecs = handler.request_deserializer, handler.response_serializer
    if iscoroutinefunction(handler.unary_unary):
        return grpc.unary_unary_rpc_method_handler(partial(_guarded, handler.unary_unary), *codecs)
    if iscoroutinefunction(handler.stream_stream):
        return grpc.stream_stream_rpc_method_handler(partial(_guarded, handler.stream_stream), *codecs)
    return handler


async def _guarded(call: Callable[[Any, Any], Awaitable[Any]], request: Any, context: Any) -> Any:
    try:
        return await call(request, context)
    except grpc.aio.AbortError:  # the handler has aborted by itself
        raise
    except Exception as error:
        code, message = status_of(error)
        if code is grpc.StatusCode.INTERNAL:
            _log.exception("rpc.failed")
        await context.abort(code, message)


class AioServer:
    """A gRPC server with health service and reflection. `start`, then `stop`; make it inside the loop."""

    def __init__(self, address: str, register: Callable[[grpc.aio.Server], str]) -> None:
        """`register` adds a servicer with coroutine methods to the server and returns the service's full name.

        Raises UsageError if the address cannot be bound. Port 0 takes a free one.
        """
        self._server = grpc.aio.server(interceptors=(_ErrorsAsStatusAio(),), options=SERVER_OPTIONS)
        self._health = health.aio.HealthServicer()
        self._services = complete(self._server, register(self._server), self._health)
        self.port = bound_port(self._server, address)

    async def start(self) -> None:
        """Begin to answer, and report SERVING."""
        await self._server.start()
        for service in self._services:
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)

    async def stop(self, grace_s: float = 1.0) -> None:
        """Report NOT_SERVING, finish running calls within the grace, stop."""
        for service in self._services:
            await self._health.set(service, health_pb2.HealthCheckResponse.NOT_SERVING)
        await self._server.stop(grace_s)
