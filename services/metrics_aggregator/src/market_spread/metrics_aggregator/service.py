"""The gRPC side: takes pushes into the store."""

import grpc
import grpc.aio

from market_spread.metrics_aggregator.store import Store
from market_spread.v1.metrics_pb2 import DESCRIPTOR, PushRequest, PushResponse
from market_spread.v1.metrics_pb2_grpc import MetricsServicer, add_MetricsServicer_to_server


class MetricsService(MetricsServicer):
    """Merges each push at once, in the loop that the store belongs to."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def Push(self, request: PushRequest, context: grpc.ServicerContext) -> PushResponse:  # noqa: N802 - the proto's name
        return PushResponse(sequence=self._store.push(request))

    def register(self, server: grpc.aio.Server) -> str:
        """Add the service to the server; its full name."""
        add_MetricsServicer_to_server(self, server)
        return str(DESCRIPTOR.services_by_name["Metrics"].full_name)
