"""What the tuner asks and says in the cluster: its node's object, the DaemonSet it belongs to, the node's kubelet."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import grpc

from market_spread.common.clock import Clock
from market_spread.common.errors import UnavailableError
from market_spread.common.kubernetes import ApiServer, RefusedError
from market_spread.common.logs import log_event
from market_spread.host_tuner.values import Cpus, Report
from market_spread.v1 import pod_resources_pb2 as pb

CONDITION = "MarketSpreadHostTuned"
ANNOTATION = "market-spread.io/host-tuning"
STARTUP_TAINT = "market-spread.io/host-tuning"
# What has not changed is looked at again after so long: someone may have changed the node, or made it anew.
LOOK_AGAIN_NS, HEARTBEAT_NS = 60_000_000_000, 300_000_000_000
_STRATEGIC_MERGE = "application/strategic-merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
# The API's answers when the chart's roles, or its service account, are gone.
_RIGHTS_ARE_GONE = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_PODS = "/v1.PodResourcesLister"
_KUBELET_TIMEOUT_S = 5.0

_log = logging.getLogger(__name__)


class KubernetesNode:
    """A node's object in the cluster. All calls raise UnavailableError if they cannot be answered."""

    def __init__(self, api: ApiServer, name: str) -> None:
        self._api = api
        self._path = f"/api/v1/nodes/{name}"

    def read(self) -> tuple[str | None, Mapping[str, str] | None, list[str]]:
        """Our annotation and our condition, None if there is none, and the keys of all its taints."""
        node = self._api.call("GET", self._path)
        annotations, spec = node["metadata"].get("annotations") or {}, node.get("spec", {})
        conditions = node.get("status", {}).get("conditions") or []
        condition = next((condition for condition in conditions if condition["type"] == CONDITION), None)
        return annotations.get(ANNOTATION), condition, [taint["key"] for taint in spec.get("taints") or []]

    def set_condition(self, condition: Mapping[str, str] | None) -> None:
        """Set our condition, and no other; None removes it."""
        change = {"type": CONDITION, "$patch": "delete"} if condition is None else dict(condition)
        self._merge({"status": {"conditions": [change]}}, "/status")

    def annotate(self, text: str | None) -> None:
        """Set our annotation; None removes it."""
        self._merge({"metadata": {"annotations": {ANNOTATION: text}}})

    def remove_taint(self, place: int, key: str) -> None:
        """Remove the taint at this place; UnavailableError if there is another one by now."""
        path = f"/spec/taints/{place}"
        operations = [{"op": "test", "path": f"{path}/key", "value": key}, {"op": "remove", "path": path}]
        self._api.call("PATCH", self._path, operations, content_type=_JSON_PATCH)

    def _merge(self, change: object, part: str = "") -> None:
        self._api.call("PATCH", self._path + part, change, content_type=_STRATEGIC_MERGE)


class NodePublisher:
    """Keeps the node's object up to date, with as few calls as that takes."""

    def __init__(self, api: KubernetesNode, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self._published: tuple[str, str] | None = None
        self._checked_ns = self._heartbeat_ns = self.errors = 0

    def publish(self, report: Report) -> None:
        """Say what the report says. If the API does not answer, the next report is said instead."""
        content = (json.dumps(report.to_mapping()), report.message())
        now_ns = self._clock.monotonic_ns()
        if content == self._published and now_ns - self._checked_ns < LOOK_AGAIN_NS:
            return
        try:
            self._bring_up_to_date(report, *content)
        except UnavailableError as error:
            self.errors += 1
            log_event(_log, "node.not_published", logging.WARNING, reason=str(error))
            return
        self._published, self._checked_ns = content, now_ns

    def withdraw(self) -> None:
        """Leave nothing of the tuner's on the node's object. UnavailableError if the API does not answer."""
        self._published = None
        self._api.annotate(None)
        self._api.set_condition(None)

    def _bring_up_to_date(self, report: Report, annotation: str, message: str) -> None:
        said, condition, taints = self._api.read()
        if said != annotation:
            self._api.annotate(annotation)
        self._set_condition(condition, report.ok, message)
        # The last thing: who sees the taint gone finds the rest said.
        if report.ok and STARTUP_TAINT in taints:
            self._api.remove_taint(taints.index(STARTUP_TAINT), STARTUP_TAINT)
            log_event(_log, "node.released", taint=STARTUP_TAINT)

    def _set_condition(self, old: Mapping[str, str] | None, ok: bool, message: str) -> None:
        status, reason = ("True", "AsWanted") if ok else ("False", "NotAsWanted")
        now_ns = self._clock.monotonic_ns()
        same = old is not None and (old.get("status"), old.get("message")) == (status, message)
        if same and self._heartbeat_ns and now_ns - self._heartbeat_ns < HEARTBEAT_NS:
            return
        now = datetime.fromtimestamp(self._clock.unix_ns() // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        changed = old.get("lastTransitionTime", now) if old is not None and old.get("status") == status else now
        condition = {"type": CONDITION, "status": status, "reason": reason, "message": message}
        self._api.set_condition({**condition, "lastHeartbeatTime": now, "lastTransitionTime": changed})
        self._heartbeat_ns = now_ns or 1


class OwnDaemonSet:
    """The DaemonSet that the tuner's pods belong to."""

    def __init__(self, api: ApiServer, namespace: str, name: str) -> None:
        self._api = api
        self._path = f"/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}"

    def next_writes(self, root: Path) -> frozenset[str] | None:
        """What the next pod on this node may write of the host: paths of mounts below `root`, without a slash in front.

        Nothing if the DaemonSet is gone or going, and not merely updated. None if the API does not answer.
        """
        try:
            found = self._unless_gone("GET")
        except RefusedError as error:
            return frozenset() if error.status in _RIGHTS_ARE_GONE else None
        except UnavailableError:
            return None
        if found is None or "deletionTimestamp" in found["metadata"]:
            return frozenset()
        mounts = found["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
        writable = (Path(mount["mountPath"]) for mount in mounts if not mount.get("readOnly"))
        return frozenset(str(path.relative_to(root)) for path in writable if path.is_relative_to(root))

    def exists(self) -> bool:
        """Whether there is such an object. UnavailableError if the API does not answer."""
        return self._unless_gone("GET") is not None

    def remove(self) -> None:
        """Ask for its removal, which is done when its pods are. Nothing if it is gone. UnavailableError else."""
        self._unless_gone("DELETE", {"propagationPolicy": "Foreground"})

    def _unless_gone(self, method: str, body: object = None) -> Any:
        try:
            return self._api.call(method, self._path, body)
        except RefusedError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        return None


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
        call = self._channel.unary_unary(f"{_PODS}/{method}", type(request).SerializeToString, response.FromString)
        return call(request, timeout=_KUBELET_TIMEOUT_S)
