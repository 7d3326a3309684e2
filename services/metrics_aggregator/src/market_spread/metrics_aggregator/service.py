"""The gRPC side: takes pushes and notes into the store; and what the aggregator's environment tells it."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import grpc
import grpc.aio

from market_spread.common.errors import UnavailableError, UsageError, WrongStateError
from market_spread.metrics_aggregator.model.store import HISTORY_BYTES_MAX, Store
from market_spread.v1.metrics_pb2 import DESCRIPTOR, NoteRequest, NoteResponse, PushResponse
from market_spread.v1.metrics_pb2_grpc import MetricsServicer, add_MetricsServicer_to_server

_STOPS = "the metrics-aggregator stops; keep what is not answered and send it again"


@dataclass(frozen=True, slots=True)
class AggregatorConfig:
    """Where the aggregator listens and keeps what it takes."""

    host: Annotated[str, "Address to listen on."] = "127.0.0.1"
    grpc_port: Annotated[int, "Port of what is pushed; 0 takes a free one."] = 0
    http_port: Annotated[int, "Port of the metrics page; 0 takes a free one."] = 0
    ports_file: Annotated[Path | None, "Where to say which ports, as JSON, once both are bound."] = None
    runs_folder: Annotated[Path | None, "Where each run's folder with its log is; unset: nothing is written."] = None
    history_bytes_max: Annotated[int, "Memory for what is pushed, and a quarter of it for each finished run."] = (
        HISTORY_BYTES_MAX
    )
    takes_pushes: Annotated[bool, "Whether it does more than show the runs of its folder."] = True
    allowed_hosts: Annotated[str, "Hosts of requests, with commas; empty: any, or on loopback its own names."] = ""

    def __post_init__(self) -> None:
        if self.history_bytes_max < 1_000_000:
            raise ValueError(f"history_bytes_max={self.history_bytes_max}; use at least 1000000")


class MetricsService(MetricsServicer):
    """Merges each push at once, in the loop that the store belongs to, and answers then."""

    def __init__(self, store: Store, *, takes_pushes: bool = True) -> None:
        self._store, self._takes_pushes = store, takes_pushes
        self._waiting: set[asyncio.Task[object]] = set()
        self._ending = False

    # Reading and writing by the context, so that whatever ends the stream is raised here.
    async def Push(self, request_iterator: object, context: Any) -> None:  # type: ignore[override]
        self._require_pushes()
        while (request := await self._read(context)) is not grpc.aio.EOF:
            answer = PushResponse(sequence=request.sequence)
            try:
                self._store.push(request)
            except UsageError as error:
                answer.refusal = str(error)
            await context.write(answer)

    async def Note(self, request: NoteRequest, context: grpc.ServicerContext) -> NoteResponse:
        self._require_pushes()
        self._store.note(request)
        return NoteResponse()

    def register(self, server: grpc.aio.Server) -> str:
        """Add the service to the server; its full name."""
        add_MetricsServicer_to_server(self, server)
        return str(DESCRIPTOR.services_by_name["Metrics"].full_name)

    def end_streams(self) -> None:
        """End the streams that are open: they would last as long as the processes that push."""
        self._ending = True
        # A stream that writes an answer ends at its next read: gRPC takes no status while a write is under way.
        for stream in self._waiting:
            stream.cancel()

    async def _read(self, context: Any) -> Any:
        """The stream's next push. UnavailableError, which tells its process to come again, if we end the stream."""
        stream = asyncio.current_task()
        assert stream is not None
        if self._ending:
            raise UnavailableError(_STOPS)
        self._waiting.add(stream)
        try:
            return await context.read()
        except asyncio.CancelledError as error:
            if not self._ending:
                raise
            raise UnavailableError(_STOPS) from error
        finally:
            self._waiting.discard(stream)

    def _require_pushes(self) -> None:
        if not self._takes_pushes:
            raise WrongStateError("this metrics-aggregator shows finished runs and takes none; push to one that does")
