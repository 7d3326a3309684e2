"""The cluster that all tests here run on: the one of KUBECONFIG, else one of this machine, which is up meanwhile."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.cluster.ground import binaries, images
from tests.cluster.ground.cluster import CHECKPOINT, Cluster, why_not
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.ground.layout import KUBECONFIG, NODE2
from tests.cluster.releases import Release, is_ready
from tests.cluster.runs import Run

EXISTING = os.environ.get("KUBECONFIG")
# A developer's cluster is used and left as it is.
WAS_UP = not EXISTING and KUBECONFIG.exists() and Cluster().is_up()


def pytest_sessionstart() -> None:
    """Without a cluster there is nothing to test: that is said in one line, and fails where it must not happen."""
    reason = None if EXISTING else why_not()
    if reason:
        pytest.exit(f"no test of a cluster: {reason}", returncode=1 if os.environ.get("CI") == "true" else 0)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What looks below Kubernetes, at files of nodes and links between them, needs the cluster of this machine."""
    if EXISTING:
        _leave_out("ground", f"they look at the nodes themselves, not at KUBECONFIG={EXISTING}", config, items)
    if EXISTING or WAS_UP:
        _leave_out("fresh_ground", "they bring a cluster down, and this one was up before", config, items)


def _leave_out(fixture: str, reason: str, config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if fixture in getattr(item, "fixturenames", ())]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
        print(f"\n{len(left_out)} tests are left out: {reason}")


@pytest.fixture(scope="session")
def ground() -> Iterator[Cluster]:
    """The cluster of this machine; one that was up before stays up."""
    cluster = Cluster()
    cluster.up()
    yield cluster
    if not WAS_UP:
        cluster.down()


@pytest.fixture
def fresh_ground(ground: Cluster) -> Iterator[Cluster]:
    """The cluster of this machine, for a test that may bring it down; it is up again afterwards."""
    yield ground
    ground.up()


@pytest.fixture(scope="session")
def cluster_kubectl(request: pytest.FixtureRequest) -> Kubectl:
    """kubectl for the cluster, in the namespace default."""
    if EXISTING:
        binaries.build_missing((binaries.KUBECTL,))
        return Kubectl(Path(EXISTING))
    ground: Cluster = request.getfixturevalue("ground")
    return ground.kubectl


@pytest.fixture
def kubectl(cluster_kubectl: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own, which goes with all that is in it."""
    words = request.node.name.split("[")[0].removeprefix("test_").replace("_", "-")[:50].rstrip("-")
    own = Kubectl(cluster_kubectl.kubeconfig, f"{words}-{uuid4().hex[:6]}")
    own("create", "namespace", own.namespace)
    wait_for("the namespace has its account", lambda: bool(own.items("serviceaccounts")), within_s=20)
    yield own
    own("delete", "namespace", own.namespace, "--wait=false")
    if own.items("pods"):
        own.delete("pods", "--all")


@pytest.fixture
def registry() -> Iterator[str]:
    """The address of a registry in memory, on the loopback interface."""
    binaries.build_missing((binaries.REGISTRY,))
    with subprocess.Popen([binaries.REGISTRY.path, "-port=0"], stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        found = re.search(r"serving on port (\d+)", serving.stderr.readline())
        assert found
        yield f"localhost:{found[1]}"
        serving.terminate()


@pytest.fixture(scope="session")
def release(ground: Cluster) -> Iterator[Release]:
    """The chart market-spread as values-ci.yaml has it, with an executor that is Ready, all on the first node."""
    binaries.build_missing((binaries.HELM,))
    product = images.product_images()
    ground.load([*(image for name, image in product.items() if name != "host-tuner"), images.kafka_image()])
    found = Release("ci", "market-spread", Kubectl(ground.kubectl.kubeconfig, "market-spread"))
    found.uninstall()
    # Kafka begins empty, and so must the checkpoint, which knows its offsets.
    for old in CHECKPOINT.iterdir():
        shutil.rmtree(old)
    # The nodes share this machine's cores, and what one has of its own is what all else runs on in the other.
    ground.kubectl("cordon", NODE2.name)
    found.install()
    wait_for("an executor is Ready", lambda: any(map(is_ready, found.pods("executor"))), within_s=120)
    yield found
    found.uninstall()
    ground.kubectl("uncordon", NODE2.name)


@pytest.fixture
def start_run(release: Release, tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Starts runs, which end with the test."""
    started: list[Run] = []

    def start(*words: str) -> Run:
        started.append(Run(release, tmp_path / f"runs-{len(started)}", *words))
        return started[-1]

    yield start
    for run in started:
        run.stop()
