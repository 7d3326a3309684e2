"""The chart node-pools in the hands of Karpenter: its released core, with nodes that are objects without machines.

Only the node class is not the chart's: it is kwok's, as EC2's would order machines. What kubelets say is said for them.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.kubernetes import ApiServer
from market_spread.host_tuner.cluster import STARTUP_TAINT, KubernetesNode, NodePublisher
from market_spread.host_tuner.values import Report, SettingOutcome
from tests.cluster.ground import binaries
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.errors import run
from tests.cluster.ground.kubectl import Kubectl, cordoned, wait_for
from tests.cluster.ground.layout import KUBECONFIG, NODE1, NODES
from tests.cluster.pods import guaranteed, pod
from tests.cluster.simulated import (
    Kubelets,
    Object,
    executor,
    node_pools,
    placed,
    remove_pods,
    rendered,
)

pytestmark = pytest.mark.timeout(900)  # It builds Karpenter, where nobody has.

NODE_CLASS = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "kwok"}
KINDS = ("nodepools", "nodeclaims", "nodeoverlays")
POOL = "market-spread.io/pool"
# Longer than Karpenter waits for more pods before it decides, and for nodes to take away: 10 s each.
DECIDED_S = 25
# As EC2 offers it: the CPUs are threads, and of 60 GiB Karpenter leaves 7.5% to the hypervisor.
INSTANCE_TYPE = {
    "name": "c4.8xlarge",
    "architecture": "amd64",
    "operatingSystems": ["linux"],
    "resources": {"cpu": "36", "memory": "55.5Gi", "pods": "58", "ephemeral-storage": "100Gi"},
    "offerings": [
        {
            "Price": 1.591,
            "Requirements": [
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-east-1a"]},
            ],
        }
    ],
}


class Pools:
    """The chart's pools, and what Karpenter has made of them."""

    def __init__(self, kubectl: Kubectl, nodes: ApiServer) -> None:
        self.kubectl = kubectl
        self._api = nodes

    def apply(self, **specification: Any) -> None:
        """Have the chart's pools, with changes of their specification."""
        pools = [each for each in node_pools(NodePool=specification) if each["kind"] == "NodePool"]
        for each in pools:
            each["spec"]["template"]["spec"]["nodeClassRef"] = NODE_CLASS
        node_class = {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "spec": {}}
        self.kubectl.apply({**node_class, "metadata": {"name": NODE_CLASS["name"]}}, *pools)

    def claims(self) -> list[Object]:
        """What Karpenter has asked for."""
        return self.kubectl.items("nodeclaims")

    def nodes(self) -> list[Object]:
        """The nodes that came of it."""
        return self.kubectl.items("nodes", "--selector=karpenter.sh/nodepool")

    def count(self) -> dict[str, int]:
        """The claims of each pool."""
        return dict(Counter(each["metadata"]["labels"][POOL] for each in self.claims()))

    def are(self, **wanted: int) -> bool:
        """Whether so many nodes of each pool are there, Ready, and with all that Karpenter has to say of them."""
        ready = [each for each in self.nodes() if _holds(each, "Ready")]
        registered = all(_holds(each, "Registered") for each in self.claims())
        return registered and self.count() == wanted == dict(
            Counter(each["metadata"]["labels"][POOL] for each in ready)
        )

    def tune(self, *, ok: bool = True) -> None:
        """Say of each node what the tuner on it would say, with the tuner's own code."""
        report = Report((SettingOutcome("governor", "performance", "performance" if ok else "powersave", "tuner", ok),))
        for each in self.nodes():
            publisher = NodePublisher(KubernetesNode(self._api, each["metadata"]["name"]), SystemClock())
            publisher.publish(report)
            assert publisher.errors == 0

    def initialized(self) -> bool:
        """Whether Karpenter takes all nodes for ready to use."""
        return all(_holds(each, "Initialized") for each in self.claims())


def _holds(thing: Object, kind: str) -> bool:
    conditions = thing.get("status", {}).get("conditions", [])
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def stays(what: Callable[[], bool]) -> bool:
    """Whether it holds for as long as Karpenter would take to change it."""
    deadline = time.monotonic() + DECIDED_S
    while what():
        if time.monotonic() > deadline:
            return True
        time.sleep(1)
    return False


@pytest.fixture(scope="module")
def karpenter(ground: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Karpenter at work, on the first node's network, with the definitions of its release."""
    binaries.build_missing((binaries.KARPENTER,))
    release = f"sigs.k8s.io/karpenter@{binaries.KARPENTER.version}"
    folder = Path(json.loads(run(["go", "mod", "download", "-json", release], timeout_s=300))["Dir"])
    definitions = [
        *(f"--filename={folder}/pkg/apis/crds/karpenter.sh_{kind}.yaml" for kind in KINDS),
        f"--filename={folder}/kwok/apis/crds/karpenter.kwok.sh_kwoknodeclasses.yaml",
    ]
    types = tmp_path_factory.mktemp("karpenter") / "types.json"
    types.write_text(json.dumps([INSTANCE_TYPE]))
    environment = {
        "KUBECONFIG": KUBECONFIG, "SYSTEM_NAMESPACE": "kube-system", "DISABLE_LEADER_ELECTION": "true",
        "INSTANCE_TYPES_FILE_PATH": types, "METRICS_PORT": 0, "HEALTH_PROBE_PORT": 0, "BATCH_MAX_DURATION": "5s",
    }  # fmt: skip
    with ExitStack() as ending:
        # Their two CPUs are enough for a driver, which is to need a node of its pool.
        ending.enter_context(cordoned(ground.kubectl, *(node.name for node in NODES)))
        ending.callback(ground.kubectl, "delete", *definitions, "--ignore-not-found", "--timeout=60s", timeout_s=90)
        ending.callback(ground.processes.stop, "karpenter")
        ground.kubectl("create", *definitions)
        ground.kubectl("wait", "--for=condition=Established", "--timeout=30s", *definitions)
        words = [f"{name}={value}" for name, value in environment.items()]
        ground.processes.start("karpenter", [*ground.namespaces.inside(NODE1), "env", *words, binaries.KARPENTER.path])
        log = ground.processes.log("karpenter")
        begun = re.compile(r'"Starting workers".*"controller":"nodeclaim.lifecycle"')
        ground.processes.wait_until("karpenter", lambda: bool(begun.search(log.read_text())), within_s=60)
        yield


@pytest.fixture
def pools(karpenter: None, ground: Cluster, kubectl: Kubectl) -> Iterator[Pools]:
    """The chart's pools as they are, without a node. Pods, nodes and pools go with the test."""
    with ExitStack() as ending:
        proxy = ending.enter_context(ground.kubectl.start("proxy", "--port=0"))
        ending.callback(proxy.terminate)
        assert proxy.stdout is not None
        found = re.search(r"127\.0\.0\.1:\d+", proxy.stdout.readline())
        assert found
        made = Pools(ground.kubectl, ApiServer(f"http://{found[0]}"))
        kubelets = Kubelets(ground.kubectl, lambda: [each["metadata"]["name"] for each in made.nodes()])
        kubelets.start()
        ending.callback(kubelets.stop)
        made.apply()
        yield made
        remove_pods(kubectl)
        ground.kubectl("delete", "nodepools,nodeclaims", "--all", "--timeout=60s", timeout_s=90)

        def gone() -> bool:
            # kwok's provider makes a node in its own time, and so of a claim that has gone by then, too.
            if not made.claims():
                ground.kubectl.delete("nodes", "--selector=karpenter.sh/nodepool")
            return not made.nodes() and not made.claims()

        wait_for("the nodes have gone", gone, within_s=60)


def executors(kubectl: Kubectl, count: int, *words: str) -> None:
    """Pending executors of the reference."""
    objects = rendered(kubectl, *words)
    kubectl.apply(*(each for each in objects if each["kind"] in ("ConfigMap", "ServiceAccount")))
    kubectl.apply(*(executor(objects, number) for number in range(count)))


def names(pools: Pools) -> set[str]:
    return {each["metadata"]["name"] for each in pools.nodes()}


@pytest.mark.full
def test_the_reference_gets_nodes_and_has_them_when_they_are_tuned(pools: Pools, kubectl: Kubectl) -> None:
    objects = rendered(kubectl, "--set=job.executors.onePerNode=true")
    kubectl.apply(*objects, executor(objects, 1), executor(objects, 2))
    wanted = {"engine": 2, "broker": 1, "load": 1}
    wait_for("there are nodes", lambda: pools.are(**wanted), within_s=60)

    # Ready, and not right: pods wait, and Karpenter does not make more nodes for them.
    pools.tune(ok=False)
    assert stays(lambda: pools.are(**wanted) and not set(placed(kubectl).values()) & names(pools))
    assert not any(_holds(each, "Initialized") for each in pools.claims())

    pools.tune()
    wait_for("Karpenter knows it", pools.initialized, within_s=30)
    wait_for("all pods have a node", lambda: len(placed(kubectl)) >= 7, within_s=60)
    at = {each["metadata"]["name"]: each["metadata"]["labels"][POOL] for each in pools.nodes()}
    found = {name.removeprefix("market-spread-"): at.get(node) for name, node in placed(kubectl).items()}
    assert {name: pool for name, pool in found.items() if not name.startswith("topics")} == {
        "sender-0": "load", "receiver-0": "load", "metrics-aggregator-0": "load", "kafka-0": "broker",
        "job-0": "engine", "executor-1": "engine", "executor-2": "engine",
    }  # fmt: skip
    taints = [each["key"] for node in pools.nodes() for each in node["spec"]["taints"]]
    assert set(taints) == {POOL}
    assert pools.count() == wanted


@pytest.mark.full
def test_pods_that_come_together_get_no_more_nodes_than_the_pool_may_have(pools: Pools, kubectl: Kubectl) -> None:
    executors(kubectl, 5, "--set=job.executors.onePerNode=true")

    wait_for("there are nodes", lambda: pools.are(engine=2), within_s=60)
    pools.tune()
    wait_for("two have a node", lambda: len(placed(kubectl)) == 2, within_s=30)
    assert stays(lambda: pools.are(engine=2))

    # A limit in nodes alone is none here: Karpenter counts a node when it is there.
    remove_pods(kubectl)
    kubectl("delete", "nodeclaims", "--all", "--timeout=60s", timeout_s=90)
    pools.apply(limits={"nodes": "2"})
    executors(kubectl, 5, "--set=job.executors.onePerNode=true")
    wait_for("there are more", lambda: pools.count().get("engine", 0) > 2, within_s=60)


@pytest.mark.full
def test_pods_that_fit_by_threads_alone_get_another_node(pools: Pools, kubectl: Kubectl) -> None:
    # Three of 7 CPUs are fewer than the 36 that Karpenter knows of, and more than the 16 that there are.
    executors(kubectl, 3, "--set=job.executors.onePerNode=false")
    wait_for("there are nodes", lambda: pools.are(engine=2), within_s=60)
    asked = sorted(each["spec"]["resources"]["requests"]["cpu"] for each in pools.claims())
    assert asked == ["21", "7"]  # all on one; and, as soon as that has said what it has, one more

    pools.tune()
    wait_for("all have a node", lambda: sorted(Counter(placed(kubectl).values()).values()) == [1, 2], within_s=60)


@pytest.mark.full
def test_pods_of_others_get_no_node_of_the_pools(pools: Pools, kubectl: Kubectl) -> None:
    other = pod("other", "localhost/none:dev", resources=guaranteed(cpus=3))
    other["spec"].pop("tolerations")
    kubectl.apply(other)

    def said() -> str:
        events = kubectl.items("events", "--field-selector=involvedObject.name=other,reportingComponent=karpenter")
        return " ".join(each["message"] for each in events)

    wait_for("Karpenter says why", lambda: "did not tolerate taint" in said() and POOL in said(), within_s=60)
    assert pools.count() == {}


@pytest.mark.full
def test_an_empty_node_goes_and_one_that_is_used_or_out_of_date_stays(pools: Pools, kubectl: Kubectl) -> None:
    disruption = node_pools()[-1]["spec"]["disruption"]
    assert (disruption["consolidationPolicy"], disruption["consolidateAfter"]) == ("WhenEmpty", "30m")
    pools.apply(disruption=disruption | {"consolidateAfter": "5s"})
    executors(kubectl, 2, "--set=job.executors.onePerNode=true")
    wait_for("there are nodes", lambda: pools.are(engine=2), within_s=60)
    pools.tune()
    wait_for("both are used", lambda: len(placed(kubectl)) == 2, within_s=30)
    used = placed(kubectl)["executor-0"]
    # A pod of 7 of 16 CPUs: another policy would look for a cheaper node.
    assert stays(lambda: pools.are(engine=2))

    remove_pods(kubectl, "executor-1")
    wait_for("the empty one goes", lambda: names(pools) == {used}, within_s=120)

    def change(specification: Object) -> None:
        patch = json.dumps({"spec": specification})
        kubectl("patch", "nodepool", "market-spread-engine", "--type=merge", f"--patch={patch}")

    change({"template": {"metadata": {"labels": {"changed": "true"}}}})
    wait_for("it is out of date", lambda: all(_holds(each, "Drifted") for each in pools.claims()), within_s=60)
    assert stays(lambda: names(pools) == {used})

    # Without the chart's budget it would be replaced.
    change({"disruption": {"budgets": [{"nodes": "1"}]}})
    wait_for("another one comes", lambda: pools.are(engine=2), within_s=60)


@pytest.mark.full
def test_a_node_that_is_lost_is_replaced(pools: Pools, kubectl: Kubectl) -> None:
    objects = rendered(kubectl)
    kubectl.apply(*objects)
    wait_for("there are nodes", lambda: pools.are(engine=1, broker=1, load=1), within_s=60)
    pools.tune()
    wait_for("the driver has a node", lambda: "market-spread-job-0" in placed(kubectl), within_s=60)
    lost = placed(kubectl)["market-spread-job-0"]
    (claim,) = [each["metadata"]["name"] for each in pools.claims() if each["status"]["nodeName"] == lost]

    # As Karpenter does itself when EC2 says that an instance goes.
    kubectl("delete", "nodeclaim", claim, "--wait=false")

    def drained() -> bool:
        going = [each for each in kubectl.items("pods") if "deletionTimestamp" in each["metadata"]]
        return [each["metadata"]["name"] for each in going] == ["market-spread-job-0"]

    wait_for("the driver is asked to end", drained, within_s=60)
    remove_pods(kubectl, "market-spread-job-0")  # it has ended
    wait_for("the node goes", lambda: lost not in names(pools), within_s=60)
    wait_for("another one comes", lambda: pools.are(engine=1, broker=1, load=1), within_s=60)
    (fresh,) = [each for each in pools.nodes() if each["metadata"]["labels"][POOL] == "engine"]
    assert STARTUP_TAINT in [each["key"] for each in fresh["spec"]["taints"]]
    pools.tune()
    wait_for("the driver is there", lambda: placed(kubectl).get("market-spread-job-0") in names(pools), within_s=60)
