"""The namespaces that nodes live in: each node has its own network and its own mounts, held by a process.

So nothing of a node is seen outside of it: its bridge, routes, packet filter rules and mounts go when its processes go.
"""

import json
from contextlib import suppress
from pathlib import Path

from tests.cluster.ground.errors import run
from tests.cluster.ground.layout import CLUSTER_RANGE, NODE1, NODE2, STATE, Node
from tests.cluster.ground.processes import Processes

# The ends of the two links, machine to node1 and node1 to node2. Names of devices have at most 15 characters.
MACHINE_END = "ms-node1"
NODE2_LINK = "to-node2"
_UPLINK = "uplink"

# What nodes have at the same place, and each node here for itself: place, and name in the node's folder.
_OWN_FOLDERS = {
    "/var/lib/kubelet": "kubelet",
    "/var/lib/cni": "cni-state",
    "/var/log/containers": "container-logs",
    "/var/log/pods": "pod-logs",
    "/run/containerd": "containerd-run",
    "/run/netns": "netns",
}
_MADE = STATE / "made.json"


class Namespaces:
    """The nodes' namespaces and the links between them."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    def make(self) -> None:
        """Make both nodes' namespaces and connect them: the machine to node1, node1 to node2."""
        _make_mount_points()
        for node in (NODE1, NODE2):
            self._hold(node)
        holder1, holder2 = self._holder(NODE1), self._holder(NODE2)
        run(["ip", "link", "add", MACHINE_END, "type", "veth", "peer", "name", _UPLINK, "netns", str(holder1)])
        run(["ip", "address", "add", f"{NODE1.gateway}/30", "dev", MACHINE_END])
        run(["ip", "link", "set", MACHINE_END, "up"])
        run(["ip", "route", "replace", CLUSTER_RANGE, "via", NODE1.address])
        self._bring_up(NODE1)

        self._ip(NODE1, "link", "add", NODE2_LINK, "type", "veth", "peer", "name", _UPLINK, "netns", str(holder2))
        self._ip(NODE1, "address", "add", f"{NODE2.gateway}/30", "dev", NODE2_LINK)
        self._ip(NODE1, "link", "set", NODE2_LINK, "up")
        self._ip(NODE1, "route", "add", NODE2.pod_range, "via", NODE2.address)
        self._bring_up(NODE2)

    def inside(self, node: Node) -> list[str]:
        """What to put before a command that is to run inside of the node."""
        return ["nsenter", f"--target={self._holder(node)}", "--net", "--mount", "--"]

    def cut(self, node: Node = NODE2) -> None:
        """Cut the link between the nodes: from now on no packet passes. `mend` joins it again."""
        assert node is NODE2
        self._ip(NODE1, "link", "set", NODE2_LINK, "down")

    def mend(self) -> None:
        """Join the nodes again. A route goes with its device, so it is laid again."""
        self._ip(NODE1, "link", "set", NODE2_LINK, "up")
        self._ip(NODE1, "route", "replace", NODE2.pod_range, "via", NODE2.address)

    def remove(self) -> None:
        """End the holders; with them, and the other processes of the nodes, the namespaces go."""
        for node in (NODE2, NODE1):
            self._processes.stop(_name(node))
        _remove_mount_points()

    def _hold(self, node: Node) -> None:
        # Shared inside, so that mounts of pods propagate as on any node; private towards the machine.
        commands = ["mount --make-rshared /"]
        for place, name in _OWN_FOLDERS.items():
            (node.folder / name).mkdir(parents=True, exist_ok=True)
            commands.append(f"mount --bind {node.folder / name} {place}")
        script = " && ".join([*commands, "exec sleep infinity"])
        self._processes.start(
            _name(node), ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-ec", script]
        )
        self._processes.wait_until(_name(node), lambda: self._is_sleeping(node), within_s=5)

    def _is_sleeping(self, node: Node) -> bool:
        return Path(f"/proc/{self._holder(node)}/comm").read_text() == "sleep\n"

    def _bring_up(self, node: Node) -> None:
        self._ip(node, "link", "set", "lo", "up")
        self._ip(node, "address", "add", f"{node.address}/30", "dev", _UPLINK)
        self._ip(node, "link", "set", _UPLINK, "up")
        self._ip(node, "route", "add", "default", "via", node.gateway)
        run([*self.inside(node), "sysctl", "-qw", "net.ipv4.ip_forward=1"])

    def _ip(self, node: Node, *words: str) -> None:
        run([*self.inside(node), "ip", *words])

    def _holder(self, node: Node) -> int:
        pid = self._processes.pid(_name(node))
        return pid if pid is not None else 0


def _name(node: Node) -> str:
    return f"{node.name}-namespaces"


def _make_mount_points() -> None:
    """Have the folders that nodes mount their own over, and note which were not there."""
    missing = [place for place in _OWN_FOLDERS if not Path(place).exists()]
    _MADE.write_text(json.dumps(missing))
    for place in missing:
        Path(place).mkdir(parents=True)


def _remove_mount_points() -> None:
    if _MADE.exists():
        for place in json.loads(_MADE.read_text()):
            with suppress(OSError):  # somebody else uses it by now
                Path(place).rmdir()
