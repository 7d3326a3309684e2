"""Where pods go on 30 nodes of type c4.8xlarge in three pools: plain Node objects, and the cluster's own scheduler."""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.cluster.ground import binaries
from tests.cluster.ground.errors import run
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.releases import CHARTS

POOLS = ("engine", "broker", "load")
NODES_OF_A_POOL = 10
HEARTBEAT_S = 5
# 18 cores without SMT, of which two are reserved; 60 GiB.
CAPACITY = {"cpu": "18", "memory": "60Gi", "pods": "234"}
ALLOCATABLE = {"cpu": "16", "memory": "56Gi", "pods": "234"}
CHART = CHARTS / "market-spread"


def node(pool: str, number: int) -> dict[str, Any]:
    name = f"{pool}-{number}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"market-spread.io/pool": pool, "kubernetes.io/hostname": name, "simulated": "true"},
        },
        "spec": {"taints": [{"key": "market-spread.io/pool", "value": pool, "effect": "NoSchedule"}]},
    }


def status() -> dict[str, Any]:
    return {
        "status": {
            "capacity": CAPACITY,
            "allocatable": ALLOCATABLE,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Simulated"}],
        }
    }


class Simulated:
    """Nodes without machines. What a kubelet would say of each, that it lives, is said for it."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        self._leases = Kubectl(kubectl.kubeconfig, "kube-node-lease")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._say_that_they_live, daemon=True)
        self.names = [f"{pool}-{number}" for pool in POOLS for number in range(NODES_OF_A_POOL)]

    def start(self) -> None:
        self._renew()  # a node that no one has heard of for long would be taken for lost at once
        self._kubectl.apply(*(node(pool, number) for pool in POOLS for number in range(NODES_OF_A_POOL)))
        self._say_that_they_are_ready()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.ident:
            self._thread.join()
        self._kubectl.delete("nodes", "--selector=simulated=true")
        self._leases.delete("leases", *self.names)

    def _say_that_they_live(self) -> None:
        while not self._stop.wait(HEARTBEAT_S):
            self._renew()

    def _say_that_they_are_ready(self) -> None:
        nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **status()} for name in self.names]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes})
        options = ("--server-side", "--force-conflicts", "--subresource=status")
        self._kubectl("apply", *options, "--filename=-", text=text)

    def _renew(self) -> None:
        now = run(["date", "--utc", "+%Y-%m-%dT%H:%M:%S.000000Z"]).strip()
        self._leases.apply(*(self._lease(name, now) for name in self.names))

    def _lease(self, name: str, now: str) -> dict[str, Any]:
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now},
        }


@pytest.fixture(scope="module")
def simulated(cluster_kubectl: Kubectl) -> Iterator[Simulated]:
    nodes = Simulated(cluster_kubectl)
    try:
        nodes.start()
        wait_for("no simulated node has a startup taint", lambda: not _not_ready(cluster_kubectl), within_s=60)
        yield nodes
    finally:
        nodes.stop()


@pytest.fixture
def own(simulated: Simulated, kubectl: Kubectl) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own. Its pods have no kubelet that would end them."""
    yield kubectl
    kubectl("delete", "statefulsets,jobs", "--all", "--cascade=orphan")  # or they would make them again
    kubectl("delete", "pods", "--all", "--force", "--grace-period=0")


def _not_ready(kubectl: Kubectl) -> list[str]:
    return [
        item["metadata"]["name"]
        for item in kubectl.items("nodes", "--selector=simulated=true")
        if len(item["spec"].get("taints", [])) != 1
    ]


def rendered(kubectl: Kubectl, *words: str) -> list[dict[str, Any]]:
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


def executor(objects: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """An executor pod as Spark makes it: the chart's template, with image and resources of the driver's environment."""
    templates: list[dict[str, Any]] = [
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


def test_every_pod_lands_on_its_pool(own: Kubectl) -> None:
    objects = rendered(own)
    own.apply(*objects)
    own.apply(executor(objects, 1), executor(objects, 2))

    wait_for("all pods have a node", lambda: len(placed(own)) >= 7, within_s=60)

    pools = {pod.removeprefix("market-spread-"): name.split("-")[0] for pod, name in placed(own).items()}
    assert {pod: pool for pod, pool in pools.items() if not pod.startswith("topics")} == {
        "sender-0": "load",
        "receiver-0": "load",
        "metrics-aggregator-0": "load",
        "kafka-0": "broker",
        "job-0": "engine",
        "executor-1": "engine",
        "executor-2": "engine",
    }


def test_sender_and_receiver_share_a_node_and_so_a_clock(own: Kubectl) -> None:
    own.apply(*rendered(own))

    wait_for("both have a node", lambda: {"market-spread-sender-0", "market-spread-receiver-0"} <= set(placed(own)),
             within_s=60)  # fmt: skip

    nodes = placed(own)
    assert nodes["market-spread-sender-0"] == nodes["market-spread-receiver-0"]


def test_a_full_pool_leaves_pods_pending_and_says_why(own: Kubectl) -> None:
    objects = rendered(own, "--set=job.executors.onePerNode=false")
    own.apply(*(document for document in objects if document["kind"] in ("ConfigMap", "ServiceAccount")))
    wanted = 2 * NODES_OF_A_POOL + 1

    own.apply(*(executor(objects, number) for number in range(wanted)))
    wait_for("the pool is full", lambda: len(placed(own)) == wanted - 1, within_s=60)

    assert set(Counter(placed(own).values()).values()) == {2}
    (pending,) = [pod for pod in own.items("pods") if "nodeName" not in pod["spec"]]

    def message() -> str:
        conditions = own.get("pod", pending["metadata"]["name"])["status"].get("conditions", [{}])
        return str(conditions[0].get("message", ""))

    wait_for("the scheduler says why", lambda: bool(message()), within_s=20)
    # Nodes that are not simulated may be too small as well.
    found = re.search(r"(\d+) Insufficient cpu", message())
    assert found is not None, message()
    assert int(found[1]) >= NODES_OF_A_POOL
    assert "untolerated taint" in message()
