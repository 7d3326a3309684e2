"""What becomes of a run when the second node is drained or lost, and of a checkpoint that two drivers want."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from tests.cluster.ground import cgroups
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.ground.layout import NODE1, NODE2, Node
from tests.cluster.releases import Release, is_ready, unbound_policies
from tests.cluster.runs import NOTHING_LOST, Run, longest_silence_s, lossless

# 36 to 65 s, by the hour; a recovery that waits for a timeout takes 120 s (Spark's) or 300 s (Kubernetes').
BACK_S = 110
# From when somebody has said that the node is gone; before, nobody can know.
BACK_AFTER_TAINT_S = 90
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
LOST_LEASE_STATUS = 75

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def second_node(ground: Cluster) -> Iterator[Kubectl]:
    """kubectl, for a test that takes the second node away; it is back afterwards, without pods."""
    kubectl = ground.kubectl
    yield kubectl
    ground.namespaces.mend()
    if any(taint["key"] == OUT_OF_SERVICE for taint in kubectl.get("node", NODE2.name)["spec"].get("taints", [])):
        kubectl("taint", "node", NODE2.name, f"{OUT_OF_SERVICE}-")
    wait_for("both nodes are Ready", ground.is_up, within_s=60)
    kubectl("cordon", NODE2.name)


@pytest.mark.full
def test_a_drained_node_costs_no_alert(release: Release, second_node: Kubectl, start_run: Callable[..., Run]) -> None:
    move_to_second_node(release, "job", second_node)
    run = measuring(start_run, duration_s=45)

    second_node("drain", NODE2.name, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s", timeout_s=70)

    result = run.result()
    assert lossless(result) == NOTHING_LOST
    assert longest_silence_s(result) <= BACK_S
    assert is_on(release, "job", NODE1)
    assert is_on(release, "executor", NODE1)


def test_a_node_that_is_lost_with_an_executor_costs_no_alert(
    release: Release, second_node: Kubectl, ground: Cluster, start_run: Callable[..., Run]
) -> None:
    move_to_second_node(release, "executor", second_node)
    run = measuring(start_run, duration_s=30)

    ground.namespaces.cut()

    result = run.result()
    assert lossless(result) == NOTHING_LOST
    assert longest_silence_s(result) <= BACK_S
    assert is_on(release, "executor", NODE1)


@pytest.mark.full
def test_a_node_that_is_lost_with_the_driver_costs_no_alert_once_somebody_says_so(
    release: Release, second_node: Kubectl, ground: Cluster, start_run: Callable[..., Run]
) -> None:
    move_to_second_node(release, "job", second_node)
    run = measuring(start_run, duration_s=30)

    ground.namespaces.cut()
    wait_for("the node is known to be lost", lambda: not is_ready(second_node.get("node", NODE2.name)), within_s=60)
    second_node("taint", "node", NODE2.name, f"{OUT_OF_SERVICE}=nodeshutdown:NoExecute")
    wait_for("the driver is on the other node", lambda: is_on(release, "job", NODE1), within_s=BACK_AFTER_TAINT_S)

    assert lossless(run.result()) == NOTHING_LOST
    assert is_on(release, "executor", NODE1)


@pytest.fixture
def any_executor(release: Release) -> Iterator[None]:
    """Executors of a driver that is not the release's are made, too: it ends when they are refused."""
    with unbound_policies(release.kubectl):
        yield


def test_of_two_drivers_on_one_checkpoint_the_one_that_lost_its_lease_ends(
    release: Release, any_executor: None
) -> None:
    (driver,) = release.pods("job")
    name, uid = driver["metadata"]["name"], driver["metadata"]["uid"]
    node = next(node for node in (NODE1, NODE2) if node.name == driver["spec"]["nodeName"])
    kubectl = release.kubectl
    kubectl.apply(rival_of(release, name))
    try:
        wait_for("the rival asks", lambda: "lease.awaited" in logs(kubectl, "rival"), within_s=60)
        assert holder(kubectl, name).startswith(f"{name}_")

        # It stands still, as with a machine that is paused, and then goes on where it was.
        signal_all(node, uid, signal.SIGSTOP)
        try:
            wait_for("the rival holds it", lambda: holder(kubectl, name).startswith("rival_"), within_s=30)
        finally:
            signal_all(node, uid, signal.SIGCONT)

        wait_for("the first one ends", lambda: last_exit_status(kubectl, name) == LOST_LEASE_STATUS, within_s=20)
        assert holder(kubectl, name).startswith("rival_")
    finally:
        kubectl("delete", "pod", "rival", timeout_s=60)
    wait_for("the first one holds it again", lambda: holder(kubectl, name).startswith(f"{name}_"), within_s=60)
    wait_for("it works again", lambda: all(is_ready(pod) for pod in release.pods("job")), within_s=120)


def measuring(start_run: Callable[..., Run], *, duration_s: int) -> Run:
    """A run whose measured load flows."""
    run = start_run("--duration", str(duration_s))
    run.wait_until_measuring()
    return run


def move_to_second_node(release: Release, component: str, kubectl: Kubectl) -> None:
    """Have the pod of a component, and with the driver its executor, on the second node, and Ready."""
    kubectl("uncordon", NODE2.name)
    kubectl("cordon", NODE1.name)
    try:
        for pod in release.pods(component):
            release.kubectl("delete", "pod", pod["metadata"]["name"], timeout_s=60)
        for moved in {component, "executor"}:
            wait_for(f"{moved} is on the second node", partial(is_on, release, moved, NODE2), within_s=120)
    finally:
        kubectl("uncordon", NODE1.name)


def is_on(release: Release, component: str, node: Node) -> bool:
    """Whether the component's pod is Ready on a node, and on no other."""
    found = release.pods(component)
    return [pod["spec"].get("nodeName") for pod in found] == [node.name] and all(map(is_ready, found))


def rival_of(release: Release, driver: str) -> dict[str, Any]:
    """A second driver that wants the first one's lease and checkpoint; no Service leads to it."""
    (stateful_set,) = release.kubectl.items(
        "statefulsets", f"--selector={release.selector},app.kubernetes.io/component=job"
    )
    template: dict[str, Any] = stateful_set["spec"]["template"]
    (container,) = template["spec"]["containers"]
    own = {"REPLICA": "0", "LEASE": driver, "DRIVER_HOST": "$(MARKET_SPREAD_POD_IP)"}
    for entry in container["env"]:
        if (value := own.get(entry["name"].removeprefix("MARKET_SPREAD_"))) is not None:
            entry.pop("valueFrom", None)
            entry["value"] = value
    labels = {**template["metadata"]["labels"], "app.kubernetes.io/component": "rival"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "rival", "labels": labels},
        "spec": template["spec"],
    }


def holder(kubectl: Kubectl, lease: str) -> str:
    return str(kubectl.get("lease", lease)["spec"].get("holderIdentity", ""))


def logs(kubectl: Kubectl, pod: str) -> str:
    with suppress(Exception):  # its container has not started
        return kubectl("logs", pod)
    return ""


def last_exit_status(kubectl: Kubectl, pod: str) -> int | None:
    (container,) = kubectl.get("pod", pod)["status"]["containerStatuses"]
    ended = container["lastState"].get("terminated") or container["state"].get("terminated") or {}
    return ended.get("exitCode")


def signal_all(node: Node, uid: str, number: signal.Signals) -> None:
    """Send a signal to all processes of a pod."""
    for pid in cgroups.pids_of_pod(node.cgroup, uid):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
