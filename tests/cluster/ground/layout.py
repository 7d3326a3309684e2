"""The cluster as data: its nodes, their addresses, and where everything of it lies."""

from dataclasses import dataclass
from pathlib import Path

STATE = Path("/var/lib/market-spread-cluster")
KUBECONFIG = STATE / "kubeconfig"

# All of it inside 198.18.0.0/15, which is reserved for tests of networks.
CLUSTER_RANGE = "198.18.0.0/15"
POD_RANGE = "198.18.0.0/23"
SERVICE_RANGE = "198.19.0.0/24"
API_SERVICE_ADDRESS = "198.19.0.1"
DNS_ADDRESS = "198.19.0.10"

SANDBOX_IMAGE = "localhost/market-spread/pause:dev"
DNS_IMAGE = "localhost/market-spread/coredns:dev"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the cluster: a network and mount namespace with a containerd, a kubelet and a kube-proxy in it.

    gateway: the other end of its link; pod_range: the addresses of its pods; reserved_cpu: the CPU that it never gives
    exclusively. They differ, since the nodes do not know of each other.
    """

    name: str
    address: str
    gateway: str
    pod_range: str
    reserved_cpu: int
    pool: str

    @property
    def folder(self) -> Path:
        """Everything of the node."""
        return STATE / self.name

    @property
    def containerd_socket(self) -> Path:
        """Where its containerd listens."""
        return self.folder / "containerd.sock"

    @property
    def cgroup(self) -> str:
        """The cgroup of all its pods, below the root of every hierarchy."""
        return f"market-spread-{self.name}"


NODE1 = Node("node1", "198.18.254.2", "198.18.254.1", "198.18.0.0/24", reserved_cpu=0, pool="engine")
NODE2 = Node("node2", "198.18.254.6", "198.18.254.5", "198.18.1.0/24", reserved_cpu=1, pool="engine")
NODES = (NODE1, NODE2)

API_SERVER = f"https://{NODE1.address}:6443"
ETCD = f"http://{NODE1.address}:2379"
