"""Which CPUs the kubelet has given to whom, and which it may give: its pod resources API, on a socket of the node."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from market_spread.host_tuner.values import Cpus
from market_spread.v1 import pod_resources_pb2 as pb

_SERVICE = "/v1.PodResourcesLister"
_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Resources:
    """What the kubelet says.

    exclusive: containers, as namespace/pod/container, with CPUs that are theirs alone; allocatable: CPUs that it may
    give away like that, none unless its CPU manager's policy is static; error: why nothing is known.
    """

    exclusive: Mapping[str, Cpus] = field(default_factory=dict)
    allocatable: Cpus = frozenset()
    error: str | None = None


class KubeletSocket:
    """The kubelet at its socket."""

    def __init__(self, socket: Path) -> None:
        self._channel = grpc.insecure_channel(
            f"unix:{socket.absolute()}",
            # gRPC would send the percent-encoded path as :authority, which the kubelet's server refuses.
            options=[("grpc.default_authority", "localhost"), ("grpc.enable_http_proxy", 0)],
        )

    def resources(self) -> Resources:
        """What it says now. Raises nothing."""
        try:
            listed = self._answer("List", pb.ListPodResourcesRequest(), pb.ListPodResourcesResponse)
            request = pb.AllocatableResourcesRequest()
            allocatable = self._answer("GetAllocatableResources", request, pb.AllocatableResourcesResponse)
        except grpc.RpcError as error:
            return Resources(error=f"the kubelet does not say: {error.details()}")
        exclusive = {
            f"{pod.namespace}/{pod.name}/{container.name}": frozenset(container.cpu_ids)
            for pod in listed.pod_resources
            for container in pod.containers
            if container.cpu_ids
        }
        return Resources(exclusive, frozenset(allocatable.cpu_ids))

    def _answer(self, method: str, request: Any, response: Any) -> Any:
        call = self._channel.unary_unary(f"{_SERVICE}/{method}", type(request).SerializeToString, response.FromString)
        return call(request, timeout=_TIMEOUT_S)
