"""The host tuner on a real node: what it sets is set in the kernel, and only while it is there."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from market_spread.host_tuner.values import parse_list
from tests.cluster.ground import binaries, images
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.errors import GroundError, run
from tests.cluster.ground.kubectl import Kubectl, cordoned, wait_for
from tests.cluster.ground.kubelet import cpu_manager_state
from tests.cluster.ground.layout import NODE1, NODE2, NODES, SANDBOX_IMAGE
from tests.cluster.pods import guaranteed, pod
from tests.cluster.releases import Release

NAMESPACE = "host-tuning"
TAINT = "market-spread.io/host-tuning"
CONDITION = "MarketSpreadHostTuned"
# Drift is found within 15 s and repaired within 30 s.
REPAIRED_S = 30
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SWAPPINESS = Path("/proc/sys/vm/swappiness")
RESUME = Path("/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us")
WORKQUEUES = Path("/sys/devices/virtual/workqueue/cpumask")
MANAGED = (
    HUGE_PAGES,
    HUGE_PAGES.with_name("defrag"),
    SWAPPINESS,
    Path("/proc/sys/vm/stat_interval"),
    Path("/proc/sys/kernel/timer_migration"),
    RESUME,
    WORKQUEUES,
    Path("/proc/irq/default_smp_affinity"),
)

pytestmark = pytest.mark.timeout(600)


def contents() -> Mapping[str, bytes]:
    """The host's files that the tuner manages, interrupts included."""
    return {str(path): path.read_bytes() for path in (*MANAGED, *Path("/proc/irq").glob("*/smp_affinity_list"))}


def in_node(*command: str) -> str:
    """What a command says in the namespaces of the first node."""
    return run([*Cluster().namespaces.inside(NODE1), *command], timeout_s=20).strip()


@pytest.fixture(scope="module")
def host_before(ground: Cluster) -> Mapping[str, bytes]:
    return contents()


@pytest.fixture(scope="module")
def release(ground: Cluster, host_before: Mapping[str, bytes]) -> Iterator[Release]:
    """The chart as values-ci.yaml has it, on a node that began with the startup taint."""
    binaries.build_missing((binaries.HELM,))
    ground.load([images.product_images()["host-tuner"]])
    kubectl = Kubectl(ground.kubectl.kubeconfig, NAMESPACE)
    kubectl("taint", "node", NODE1.name, f"{TAINT}=pending:NoSchedule", "--overwrite")
    found = Release("host-tuning", "host-tuning", kubectl)
    try:
        found.install(within_s=120)
        yield found
    finally:
        found.uninstall()
        kubectl("taint", "node", NODE1.name, f"{TAINT}-") if TAINT in taints(kubectl) else None


def node(kubectl: Kubectl, name: str = NODE1.name) -> dict[str, Any]:
    return kubectl.get("node", name)


def taints(kubectl: Kubectl) -> list[str]:
    return [taint["key"] for taint in node(kubectl)["spec"].get("taints", [])]


def tuned(kubectl: Kubectl) -> dict[str, Any] | None:
    """The condition of the node."""
    conditions = node(kubectl)["status"]["conditions"]
    return next((condition for condition in conditions if condition["type"] == CONDITION), None)


def annotation(kubectl: Kubectl) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(node(kubectl)["metadata"]["annotations"]["market-spread.io/host-tuning"])
    return found


def tuner_pod(release: Release) -> str:
    (found,) = release.pods("tuner")
    return str(found["metadata"]["name"])


def report(release: Release) -> str:
    """The table that the running tuner shows."""
    page = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9850/report').read().decode())"
    return release.kubectl.exec(tuner_pod(release), "python3", "-c", page)


def test_the_node_is_set_up_and_released(release: Release) -> None:
    wait_for("the node is tuned", lambda: (tuned(release.kubectl) or {}).get("status") == "True", within_s=30)

    assert TAINT not in taints(release.kubectl)
    assert annotation(release.kubectl)["ok"] is True
    assert "[never]" in HUGE_PAGES.read_text()
    assert int(SWAPPINESS.read_text()) <= 10
    assert RESUME.read_text().strip() == "2"
    assert int(WORKQUEUES.read_text().replace(",", ""), 16) == 1
    assert in_node("cat", "/proc/sys/net/ipv4/tcp_fin_timeout") == "30"
    assert "are as wanted" in report(release)


def test_its_pod_has_no_privilege(release: Release) -> None:
    name = tuner_pod(release)

    status = release.kubectl.exec(name, "grep", "-E", "^(CapEff|CapBnd|NoNewPrivs|Seccomp):", "/proc/self/status")

    assert status.split() == [
        "CapBnd:", "0000000000000000", "CapEff:", "0000000000000000", "NoNewPrivs:", "1", "Seccomp:", "2",
    ] or status.split() == [
        "CapEff:", "0000000000000000", "CapBnd:", "0000000000000000", "NoNewPrivs:", "1", "Seccomp:", "2",
    ]  # fmt: skip
    with pytest.raises(GroundError):
        release.kubectl.exec(name, "python3", "-c", "open('/host/proc/sys/kernel/random/boot_id', 'w')")


def test_what_someone_changes_is_put_right(release: Release) -> None:
    SWAPPINESS.write_text("60\n")

    took_s = wait_for("swappiness is right", lambda: int(SWAPPINESS.read_text()) <= 10, within_s=REPAIRED_S)

    assert took_s < REPAIRED_S


def test_exclusive_cpus_are_those_of_the_kubelets_state_and_of_the_pod_itself(release: Release) -> None:
    kubectl = release.kubectl
    sleeping = pod(
        "pinned", images.product_images()["host-tuner"].reference, node=NODE1.name,
        command=["python3", "-c", "import signal; signal.pause()"], resources=guaranteed(cpus=1),
    )  # fmt: skip
    kubectl.apply(sleeping)
    try:
        kubectl.wait_ready("pinned")
        name = f"{NAMESPACE}/pinned/main"
        wait_for("the tuner tells of it", lambda: name in annotation(kubectl)["exclusive"], within_s=30)

        own = kubectl.exec("pinned", "python3", "-c", "import os; print(sorted(os.sched_getaffinity(0)))")
        state = json.loads(cpu_manager_state(NODE1).read_text())
        uid = kubectl.get("pod", "pinned")["metadata"]["uid"]

        assert parse_list(annotation(kubectl)["exclusive"][name]) == {1}
        assert json.loads(own) == [1]
        assert state["entries"][uid]["main"] == "1"
        assert state["defaultCpuSet"] == "0"
    finally:
        kubectl.delete("pod", "pinned")


@pytest.mark.parametrize(
    ("name", "patch", "refusal"),
    [
        (NODE2.name, {"metadata": {"annotations": {TAINT: "{}"}}}, "changes the node that it runs on, and no other"),
        (NODE1.name, {"metadata": {"labels": {"a": "b"}}}, "changes no labels"),
        (NODE1.name, {"metadata": {"annotations": {"a": "b"}}}, "changes the annotation"),
        (NODE1.name, {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, "removes the taint"),
        (NODE1.name, {"spec": {"unschedulable": True}}, "removes the taint"),
    ],
)
def test_its_token_changes_its_own_node_alone_and_only_what_is_the_tuners(
    release: Release, name: str, patch: dict[str, Any], refusal: str
) -> None:
    refused = patched_by_the_tuner(release, name, "", patch)

    assert refusal in refused, refused


def test_its_token_changes_no_other_condition(release: Release) -> None:
    ready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}

    assert "changes the condition MarketSpreadHostTuned" in patched_by_the_tuner(release, NODE1.name, "/status", ready)


def patched_by_the_tuner(release: Release, name: str, part: str, patch: dict[str, Any]) -> str:
    """Patch a node with the rights that the tuner's pod has; what the API says."""
    script = f"""
import os, ssl, urllib.error, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
host = os.environ["KUBERNETES_SERVICE_HOST"] + ":" + os.environ["KUBERNETES_SERVICE_PORT"]
headers = {{
    "Authorization": "Bearer " + open(folder + "token").read(),
    "Content-Type": "application/strategic-merge-patch+json",
}}
url = "https://" + host + "/api/v1/nodes/{name}{part}"
request = urllib.request.Request(url, {json.dumps(patch).encode()!r}, headers, method="PATCH")
try:
    urllib.request.urlopen(request, context=ssl.create_default_context(cafile=folder + "ca.crt"))
    print("done")
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""
    return release.kubectl.exec(tuner_pod(release), "python3", "-c", script)


def test_a_killed_tuner_comes_back_and_knows_the_host_as_it_was(release: Release) -> None:
    name = tuner_pod(release)
    release.kubectl("delete", "pod", name, "--grace-period=0", "--force")
    wait_for("another tuner looks", lambda: _looks(release, name), within_s=60)

    assert "[never]" in HUGE_PAGES.read_text()


def _looks(release: Release, other_than: str) -> bool:
    found = release.pods("tuner")
    ready = [status.get("ready") for entry in found for status in entry["status"].get("containerStatuses", [])]
    return [entry["metadata"]["name"] for entry in found] != [other_than] and ready == [True]


def test_an_update_leaves_the_host_as_it_is(release: Release) -> None:
    name = tuner_pod(release)

    release.install("--set=intervalS=3", within_s=120)

    assert tuner_pod(release) != name
    assert "[never]" in HUGE_PAGES.read_text()
    assert int(SWAPPINESS.read_text()) <= 10
    assert (tuned(release.kubectl) or {}).get("status") == "True"


def test_a_setting_that_leaves_the_profile_is_put_back_though_nothing_of_it_is_mounted_any_more(
    release: Release, host_before: Mapping[str, bytes]
) -> None:
    release.install("--set-json=profile.apply.transparent_hugepages=null", within_s=120)
    wait_for("huge pages are as before", lambda: HUGE_PAGES.read_bytes() == host_before[str(HUGE_PAGES)], within_s=30)
    assert int(SWAPPINESS.read_text()) <= 10

    release.install("--set=dryRun=true", within_s=120)
    wait_for("the host is as before", lambda: contents() == host_before, within_s=30)
    assert tuned(release.kubectl) is None

    release.install(within_s=120)
    wait_for("it is tuned again", lambda: "[never]" in HUGE_PAGES.read_text(), within_s=30)


@pytest.fixture
def full_nodes(ground: Cluster, kubectl: Kubectl) -> Iterator[None]:
    """Nodes that are cordoned, and whose CPUs are all requested."""
    for each in NODES:
        pods = ground.kubectl.items("pods", "--all-namespaces", f"--field-selector=spec.nodeName={each.name}")
        requests = [inner["resources"].get("requests", {}) for found in pods for inner in found["spec"]["containers"]]
        allocatable = millicores(node(kubectl, each.name)["status"]["allocatable"]["cpu"])
        rest = allocatable - sum(millicores(amounts.get("cpu", "0")) for amounts in requests)
        filler = pod(f"filler-{each.name}", SANDBOX_IMAGE, resources={"requests": {"cpu": f"{rest}m"}})
        filler["spec"]["nodeName"] = each.name  # no scheduler is asked
        kubectl.apply(filler)
        kubectl.wait_ready(f"filler-{each.name}")
    with cordoned(ground.kubectl, *(each.name for each in NODES)):
        yield


def millicores(text: str) -> int:
    return int(text.removesuffix("m")) if text.endswith("m") else 1000 * int(text)


def test_removal_puts_the_host_back_byte_for_byte_and_leaves_nothing_on_the_node(
    release: Release, host_before: Mapping[str, bytes], full_nodes: None
) -> None:
    release.uninstall()

    assert contents() == host_before
    assert in_node("cat", "/proc/sys/net/ipv4/tcp_fin_timeout") == "60"
    assert tuned(release.kubectl) is None
    assert TAINT not in node(release.kubectl)["metadata"].get("annotations", {})
    assert release.objects() == []
    assert list(Path("/var/lib/market-spread-cluster/host-tuner").iterdir()) == []
