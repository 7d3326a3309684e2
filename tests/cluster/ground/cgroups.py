"""The cgroups of the nodes' pods: made before a kubelet starts, emptied and removed after it has gone."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.cluster.ground.errors import GroundError

ROOT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("cpu", "cpuset", "memory", "pids")


def make(name: str, root: Path = ROOT) -> None:
    """Make the cgroup in every hierarchy, with all CPUs and memory nodes that the machine has."""
    if (root / "cgroup.controllers").exists():
        (root / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in _CONTROLLERS))
    for hierarchy in hierarchies(root):
        folder = hierarchy / name
        folder.mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):
            if hierarchy != root and (hierarchy / file).exists():
                (folder / file).write_text((hierarchy / file).read_text())


def kill_all(name: str, root: Path = ROOT, *, within_s: float = 10) -> None:
    """End every process in the cgroup and below, by force. GroundError if one cannot be ended."""
    deadline = time.monotonic() + within_s
    while pids := set(_pids(name, root)):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise GroundError(f"processes of {name} do not end: {sorted(pids)}")
        time.sleep(0.05)


def pids_of_pod(name: str, uid: str, root: Path = ROOT) -> set[int]:
    """The processes of a pod on the node whose cgroup it is."""
    return set(_pids(name, root, below=f"pod{uid}"))


def remove(name: str, root: Path = ROOT) -> None:
    """Remove the cgroup and what is below it, in every hierarchy."""
    for hierarchy in hierarchies(root):
        for folder, _, _ in os.walk(hierarchy / name, topdown=False):
            with suppress(FileNotFoundError):
                Path(folder).rmdir()


def left(name: str, root: Path = ROOT) -> list[Path]:
    """Where the cgroup still is."""
    return [hierarchy / name for hierarchy in hierarchies(root) if (hierarchy / name).exists()]


def hierarchies(root: Path = ROOT) -> list[Path]:
    """The root of each cgroup hierarchy: one with version 2, one for each controller with version 1."""
    if (root / "cgroup.controllers").exists():
        return [root]
    return sorted(folder for folder in root.iterdir() if folder.is_dir() and not folder.is_symlink())


def _pids(name: str, root: Path, *, below: str | None = None) -> Iterator[int]:
    for hierarchy in hierarchies(root):
        # os.walk, not rglob: a container's cgroup may go away while it is walked, and os.walk does not mind.
        for folder, _, files in os.walk(hierarchy / name):
            if "cgroup.procs" in files and (below is None or below in Path(folder).parts):
                with suppress(OSError):
                    yield from (int(line) for line in (Path(folder) / "cgroup.procs").read_text().split())
