"""The pods that rendered objects make: their own, and the executors, for which Spark gets a template."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tests.charts.catalog import NAMESPACE, Object, Rendered, component_of

_TEMPLATED = ("StatefulSet", "Deployment", "DaemonSet", "Job")


@dataclass(frozen=True)
class MadePod:
    """A pod: who makes it, its labels and its spec."""

    maker: str
    labels: dict[str, str]
    spec: dict[str, Any]

    @property
    def component(self) -> str | None:
        return component_of({"labels": self.labels})

    @property
    def containers(self) -> list[dict[str, Any]]:
        """All of them, those of the start first."""
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]


def pods(rendered: Rendered) -> list[MadePod]:
    """All pods of a rendering."""
    return [*_of_objects(rendered), *_executors(rendered)]


def pod(rendered: Rendered, component: str) -> MadePod:
    """The only pod of a component."""
    (found,) = [made for made in pods(rendered) if made.component == component]
    return found


def executor_manifests(rendered: Rendered) -> list[Object]:
    """The executors' templates with what Spark adds: name, image, arguments, requests and limits; one for each job."""
    made: list[Object] = []
    for text in [text for found in rendered.of("ConfigMap", "job") for text in found["data"].values()]:
        manifest: Object = yaml.safe_load(text)
        driver = rendered.one("StatefulSet", "job")["spec"]["template"]["spec"]["containers"][0]
        told = {entry["name"].removeprefix("MARKET_SPREAD_"): entry.get("value") for entry in driver["env"]}
        memory = f"{_mebibytes(told['EXECUTOR_MEMORY']) + _mebibytes(told['EXECUTOR_MEMORY_OVERHEAD'])}Mi"
        resources = {"cpu": told["EXECUTOR_CPUS"], "memory": memory}
        manifest["metadata"] |= {"name": "executor", "namespace": NAMESPACE}
        manifest["spec"]["containers"][0] |= {
            "image": told["EXECUTOR_IMAGE"],
            "imagePullPolicy": told["EXECUTOR_IMAGE_PULL_POLICY"],
            "args": ["executor"],
            "resources": {"requests": resources, "limits": resources},
        }
        made.append(manifest)
    return made


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether a label selector takes these labels."""
    expressions = selector.get("matchExpressions", [])
    assert all(expression["operator"] == "In" for expression in expressions)
    return all(labels.get(name) == value for name, value in selector.get("matchLabels", {}).items()) and all(
        labels.get(expression["key"]) in expression["values"] for expression in expressions
    )


def _of_objects(rendered: Rendered) -> Iterator[MadePod]:
    for found in rendered.objects:
        maker = f"{found['kind']}/{found['metadata']['name']}"
        if found["kind"] in _TEMPLATED:
            template = found["spec"]["template"]
            yield MadePod(maker, template["metadata"]["labels"], template["spec"])
        elif found["kind"] == "Pod":
            yield MadePod(maker, found["metadata"]["labels"], found["spec"])


def _executors(rendered: Rendered) -> Iterator[MadePod]:
    for manifest in executor_manifests(rendered):
        yield MadePod("Spark", manifest["metadata"]["labels"], manifest["spec"])


def _mebibytes(heap: str) -> int:
    return int(heap[:-1]) * (1024 if heap.endswith("g") else 1)
