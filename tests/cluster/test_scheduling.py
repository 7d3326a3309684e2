"""Where pods go on 30 nodes of type c4.8xlarge in three pools: plain Node objects, and the cluster's own scheduler."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.simulated import POOLS, Kubelets, executor, placed, remove_pods, rendered

NODES_OF_A_POOL = 10


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


@pytest.fixture(scope="module")
def simulated(cluster_kubectl: Kubectl) -> Iterator[None]:
    nodes = [node(pool, number) for pool in POOLS for number in range(NODES_OF_A_POOL)]
    kubelets = Kubelets(cluster_kubectl, lambda: [each["metadata"]["name"] for each in nodes])
    try:
        cluster_kubectl.apply(*nodes)
        kubelets.start()
        wait_for("no simulated node has a startup taint", lambda: not _not_ready(cluster_kubectl), within_s=60)
        yield
    finally:
        kubelets.stop()
        cluster_kubectl.delete("nodes", "--selector=simulated=true")


@pytest.fixture
def own(simulated: None, kubectl: Kubectl) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own."""
    yield kubectl
    remove_pods(kubectl)


def _not_ready(kubectl: Kubectl) -> list[str]:
    return [
        item["metadata"]["name"]
        for item in kubectl.items("nodes", "--selector=simulated=true")
        if len(item["spec"].get("taints", [])) != 1
    ]


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
