"""What the tuner asks of the Kubernetes API: its node, and the DaemonSet that it belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from market_spread.common.errors import UnavailableError
from market_spread.common.kubernetes import ApiServer, RefusedError

CONDITION = "MarketSpreadHostTuned"
ANNOTATION = "market-spread.io/host-tuning"
_STRATEGIC_MERGE = "application/strategic-merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
# The API's answers when the chart's roles, or its service account, are gone.
_RIGHTS_ARE_GONE = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


@dataclass(frozen=True, slots=True)
class NodeObject:
    """The parts of a node's object that concern the tuner, as the API gives them."""

    annotation: str | None
    condition: Mapping[str, str] | None
    taint_keys: tuple[str, ...]


class KubernetesNode:
    """A node's object in the cluster. All calls raise UnavailableError if they cannot be answered."""

    def __init__(self, api: ApiServer, name: str) -> None:
        self._api = api
        self._path = f"/api/v1/nodes/{name}"

    def read(self) -> NodeObject:
        node = self._api.call("GET", self._path)
        conditions = node.get("status", {}).get("conditions") or []
        return NodeObject(
            annotation=(node["metadata"].get("annotations") or {}).get(ANNOTATION),
            condition=next((condition for condition in conditions if condition["type"] == CONDITION), None),
            taint_keys=tuple(taint["key"] for taint in node.get("spec", {}).get("taints") or []),
        )

    def set_condition(self, condition: Mapping[str, str]) -> None:
        """Set our condition, and no other."""
        self._merge({"status": {"conditions": [dict(condition)]}}, "/status")

    def remove_condition(self) -> None:
        """Remove our condition, and no other."""
        self._merge({"status": {"conditions": [{"type": CONDITION, "$patch": "delete"}]}}, "/status")

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


class OwnDaemonSet:
    """The DaemonSet that the tuner's pods belong to."""

    def __init__(self, api: ApiServer, namespace: str, name: str) -> None:
        self._api = api
        self._path = f"/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}"

    def is_being_removed(self) -> bool:
        """Whether it is gone or going, and not merely updated. If the API does not answer, it is said to be there."""
        try:
            found = self._unless_gone("GET")
        except RefusedError as error:
            return error.status in _RIGHTS_ARE_GONE
        except UnavailableError:
            return False
        return found is None or "deletionTimestamp" in found["metadata"]

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
