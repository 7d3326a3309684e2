"""The test cluster as a whole: up, down, and what it takes. A real Kubernetes of two nodes, on one machine."""

import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.cluster.ground import binaries, cgroups, dns, images
from tests.cluster.ground.certificates import make_certificates
from tests.cluster.ground.containerd import Containerd
from tests.cluster.ground.control_plane import ControlPlane, is_ready
from tests.cluster.ground.errors import GroundError, run
from tests.cluster.ground.images import Image
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.ground.kubelet import Kubelet
from tests.cluster.ground.layout import CLUSTER_RANGE, KUBECONFIG, NODES, STATE, Node
from tests.cluster.ground.namespaces import MACHINE_END, Namespaces
from tests.cluster.ground.processes import Processes, end

CHECKPOINT = STATE / "checkpoint"
# Who our images run as.
_USER = 10001
_LOCK = Path("/run/market-spread-cluster.lock")
_READY_S = 90

_PROGRAMS = (
    ("buildah", "buildah"),
    ("conntrack", "conntrack"),
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("dbus-daemon", "dbus-daemon"),
    ("etcd", "etcd-server"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("mmdebstrap", "mmdebstrap"),
    ("nsenter", "util-linux"),
    ("openssl", "openssl"),
    ("runc", "runc"),
    ("socat", "socat"),
    ("/usr/lib/cni/bridge", "containernetworking-plugins"),
)


class Cluster:
    """The cluster on this machine."""

    def __init__(self) -> None:
        self.processes = Processes(STATE / "processes")
        self.namespaces = Namespaces(self.processes)
        self.containerds = {node.name: Containerd(node, self.processes, self.namespaces) for node in NODES}
        self.kubectl = Kubectl(KUBECONFIG)
        self._system = Kubectl(KUBECONFIG, dns.NAMESPACE)

    def up(self) -> None:
        """Bring it up, if it is not. What is left of one that is up in parts only is brought down before."""
        with _alone():
            if self.is_up():
                return
            binaries.build_missing(binaries.CLUSTER)
            archives = [images.ensure(image) for image in images.ground_images()]
            self._down()
            self._up(archives)

    def down(self) -> None:
        """Bring it down; nothing of it stays but the caches. Nothing happens if it is not up."""
        with _alone():
            self._down()

    def is_up(self) -> bool:
        """Whether all of it runs and answers."""
        all_run = set(self.processes.running()) == set(_process_names())
        return all_run and is_ready() and self._nodes_are_ready() and self._names_are_resolved()

    def load(self, wanted: Iterable[Image]) -> None:
        """Have these images on all nodes, as they are now; builds what is not built yet."""
        wanted = list(wanted)
        for image in wanted:
            images.ensure(image)
        with ThreadPoolExecutor(len(NODES)) as threads:
            list(threads.map(lambda node: self._load(node, wanted), NODES))

    def _load(self, node: Node, wanted: Iterable[Image]) -> None:
        for image in wanted:
            if self._loaded(node).get(image.name) != image.key:
                self.containerds[node.name].load(image.archive)
                self._note_loaded(node, image)

    def _up(self, archives: list[Path]) -> None:
        STATE.mkdir(parents=True, exist_ok=True)
        CHECKPOINT.mkdir(exist_ok=True)
        os.chown(CHECKPOINT, _USER, _USER)
        make_certificates()
        self.namespaces.make()
        for containerd in self.containerds.values():
            containerd.start()
        ControlPlane(self.processes, self.namespaces).start()
        for containerd in self.containerds.values():
            containerd.wait()
            for archive in archives:
                containerd.load(archive)
        for node in NODES:
            Kubelet(node, self.processes, self.namespaces).start()
        self._system.apply(*dns.manifests())
        wait_for("the nodes are Ready", self._nodes_are_ready, within_s=_READY_S)
        wait_for("DNS serves", self._names_are_resolved, within_s=_READY_S)

    def _nodes_are_ready(self) -> bool:
        try:
            nodes = self.kubectl.items("nodes")
        except GroundError:
            return False
        ready = {
            node["metadata"]["name"]
            for node in nodes
            for condition in node["status"].get("conditions", ())
            if condition["type"] == "Ready" and condition["status"] == "True"
        }
        return ready >= {node.name for node in NODES}

    def _names_are_resolved(self) -> bool:
        try:
            return bool(self._system.get("deployment", dns.NAME)["status"].get("availableReplicas"))
        except GroundError:
            return False

    def _down(self) -> None:
        """End the processes, those of pods too, by their ids. What they held in their namespaces goes with them."""
        names = [name for name in reversed(_process_names()) if not name.endswith("-namespaces")]
        managers = [name for name in names if not name.endswith("-containerd")]
        end(self._pids(managers), within_s=3)
        for node in NODES:
            cgroups.kill_all(node.cgroup)
        end(self._pids(names), within_s=3)
        end(_shims(), within_s=3)
        self.namespaces.remove()
        with suppress(GroundError):
            run(["ip", "link", "delete", MACHINE_END])
        for node in NODES:
            cgroups.remove(node.cgroup)
        _remove_state()

    def _pids(self, names: Iterable[str]) -> list[int]:
        return [pid for name in names if (pid := self.processes.pid(name)) is not None]

    def _loaded(self, node: Node) -> dict[str, str]:
        try:
            loaded: dict[str, str] = json.loads((node.folder / "loaded.json").read_text())
        except FileNotFoundError:
            return {}
        return loaded

    def _note_loaded(self, node: Node, image: Image) -> None:
        (node.folder / "loaded.json").write_text(json.dumps({**self._loaded(node), image.name: image.key}))


def why_not() -> str | None:
    """Why no cluster can be brought up here, in a sentence; None if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a test cluster needs root on Linux; or name an existing cluster: KUBECONFIG=…"
    missing = sorted({package for program, package in _PROGRAMS if shutil.which(program) is None})
    if missing:
        return f"a test cluster needs programs that are not here; on Debian: apt-get install {' '.join(missing)}"
    return None


def remains() -> list[str]:
    """What is there of a cluster, in words; empty after `down`."""
    found = [str(path) for node in NODES for path in cgroups.left(node.cgroup)]
    if STATE.exists():
        found.append(str(STATE))
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found += [line.split()[4] for line in mounts if line.split()[4].startswith(f"{STATE}/")]
    found += [line for line in run(["ip", "-oneline", "link"]).splitlines() if MACHINE_END in line]
    found += [line for line in run(["ip", "route"]).splitlines() if line.startswith(CLUSTER_RANGE)]
    found += [f"process {pid}: {words}" for pid, words in _command_lines() if str(STATE) in words]
    return found


def _process_names() -> list[str]:
    """All processes, in the order in which they are started."""
    holders = [f"{node.name}-namespaces" for node in NODES]
    containerds = [f"{node.name}-containerd" for node in NODES]
    control_plane = ["etcd", "apiserver", "controllers", "scheduler"]
    kubelets = [f"{node.name}-{part}" for node in NODES for part in ("kubelet", "proxy")]
    return [*holders, *containerds, *control_plane, *kubelets]


def _shims() -> list[int]:
    """What containerd leaves running for each pod, so that it can be restarted itself."""
    sockets = [f"-address {node.containerd_socket}" for node in NODES]
    return [
        pid
        for pid, words in _command_lines()
        if words.startswith("/usr/bin/containerd-shim") and any(socket in words for socket in sockets)
    ]


def _command_lines() -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def _remove_state() -> None:
    """Remove the folder. A namespace takes a moment to go, and its mounts hold their folders until then."""
    deadline = time.monotonic() + 10
    while STATE.exists():
        try:
            shutil.rmtree(STATE)
        except OSError as error:
            if time.monotonic() > deadline:
                raise GroundError(f"{STATE} cannot be removed: {error}") from error
            time.sleep(0.1)


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process brings the cluster up or down."""
    with _LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
