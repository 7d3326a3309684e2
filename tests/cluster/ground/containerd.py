"""The container runtime of a node: its own containerd, with its own images, socket and pod network."""

import json
from pathlib import Path

from tests.cluster.ground.errors import GroundError, run
from tests.cluster.ground.layout import SANDBOX_IMAGE, Node
from tests.cluster.ground.namespaces import Namespaces
from tests.cluster.ground.processes import Processes

_START_S = 30
_IMPORT_S = 300

# Lowering the score that decides who is killed for want of memory is refused on some machines, hence `restrict…`.
_CONFIG = """\
version = 2
root = "{folder}/containerd"
state = "{folder}/containerd-state"
[grpc]
  address = "{socket}"
[ttrpc]
  address = "{socket}.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{sandbox_image}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
"""


class Containerd:
    """The containerd of a node."""

    def __init__(self, node: Node, processes: Processes, namespaces: Namespaces) -> None:
        self._node = node
        self._processes = processes
        self._namespaces = namespaces
        self._name = f"{node.name}-containerd"

    def start(self) -> None:
        """Start it; `wait` says when it serves."""
        folder = self._node.folder
        (folder / "cni").mkdir(parents=True, exist_ok=True)
        (folder / "cni" / "10-pods.conflist").write_text(json.dumps(_pod_network(self._node)))
        config = folder / "containerd.toml"
        config.write_text(
            _CONFIG.format(folder=folder, socket=self._node.containerd_socket, sandbox_image=SANDBOX_IMAGE)
        )
        self._processes.start(self._name, [*self._namespaces.inside(self._node), "containerd", "-c", config])

    def wait(self) -> None:
        """Wait until it serves."""
        self._processes.wait_until(self._name, self._answers, within_s=_START_S)

    def load(self, archive: Path, *names: str) -> None:
        """Take the image of an archive in, under further names, too."""
        # Inside of the node, since unpacking mounts.
        imported = run(
            [*self._namespaces.inside(self._node), *self._ctr(), "images", "import", archive], timeout_s=_IMPORT_S
        )
        for name in names:
            run([*self._ctr(), "images", "tag", "--force", imported.split()[1], name])

    def images(self) -> list[str]:
        """The names of its images."""
        return run([*self._ctr(), "images", "list", "--quiet"]).split()

    def _answers(self) -> bool:
        try:
            run([*self._ctr(), "version"], timeout_s=5)
        except GroundError:
            return False
        return True

    def _ctr(self) -> list[str]:
        return ["ctr", "--address", str(self._node.containerd_socket), "--namespace", "k8s.io"]


def _pod_network(node: Node) -> dict[str, object]:
    # Without masquerading: pods of both nodes see each other's own addresses, and none reaches beyond the cluster.
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": node.pod_range}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "pods", "isGateway": True, "hairpinMode": True, "ipam": addresses}
    return {"cniVersion": "1.0.0", "name": f"pods-of-{node.name}", "plugins": [bridge]}
