"""A node as EKS makes it: the chart's user data, EKS's own nodeadm, and a real kubelet with what nodeadm wrote.

Karpenter adds a NodeConfig of its own to the user data, with the cluster in it; here it is this cluster.
"""

import json
import os
import shlex
import shutil
import subprocess
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email import message_from_string
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.ec2 import Instance, serving
from tests.cluster.ground import binaries
from tests.cluster.ground.certificates import certificate
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.errors import run
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.ground.kubelet import Kubelet, kubelet_configuration
from tests.cluster.ground.layout import API_SERVER, DNS_ADDRESS, NODE2, SANDBOX_IMAGE, SERVICE_RANGE
from tests.cluster.pods import guaranteed, pod
from tests.cluster.releases import CHARTS

# A machine of this size in place of c4.8xlarge, of a type that the chart knows nothing of; with more cores, since the
# chart leaves one to DaemonSets.
VALUES = {
    "cluster.name": "market-spread",
    "cluster.role": "node",
    "instance.type": "m9x.xlarge",
    "instance.cores": 4,
    "instance.numaNodes": 1,
    "instance.memoryGi": 8,
    "instance.reservedCpus": str(NODE2.reserved_cpu),
    "kubelet.pinnedCpus": 1,
}
# What differs between an instance and a node of this ground: who answers where, and what the machine image sets up.
OF_THE_GROUND = (
    "address", "authentication", "cgroupDriver", "cgroupRoot", "containerRuntimeEndpoint", "failCgroupV1", "failSwapOn",
    "imageGCHighThresholdPercent", "nodeStatusUpdateFrequency", "oomScoreAdj", "volumePluginDir",
)  # fmt: skip
FREED = 'kubeReservedCgroup: ""', 'systemReservedCgroup: ""'


@dataclass(frozen=True)
class Configured:
    """What nodeadm wrote: the kubelet's configuration, the drop-ins over it, its arguments."""

    folder: Path
    arguments: dict[str, str]

    @property
    def merged(self) -> dict[str, Any]:
        """The configuration with the drop-ins laid over it, as far as their keys are concerned."""
        paths = [self.folder / "config.json", *sorted((self.folder / "config.json.d").iterdir())]
        return {key: value for path in paths for key, value in json.loads(path.read_text()).items()}


@pytest.fixture(scope="module")
def user_data() -> str:
    """That of the pool `engine`."""
    binaries.build_missing((binaries.HELM,))
    given = [word for name, value in VALUES.items() for word in ("--set-json", f"{name}={json.dumps(value)}")]
    made = yaml.safe_load_all(
        run([binaries.HELM.path, "template", "pools", CHARTS / "node-pools", "--kube-version", "1.34.4", *given])
    )
    (found,) = [each for each in made if each["kind"] == "EC2NodeClass" and each["metadata"]["name"].endswith("engine")]
    text: str = found["spec"]["userData"]
    return text


@pytest.fixture(scope="module")
def nodeadm(ground: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Configured]]:
    """Runs nodeadm on an instance with this user data, up to where it would start the kubelet."""
    binaries.build_missing((binaries.NODEADM, binaries.KUBELET))
    bus = tmp_path_factory.mktemp("bus") / "socket"
    # It asks systemd for services over this bus; as it starts none here, nobody need answer.
    daemon = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address=unix:path={bus}"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def configure(text: str) -> Configured:
        wait_for("the bus is there", bus.exists, within_s=10)
        folder = tmp_path_factory.mktemp("node")
        with serving(Instance(NODE2.name, NODE2.address, with_cluster(text))) as environment:
            _run_nodeadm(folder, {**environment, "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={bus}"})
        written = (folder / "environment").read_text()
        (line,) = [each for each in written.splitlines() if each.startswith("NODEADM_KUBELET_ARGS=")]
        words = [word.removeprefix("--").partition("=") for word in shlex.split(line.partition("=")[2])]
        return Configured(folder / "kubelet", {name: value for name, _, value in words})

    yield configure
    daemon.terminate()
    daemon.wait(timeout=10)


def with_cluster(text: str) -> str:
    """User data as Karpenter hands it on: with a NodeConfig that says which cluster to join."""
    cluster = {
        "name": "market-spread",
        "apiServerEndpoint": API_SERVER,
        "certificateAuthority": b64encode(certificate("ca").read_bytes()).decode(),
        "cidr": SERVICE_RANGE,
    }
    added = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"cluster": cluster, "kubelet": {"config": {"maxPods": 58, "clusterDNS": [DNS_ADDRESS]}}},
    }
    parts = message_from_string(text).get_payload()
    assert isinstance(parts, list)
    message = MIMEMultipart(boundary="karpenter")
    for each in parts:
        message.attach(each)
    part = MIMEText(yaml.safe_dump(added))
    part.replace_header("Content-Type", "application/node.eks.aws")
    message.attach(part)
    return message.as_string()


def _run_nodeadm(folder: Path, environment: dict[str, str]) -> None:
    """Run it where nobody else sees what it writes to /etc and /var/lib; keep what is for the kubelet."""
    script = f"""
    mount -t tmpfs tmpfs {folder}
    for place in etc var/lib; do
      mkdir -p {folder}/upper/$place {folder}/mount/$place
      mount -t overlay overlay -o lowerdir=/$place,upperdir={folder}/upper/$place,workdir={folder}/mount/$place /$place
    done
    mkdir -p /etc/eks/image-credential-provider # what the image has
    ln -s /bin/true /etc/eks/image-credential-provider/ecr-credential-provider
    {binaries.NODEADM.path} init --skip run --daemon kubelet >&2
    tar -C /etc -c kubernetes/kubelet eks/kubelet/environment
    """
    path = f"{binaries.KUBELET.folder}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-euc", script],
        env={**os.environ, **environment, "PATH": path}, capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr.decode()[-2000:]
    subprocess.run(
        ["tar", "-C", folder, "-x", "--transform=s,^kubernetes/,,;s,^eks/kubelet/,,"], input=ended.stdout, check=True
    )


@pytest.fixture
def start(ground: Cluster, tmp_path: Path) -> Iterator[Callable[[Configured], None]]:
    """Starts the second node's kubelet with what nodeadm wrote; the node has its own again afterwards."""
    kubelet = Kubelet(NODE2, ground.processes, ground.namespaces)

    def replace(configured: Configured) -> None:
        ours = kubelet_configuration(NODE2)
        here = {name: ours[name] for name in ("apiVersion", "kind", *OF_THE_GROUND)}
        # What the image prepares: sysctls, a signer of certificates. And the disk is the machine's, whatever is on it.
        here |= {
            "protectKernelDefaults": False,
            "serverTLSBootstrap": False,
            "providerID": "",
            "shutdownGracePeriod": "0s",
        }
        here |= {"shutdownGracePeriodCriticalPods": "0s"}
        here["evictionHard"] = {"nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%"}
        dropins = configured.folder / "config.json.d"
        (dropins / "90-ground.conf").write_text(json.dumps(here))
        ground.processes.stop(kubelet.kubelet_name)
        kubelet.start_kubelet(
            f"--config={configured.folder / 'config.json'}", f"--config-dir={dropins}", f"--root-dir={tmp_path}/kubelet"
        )

    yield replace
    ground.processes.stop(kubelet.kubelet_name)
    run([*ground.namespaces.inside(NODE2), "sh", "-c", f"umount -R {tmp_path}/kubelet/pods/*/volumes/*/* || true"])
    shutil.rmtree(tmp_path / "kubelet", ignore_errors=True)
    kubelet.start_kubelet(f"--config={NODE2.folder / 'kubelet.json'}")
    wait_for("the node is as it was", ground.is_up, within_s=90)


def heartbeat(kubectl: Kubectl) -> tuple[str, str]:
    """Whether the second node is Ready, and when its kubelet said so."""
    conditions = kubectl.get("node", NODE2.name)["status"]["conditions"]
    return next((each["status"], each["lastHeartbeatTime"]) for each in conditions if each["type"] == "Ready")


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def test_nodeadm_takes_the_settings_of_the_chart(nodeadm: Callable[[str], Configured], user_data: str) -> None:
    made = nodeadm(user_data)

    assert made.arguments["hostname-override"] == NODE2.name
    assert made.merged["cpuManagerPolicy"] == "static"
    assert made.merged["reservedSystemCPUs"] == str(NODE2.reserved_cpu)
    assert made.merged["memoryManagerPolicy"] == "Static"
    assert (made.merged["kubeReservedCgroup"], made.merged["systemReservedCgroup"]) == ("", "")
    # Its own, without which this test would show nothing.
    own = json.loads((made.folder / "config.json").read_text())
    assert own["systemReservedCgroup"]
    assert own["kubeReservedCgroup"]


def test_a_kubelet_with_them_is_ready_and_pins(
    ground: Cluster,
    kubectl: Kubectl,
    nodeadm: Callable[[str], Configured],
    user_data: str,
    start: Callable[[Configured], None],
    tmp_path: Path,
) -> None:
    configured = nodeadm(user_data)
    began = now()
    # Heartbeats are told in whole seconds, and the next comes in minutes: the first must not fall into this second.
    wait_for("the next second", lambda: now() > began, within_s=2)
    start(configured)
    wait_for("the node is Ready", lambda: heartbeat(ground.kubectl) > ("True", began), within_s=60)

    kubectl.apply(pod("pinned", SANDBOX_IMAGE, node=NODE2.name, resources=guaranteed(cpus=1)))
    uid = kubectl.wait_ready("pinned")["metadata"]["uid"]

    state = json.loads((tmp_path / "kubelet" / "cpu_manager_state").read_text())
    assert state["policyName"] == "static"
    assert state["entries"][uid] == {"main": str(1 - NODE2.reserved_cpu)}
    memory = json.loads((tmp_path / "kubelet" / "memory_manager_state").read_text())
    assert memory["policyName"] == "Static"
    assert memory["entries"][uid]["main"]
    assert ground.kubectl.get("node", NODE2.name)["status"]["allocatable"]["cpu"] == "1"


@pytest.mark.parametrize("line", FREED)
def test_a_kubelet_without_one_of_them_does_not_start(
    ground: Cluster,
    nodeadm: Callable[[str], Configured],
    user_data: str,
    start: Callable[[Configured], None],
    line: str,
) -> None:
    assert user_data.count(line) == 1
    start(nodeadm(user_data.replace(line, "")))

    name = f"{NODE2.name}-kubelet"
    wait_for("the kubelet has ended", lambda: ground.processes.pid(name) is None, within_s=30)
    assert "can't use reservedSystemCPUs" in ground.processes.last_words(name)
