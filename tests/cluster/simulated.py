"""Nodes without machines, of type c4.8xlarge, and the pods of the reference that go to them."""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import yaml

from tests.cluster.ground import binaries
from tests.cluster.ground.errors import GroundError, run
from tests.cluster.ground.kubectl import Kubectl
from tests.cluster.releases import CHARTS

Object = dict[str, Any]
POOLS = ("engine", "broker", "load")
HEARTBEAT_S = 5
LEASE_S = 40
# What a kubelet says of such a node: 18 cores without SMT, of which two are reserved; 60 GiB.
CAPACITY = {"cpu": "18", "memory": "60Gi", "pods": "58"}
ALLOCATABLE = {"cpu": "16", "memory": "56Gi", "pods": "58"}
CHART = CHARTS / "market-spread"


class Kubelets:
    """What kubelets would say of the nodes that there are: what each has, that it is Ready, and that it lives."""

    def __init__(self, kubectl: Kubectl, names: Callable[[], list[str]]) -> None:
        self._kubectl = kubectl
        self._leases = Kubectl(kubectl.kubeconfig, "kube-node-lease")
        self._names = names
        self._ready: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._say_that_they_live, daemon=True)

    def start(self) -> None:
        """Say it from now on, of nodes that come later within seconds."""
        self._say()
        self._thread.start()

    def stop(self) -> None:
        """Say nothing any more, and leave nothing of what was said but on the nodes."""
        self._stop.set()
        if self._thread.ident:
            self._thread.join()
        if self._ready:
            self._leases.delete("leases", *sorted(self._ready))

    def _say_that_they_live(self) -> None:
        passed_s = 0
        while not self._stop.wait(1):
            passed_s += 1
            with suppress(GroundError):  # a node may go meanwhile; the others are told of in a second
                if passed_s % HEARTBEAT_S == 0 or set(self._names()) - self._ready:
                    self._say()

    def _say(self) -> None:
        names = self._names()
        if not names:
            return
        # The leases first: a node that no one has heard of for long would be taken for lost at once.
        now = run(["date", "--utc", "+%Y-%m-%dT%H:%M:%S.000000Z"]).strip()
        self._leases.apply(*(_lease(name, now) for name in names))
        new = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **_status()}
               for name in names if name not in self._ready]  # fmt: skip
        if new:
            text = json.dumps({"apiVersion": "v1", "kind": "List", "items": new})
            options = ("--server-side", "--force-conflicts", "--subresource=status")
            self._kubectl("apply", *options, "--filename=-", text=text)
            self._ready |= set(names)


def _lease(name: str, now: str) -> Object:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": LEASE_S, "renewTime": now},
    }


def _status() -> Object:
    return {
        "status": {
            "capacity": CAPACITY,
            "allocatable": ALLOCATABLE,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Simulated"}],
        }
    }


def rendered(kubectl: Kubectl, *words: str) -> list[Object]:
    """The chart's objects for the reference set-up, with folders for claims, which nothing provides here."""
    binaries.build_missing((binaries.HELM,))
    text = run(
        [binaries.HELM.path, "template", "market-spread", CHART, f"--namespace={kubectl.namespace}",
         f"--values={CHART / 'values-c4.8xlarge.yaml'}", "--set=receiver.ledgers.kind=emptyDir",
         "--set=metricsAggregator.runs.kind=emptyDir", "--set=kafka.data.kind=emptyDir",
         "--set=job.checkpoint.kind=hostPath", "--set=job.checkpoint.hostPath=/tmp/checkpoint",
         "--set=job.checkpoint.shared=true", "--set=images.registry=localhost", "--no-hooks",
         "--kube-version=1.34", *words]
    )  # fmt: skip
    return [document for document in yaml.safe_load_all(text) if document]


def node_pools(**changes: Any) -> list[Object]:
    """What the chart node-pools makes of the reference; `changes` of the specification by kind."""
    binaries.build_missing((binaries.HELM,))
    chart = CHARTS / "node-pools"
    made = run(
        [binaries.HELM.path, "template", "pools", chart, "--kube-version", "1.34.4", "--values",
         chart / "values-c4.8xlarge.yaml", "--set", "pools.load.enabled=true"]
    )  # fmt: skip
    objects = [each for each in yaml.safe_load_all(made) if each]
    for each in objects:
        each["spec"].update(changes.get(each["kind"], {}))
    return objects


def executor(objects: list[Object], number: int) -> Object:
    """An executor pod as Spark makes it: the chart's template, with image and resources of the driver's environment."""
    templates: list[Object] = [
        yaml.safe_load(document["data"]["pod.yaml"])
        for document in objects
        if document["kind"] == "ConfigMap" and "pod.yaml" in document.get("data", {})
    ]
    (template,) = templates
    (container,) = template["spec"]["containers"]
    amounts = {"cpu": "7", "memory": "16Gi"}
    container.update(image="localhost/none:dev", resources={"requests": amounts, "limits": amounts})
    template["metadata"]["name"] = f"executor-{number}"
    return template


def placed(kubectl: Kubectl, selector: str = "") -> dict[str, str]:
    """The node of each pod that has one."""
    words = [f"--selector={selector}"] if selector else []
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in kubectl.items("pods", *words)
        if "nodeName" in pod["spec"]
    }


def remove_pods(kubectl: Kubectl, *words: str) -> None:
    """Remove pods (all by default) and what would make them again: there is no kubelet that would end them."""
    if not words:
        kubectl("delete", "statefulsets,jobs", "--all", "--cascade=orphan")
    kubectl("delete", "pods", *(words or ("--all",)), "--force", "--grace-period=0")
