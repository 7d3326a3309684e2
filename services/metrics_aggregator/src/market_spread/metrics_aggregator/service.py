"""The gRPC side: takes pushes and notes into the store."""

import grpc
import grpc.aio

from market_spread.common.errors import WrongStateError
from market_spread.metrics_aggregator.store import Store
from market_spread.v1.metrics_pb2 import DESCRIPTOR, NoteRequest, NoteResponse, PushRequest, PushResponse
from market_spread.v1.metrics_pb2_grpc import MetricsServicer, add_MetricsServicer_to_server


class MetricsService(MetricsServicer):
    """Merges each push at once, in the loop that the store belongs to."""

    def __init__(self, store: Store, *, takes_pushes: bool = True) -> None:
        self._store = store
        self._takes_pushes = takes_pushes

    async def Push(self, request: PushRequest, context: grpc.ServicerContext) -> PushResponse:  # noqa: N802 - the proto's name
        self._require_pushes()
        return PushResponse(sequence=self._store.push(request))

    async def Note(self, request: NoteRequest, context: grpc.ServicerContext) -> NoteResponse:  # noqa: N802 - the proto's name
        self._require_pushes()
        self._store.note(request)
        return NoteResponse()

    def register(self, server: grpc.aio.Server) -> str:
        """Add the service to the server; its full name."""
        add_MetricsServicer_to_server(self, server)
        return str(DESCRIPTOR.services_by_name["Metrics"].full_name)

    def _require_pushes(self) -> None:
        if not self._takes_pushes:
            raise WrongStateError("this metrics-aggregator shows finished runs and takes none; push to one that does")
