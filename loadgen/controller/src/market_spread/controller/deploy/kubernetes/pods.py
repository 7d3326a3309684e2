"""A release's pods as they matter to a run: who they are, how they are, where, and what they were told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LABELS = "app.kubernetes.io"
_PREFIX = "MARKET_SPREAD_"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as the API server has it.

    restarts: of its containers together; problem: why it is not ready, empty if it is; image: of the first container,
    by digest if the node tells one; environment: plain values of the first container, by our names without the prefix.
    """

    name: str
    uid: str
    component: str
    index: int
    node: str
    ready: bool
    problem: str
    restarts: int
    qos: str
    image: str
    cpu_request: str
    environment: Mapping[str, str]

    @property
    def life(self) -> tuple[str, int]:
        """What tells its containers from those that take their place: its uid, and their restarts."""
        return self.uid, self.restarts

    @property
    def container(self) -> str:
        """Its name for a person."""
        return f"{self.component} (pod {self.name})"


def pod_of(answer: Any) -> Pod:
    """From the client's V1Pod."""
    labels = answer.metadata.labels or {}
    status, first = answer.status, answer.spec.containers[0]
    statuses = status.container_statuses or []
    conditions = {condition.type: condition for condition in status.conditions or []}
    ready = "Ready" in conditions and conditions["Ready"].status == "True" and not answer.metadata.deletion_timestamp
    mine = next((container for container in statuses if container.name == first.name), None)
    return Pod(
        name=answer.metadata.name,
        uid=answer.metadata.uid,
        component=labels.get(f"{_LABELS}/component", ""),
        index=_index(answer.metadata.name, labels),
        node=answer.spec.node_name or "",
        ready=ready,
        problem="" if ready else _problem(answer, conditions, statuses),
        restarts=sum(container.restart_count for container in statuses),
        qos=status.qos_class or "",
        image=_image(first.image or "", mine.image_id if mine is not None else ""),
        cpu_request=(first.resources.requests or {}).get("cpu", "") if first.resources else "",
        environment={
            variable.name.removeprefix(_PREFIX): variable.value
            for variable in first.env or []
            if variable.name.startswith(_PREFIX) and variable.value is not None
        },
    )


def selector(release: str, component: str) -> str:
    """The label selector of a component's pods and Services."""
    return f"{_LABELS}/name=market-spread,{_LABELS}/instance={release},{_LABELS}/component={component}"


def _image(name: str, image_id: str | None) -> str:
    """By digest; one that was loaded into the node without a registry has its id alone there."""
    if not image_id:
        return name
    return image_id if "@" in image_id else f"{name}@{image_id}"


def _index(name: str, labels: Mapping[str, str]) -> int:
    text = labels.get("apps.kubernetes.io/pod-index", name.rpartition("-")[2])
    return int(text) if text.isdigit() else 0


def _problem(answer: Any, conditions: Mapping[str, Any], statuses: list[Any]) -> str:
    """The most telling of what the API server says."""
    if answer.metadata.deletion_timestamp:
        return "it is being deleted"
    for container in statuses:
        waiting = container.state.waiting if container.state else None
        if waiting is not None and waiting.reason not in ("ContainerCreating", "PodInitializing"):
            return ": ".join(part for part in (waiting.reason, waiting.message) if part)
    scheduled = conditions.get("PodScheduled")
    if scheduled is not None and scheduled.status != "True":
        return f"it is not scheduled: {scheduled.message}"
    return (
        "its readiness probe does not succeed" if answer.status.phase == "Running" else f"it is {answer.status.phase}"
    )
