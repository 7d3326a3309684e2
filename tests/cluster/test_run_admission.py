"""What the token of a driver is good for: pods that are its executors, and no others, on a real API server.

Its release is that of `test_run.py`, and up for the rest of the session: before tests that need all CPUs of a node, it
would have them fail.
"""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest

from tests.cluster.ground.certificates import certificate
from tests.cluster.ground.kubectl import wait_for
from tests.cluster.ground.layout import API_SERVER
from tests.cluster.releases import Release, unbound_policies

Object = dict[str, Any]
Change = Callable[[Object], Any]

DRIVER = "ci-market-spread-job-0"
OWNED = " has the name of the driver's pod that makes it"
LABELS = " has the labels of the release's executors"
ACCOUNT = " runs as the ServiceAccount ci-market-spread, without its token"
IMAGE = " is one container of the image localhost/market-spread/spark:dev"
HOST = " has its own network, processes and users"
USER = " runs as user and group 10001"
PRIVILEGE = "'s container has no privilege, no capability, no way to more"
VOLUMES = " mounts its checkpoint, its pipeline and empty folders, and no other volume"
ENVIRONMENT = "'s environment has no Secret and no ConfigMap"
RESOURCES = " has at most 1 CPUs and 2048Mi of memory, and no device"
PLACE = "'s node is chosen by the scheduler"
CALLS = " is asked by a command whether it has started"
ANNOTATIONS = " has the annotations of podAnnotations, and no others"

pytestmark = pytest.mark.timeout(300)


def metadata(**changes: Any) -> Change:
    return lambda pod: pod["metadata"].update(changes)


def label(name: str, value: str) -> Change:
    return lambda pod: pod["metadata"]["labels"].update({name: value})


def owner(**changes: str) -> Change:
    return lambda pod: pod["metadata"]["ownerReferences"][0].update(changes)


def spec(**changes: Any) -> Change:
    return lambda pod: pod["spec"].update(changes)


def user(**changes: Any) -> Change:
    return lambda pod: pod["spec"]["securityContext"].update(changes)


def container(**changes: Any) -> Change:
    return lambda pod: pod["spec"]["containers"][0].update(changes)


def security(**changes: Any) -> Change:
    return lambda pod: pod["spec"]["containers"][0]["securityContext"].update(changes)


def volume(**source: Any) -> Change:
    return lambda pod: pod["spec"]["volumes"].append({"name": "more", **source})


def variable(**source: Any) -> Change:
    return lambda pod: pod["spec"]["containers"][0]["env"].append({"name": "MORE", "valueFrom": source})


def resources(name: str, amount: str) -> Change:
    return lambda pod: [
        pod["spec"]["containers"][0]["resources"][kind].update({name: amount}) for kind in ("requests", "limits")
    ]


def another_container(kind: str) -> Change:
    def change(pod: Object) -> None:
        first = pod["spec"]["containers"][0]
        pod["spec"].setdefault(kind, []).append({"name": "more", "image": first["image"]})

    return change


def projected(**token: Any) -> Change:
    return volume(projected={"sources": [{"serviceAccountToken": {"path": "token", **token}}]})


RUN = "ci-market-spread-run"
SECRET, CONFIG_MAP = "ci-market-spread-run-tls", "ci-market-spread-kafka"
A_SECRET = volume(secret={"secretName": SECRET})
FORBIDDEN: list[tuple[str, Change, str]] = [
    ("a name of its own", metadata(name="another"), OWNED),
    ("no owner", metadata(ownerReferences=[]), OWNED),
    ("another owner", owner(uid="00000000-0000-0000-0000-000000000000"), OWNED),
    ("a run's label", label("app.kubernetes.io/component", "run"), LABELS),
    ("another release's label", label("app.kubernetes.io/instance", "other"), LABELS),
    ("a label of its own", label("app", "database"), LABELS),
    ("the number of another job", label("market-spread.io/replica", "1"), LABELS),
    ("another network by an annotation", metadata(annotations={"k8s.v1.cni.cncf.io/networks": "host"}), ANNOTATIONS),
    ("the run's account", spec(serviceAccountName=RUN, serviceAccount=RUN), ACCOUNT),
    ("a token", spec(automountServiceAccountToken=True), ACCOUNT),
    ("another image", container(image="localhost/market-spread/sender:dev"), IMAGE),
    ("a second container", another_container("containers"), IMAGE),
    ("a container before it", another_container("initContainers"), IMAGE),
    ("the host's network", spec(hostNetwork=True), HOST),
    ("the host's processes", spec(hostPID=True), HOST),
    ("the host's IPC", spec(hostIPC=True), HOST),
    ("a port of the host", container(ports=[{"containerPort": 7079, "hostPort": 7079}]), HOST),
    ("root", user(runAsUser=0, runAsNonRoot=False), USER),
    ("no seccomp", user(seccompProfile={"type": "Unconfined"}), USER),
    ("a group more", user(supplementalGroups=[0]), USER),
    ("a sysctl", user(sysctls=[{"name": "kernel.shm_rmid_forced", "value": "1"}]), USER),
    ("another SELinux type", user(seLinuxOptions={"type": "spc_t"}), USER),
    ("no AppArmor", user(appArmorProfile={"type": "Unconfined"}), USER),
    ("privilege", security(privileged=True, allowPrivilegeEscalation=True), PRIVILEGE),
    ("escalation", security(allowPrivilegeEscalation=True), PRIVILEGE),
    ("a capability", security(capabilities={"drop": ["ALL"], "add": ["NET_ADMIN"]}), PRIVILEGE),
    ("capabilities of old", security(capabilities={}), PRIVILEGE),
    ("root in the container", security(runAsUser=0, runAsNonRoot=False), PRIVILEGE),
    ("no seccomp in the container", security(seccompProfile={"type": "Unconfined"}), PRIVILEGE),
    ("a writable root", security(readOnlyRootFilesystem=False), PRIVILEGE),
    ("the host's root", volume(hostPath={"path": "/"}), VOLUMES),
    ("a Secret", A_SECRET, VOLUMES),
    ("another ConfigMap", volume(configMap={"name": CONFIG_MAP}), VOLUMES),
    ("another claim", volume(persistentVolumeClaim={"claimName": "data-ci-market-spread-kafka-0"}), VOLUMES),
    ("a claim of its own", volume(ephemeral={"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}), VOLUMES),
    ("a file server", volume(nfs={"server": "198.18.0.1", "path": "/"}), VOLUMES),
    ("a Secret in a projected volume", volume(projected={"sources": [{"secret": {"name": SECRET}}]}), VOLUMES),
    ("a token in a projected volume", projected(), VOLUMES),
    ("a Secret in the environment", variable(secretKeyRef={"name": SECRET, "key": "tls.key"}), ENVIRONMENT),
    ("a ConfigMap in the environment", variable(configMapKeyRef={"name": CONFIG_MAP, "key": "x"}), ENVIRONMENT),
    ("a whole Secret in the environment", container(envFrom=[{"secretRef": {"name": SECRET}}]), ENVIRONMENT),
    ("two CPUs", resources("cpu", "2"), RESOURCES),
    ("more memory", resources("memory", "2049Mi"), RESOURCES),
    ("a device", resources("example.com/device", "1"), RESOURCES),
    ("no limits", container(resources={}), RESOURCES),
    ("a node by name", spec(nodeName="node2"), PLACE),
    ("the highest priority", spec(priorityClassName="system-node-critical", priority=2000001000), PLACE),
    ("calls from the kubelet", container(livenessProbe={"httpGet": {"host": "198.18.254.2", "port": 10255}}), CALLS),
    ("a call at its end", container(lifecycle={"preStop": {"exec": {"command": ["true"]}}}), CALLS),
]  # fmt: skip


class Driver:
    """The driver, as who took it over has it: its token, and an executor of its own to go by."""

    def __init__(self, release: Release) -> None:
        bound = ("--bound-object-kind=Pod", f"--bound-object-name={DRIVER}")
        self._token = release.kubectl("create", "token", "ci-market-spread-job", *bound).strip()
        self._context = ssl.create_default_context(cafile=str(certificate("ca")))
        self._namespace = release.kubectl.namespace
        found = release.pods("executor")[0]
        kept = {name: found["metadata"][name] for name in ("labels", "ownerReferences", "namespace")}
        self.executor = found["metadata"]["name"]
        self._like_it = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**kept, "name": f"{DRIVER}-exec-9999"},
            "spec": {name: value for name, value in found["spec"].items() if name != "nodeName"},
        }

    def refused_making(self, change: Change = lambda _pod: None) -> str:
        """Why the API server makes no such pod; nothing if it would. It makes none."""
        pod = deepcopy(self._like_it)
        change(pod)
        return self.refused("POST", f"api/v1/namespaces/{self._namespace}/pods", pod)

    def refused_removing(self, pod: str) -> str:
        """Likewise why it does not remove one."""
        return self.refused("DELETE", f"api/v1/namespaces/{self._namespace}/pods/{pod}")

    def refused(self, method: str, path: str, body: Object | None = None) -> str:
        """Why the API server does not do it, by its own words; it would only try."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"{API_SERVER}/{path}?dryRun=All", data, headers, method=method)
        try:
            with urllib.request.urlopen(asked, context=self._context, timeout=20):
                return ""
        except urllib.error.HTTPError as error:
            return str(json.load(error)["message"])


@pytest.fixture(scope="module")
def driver(release: Release) -> Driver:
    return Driver(release)


@pytest.fixture
def unbound(release: Release, driver: Driver) -> Iterator[None]:
    """The policies are bound to nothing meanwhile."""
    with unbound_policies(release.kubectl):
        wait_for("a Secret may be mounted", lambda: not driver.refused_making(A_SECRET), within_s=20)
        yield
    wait_for("no Secret may be mounted", lambda: bool(driver.refused_making(A_SECRET)), within_s=20)


def test_its_executor_is_made_and_no_other_pod(driver: Driver) -> None:
    said = {what: driver.refused_making(change) for what, change, _ in FORBIDDEN}

    assert driver.refused_making() == ""
    assert driver.refused_making(projected(audience="sts.amazonaws.com")) == "", "of a cloud's webhook"
    expected = {what: f"denied request: an executor{message}" for what, _, message in FORBIDDEN}
    unlike = {what: said[what] for what in expected if expected[what] not in said[what]}
    assert unlike == {}


def test_its_executor_is_removed_and_no_other_pod(driver: Driver) -> None:
    assert driver.refused_removing(driver.executor) == ""
    for pod in (DRIVER, "ci-market-spread-kafka-0", "ci-market-spread-sender-0"):
        assert "a driver removes its own executors, and no other pod" in driver.refused_removing(pod), pod


def test_it_has_no_right_to_anything_else(driver: Driver) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}}
    for kind in ("services", "configmaps", "persistentvolumeclaims", "secrets"):
        folder = f"api/v1/namespaces/market-spread/{kind}"
        assert "cannot create resource" in driver.refused("POST", folder, service), kind
        assert "cannot deletecollection resource" in driver.refused("DELETE", folder), kind
        assert "cannot list resource" in driver.refused("GET", folder), kind
    for path in (f"pods/{DRIVER}", f"leases/{DRIVER}"):
        group = "api/v1" if path.startswith("pods") else "apis/coordination.k8s.io/v1"
        said = driver.refused("PATCH", f"{group}/namespaces/market-spread/{path}", {})
        assert "cannot patch resource" in said, path


def test_it_is_the_policies_that_refuse(driver: Driver, unbound: None) -> None:
    refused = {what: said for what, change, _ in FORBIDDEN if (said := driver.refused_making(change))}

    assert refused == {}
    assert driver.refused_removing("ci-market-spread-kafka-0") == ""
