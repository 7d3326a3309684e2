"""The cluster comes up quickly, also from what a crash left of it, and nothing stays of it when it goes."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.cluster.ground import binaries, images
from tests.cluster.ground.cluster import Cluster, remains
from tests.cluster.pods import guaranteed, pod

UP_S_MAX = 90


def mounts() -> list[str]:
    return [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def test_nothing_is_left_behind_not_even_of_pods_that_run(fresh_ground: Cluster) -> None:
    image = images.base_image()
    fresh_ground.load([image])
    for node in ("node1", "node2"):
        fresh_ground.kubectl.apply(
            pod(node, image.reference, node=node, command=["sleep", "600"], resources=guaranteed(cpus=1))
        )
        fresh_ground.kubectl.wait_ready(node)
    assert remains()

    fresh_ground.down()

    assert remains() == []
    assert [path for path in mounts() if "market-spread" in path or "/cni-" in path] == []


@pytest.mark.full
def test_it_comes_up_from_what_a_crash_left_of_it(fresh_ground: Cluster) -> None:
    for name in ("apiserver", "node1-containerd", "node2-namespaces"):
        pid = fresh_ground.processes.pid(name)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    assert not fresh_ground.is_up()
    binaries.build_missing(binaries.CLUSTER)
    started = time.monotonic()
    fresh_ground.up()

    assert fresh_ground.is_up()
    assert time.monotonic() - started < UP_S_MAX
