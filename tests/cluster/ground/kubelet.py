"""What makes a machine a node: a kubelet with the static CPU manager, and a kube-proxy."""

import json
from pathlib import Path

from tests.cluster.ground import binaries, certificates, cgroups
from tests.cluster.ground.certificates import certificate, kubelet_of
from tests.cluster.ground.layout import DNS_ADDRESS, POD_RANGE, Node
from tests.cluster.ground.namespaces import Namespaces
from tests.cluster.ground.processes import Processes

POOL_LABEL = "market-spread.io/pool"


class Kubelet:
    """The kubelet and the kube-proxy of a node."""

    def __init__(self, node: Node, processes: Processes, namespaces: Namespaces) -> None:
        self._node = node
        self._processes = processes
        self._namespaces = namespaces

    def start(self) -> None:
        """Start both. The node's containerd must serve."""
        node = self._node
        cgroups.make(node.cgroup)
        configuration = node.folder / "kubelet.json"
        configuration.write_text(json.dumps(kubelet_configuration(node), indent=1))
        self.start_kubelet(f"--config={configuration}")
        self._start(f"{node.name}-proxy", [
            str(binaries.PROXY.path),
            f"--kubeconfig={certificates.PROXY.kubeconfig}",
            "--proxy-mode=iptables",
            f"--cluster-cidr={POD_RANGE}",
            f"--hostname-override={node.name}",
            "--healthz-bind-address=127.0.0.1:10256",
            "--metrics-bind-address=127.0.0.1:10249",
            "--conntrack-max-per-core=0",
            "--oom-score-adj=0",
        ])  # fmt: skip

    def start_kubelet(self, *arguments: str) -> None:
        """Start the kubelet alone, with these arguments beside those that make it this node's."""
        node = self._node
        self._start(self.kubelet_name, [
            str(binaries.KUBELET.path),
            f"--kubeconfig={kubelet_of(node).kubeconfig}",
            f"--hostname-override={node.name}",
            f"--node-ip={node.address}",
            f"--node-labels={POOL_LABEL}={node.pool}",
            *arguments,
        ])  # fmt: skip

    @property
    def kubelet_name(self) -> str:
        """The kubelet's name among the processes."""
        return f"{self._node.name}-kubelet"

    def _start(self, name: str, command: list[str]) -> None:
        self._processes.start(name, [*self._namespaces.inside(self._node), *command])


def cpu_manager_state(node: Node) -> Path:
    """The file in which the kubelet keeps who has which CPUs exclusively."""
    return node.folder / "kubelet" / "cpu_manager_state"


def kubelet_configuration(node: Node) -> dict[str, object]:
    """The kubelet's configuration."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.address,
        "containerRuntimeEndpoint": f"unix://{node.containerd_socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "failCgroupV1": False,
        "cpuManagerPolicy": "static",
        "cpuManagerReconcilePeriod": "5s",
        "reservedSystemCPUs": str(node.reserved_cpu),
        "topologyManagerPolicy": "best-effort",
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": "cluster.local",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(certificate("ca"))},
        },
        "authorization": {"mode": "Webhook"},
        "nodeStatusUpdateFrequency": "4s",
        "failSwapOn": False,
        "volumePluginDir": str(node.folder / "volume-plugins"),
        # Lowering it is refused on some machines.
        "oomScoreAdj": 0,
        "enforceNodeAllocatable": ["pods"],
        "evictionHard": {"memory.available": "200Mi"},
        # The disk is the machine's: how full it is says nothing about the cluster, and no image may go for it.
        "imageGCHighThresholdPercent": 100,
    }
