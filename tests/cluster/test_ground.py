"""The ground that all else stands on: a real Kubernetes of two nodes, with the static CPU manager."""

import json

import pytest

from tests.cluster.ground import images
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.errors import GroundError
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.ground.kubelet import cpu_manager_state
from tests.cluster.ground.layout import NODE1, NODE2, Node
from tests.cluster.pods import guaranteed, pod

SERVE = ["python3", "-m", "http.server", "--directory", "/tmp", "8000"]
SLEEP = ["sleep", "600"]


@pytest.fixture(scope="module")
def python_image(ground: Cluster) -> str:
    image = images.base_image()
    ground.load([image])
    return image.reference


def fetch(kubectl: Kubectl, pod_name: str, host: str) -> str:
    """What a pod gets from a host by HTTP: the status, or the reason why it gets none."""
    script = (
        "import sys, urllib.request as u\n"
        "try: print(u.urlopen(sys.argv[1], timeout=2).status)\n"
        "except OSError as error: print(error)"
    )
    return kubectl.exec(pod_name, "python3", "-c", script, f"http://{host}:8000").strip()


def affinity(kubectl: Kubectl, pod_name: str) -> list[int]:
    script = "import os; print(sorted(os.sched_getaffinity(0)))"
    cpus: list[int] = json.loads(kubectl.exec(pod_name, "python3", "-c", script))
    return cpus


def test_both_nodes_are_ready_and_carry_their_pool(ground: Cluster) -> None:
    nodes = {node["metadata"]["name"]: node["metadata"]["labels"] for node in ground.kubectl.items("nodes")}

    assert {name: labels["market-spread.io/pool"] for name, labels in nodes.items()} == {
        "node1": "engine",
        "node2": "engine",
    }


def test_a_second_up_changes_nothing(ground: Cluster) -> None:
    before = ground.processes.running()

    ground.up()

    assert ground.processes.running() == before


def test_pods_find_services_by_name_across_nodes(ground: Cluster, kubectl: Kubectl, python_image: str) -> None:
    kubectl.apply(
        pod("server", python_image, node="node2", command=SERVE),
        pod("client", python_image, node="node1", command=SLEEP),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "server"},
            "spec": {"selector": {"pod": "server"}, "ports": [{"port": 8000}]},
        },
    )
    server = kubectl.wait_ready("server")
    kubectl.wait_ready("client")

    assert fetch(kubectl, "client", server["status"]["podIP"]) == "200"
    wait_for("the Service answers", lambda: fetch(kubectl, "client", "server") == "200", within_s=20)
    assert fetch(kubectl, "client", f"server.{kubectl.namespace}.svc.cluster.local") == "200"


def test_logs_are_read_from_both_nodes(ground: Cluster, kubectl: Kubectl, python_image: str) -> None:
    for name in ("node1", "node2"):
        kubectl.apply(pod(name, python_image, node=name, command=["sh", "-c", "echo here; sleep 600"]))

    for name in ("node1", "node2"):
        kubectl.wait_ready(name)
        assert kubectl("logs", name) == "here\n"


@pytest.mark.parametrize(("node", "cpu"), [(NODE1, 1), (NODE2, 0)], ids=["node1", "node2"])
def test_a_guaranteed_pod_has_a_cpu_of_its_own(
    ground: Cluster, kubectl: Kubectl, python_image: str, node: Node, cpu: int
) -> None:
    kubectl.apply(pod("shared", python_image, node=node.name, command=SLEEP))
    kubectl.wait_ready("shared")
    kubectl.apply(pod("pinned", python_image, node=node.name, command=SLEEP, resources=guaranteed(cpus=1)))
    pinned = kubectl.wait_ready("pinned")

    assert pinned["status"]["qosClass"] == "Guaranteed"
    assert affinity(kubectl, "pinned") == [cpu]
    wait_for("the other pod has left the CPU", lambda: affinity(kubectl, "shared") == [1 - cpu], within_s=20)
    state = json.loads(cpu_manager_state(node).read_text())
    assert state["entries"][pinned["metadata"]["uid"]] == {"main": str(cpu)}
    assert state["defaultCpuSet"] == str(1 - cpu)


def test_a_second_pinned_pod_waits_for_a_cpu(ground: Cluster, kubectl: Kubectl, python_image: str) -> None:
    for name in ("first", "second"):
        kubectl.apply(pod(name, python_image, node="node1", command=SLEEP, resources=guaranteed(cpus=1)))
    kubectl.wait_ready("first")

    def reason() -> str:
        conditions = kubectl.get("pod", "second")["status"].get("conditions", [{}])
        return str(conditions[0].get("message", ""))

    wait_for("the scheduler says why", lambda: "Insufficient cpu" in reason(), within_s=20)


def test_a_cut_link_separates_the_nodes_until_it_is_mended(
    ground: Cluster, kubectl: Kubectl, python_image: str
) -> None:
    kubectl.apply(
        pod("server", python_image, node="node2", command=SERVE),
        pod("client", python_image, node="node1", command=SLEEP),
    )
    address = kubectl.wait_ready("server")["status"]["podIP"]
    kubectl.wait_ready("client")

    ground.namespaces.cut()
    try:
        assert fetch(kubectl, "client", address) != "200"
    finally:
        ground.namespaces.mend()
    wait_for("the nodes see each other", lambda: fetch(kubectl, "client", address) == "200", within_s=20)
    wait_for("both nodes are Ready", ground.is_up, within_s=60)


def test_an_account_without_rights_is_refused(ground: Cluster, kubectl: Kubectl) -> None:
    account = f"--as=system:serviceaccount:{kubectl.namespace}:default"

    with pytest.raises(GroundError, match="forbidden"):
        kubectl("get", "pods", account)


def test_a_node_may_not_change_another_one(ground: Cluster) -> None:
    impersonated = ("--as=system:node:node2", "--as-group=system:nodes")

    ground.kubectl("annotate", "node", "node2", "tried=1", "--overwrite", *impersonated)
    with pytest.raises(GroundError, match="node1"):
        ground.kubectl("annotate", "node", "node1", "tried=1", *impersonated)
