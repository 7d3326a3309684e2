"""One job on both nodes: executors with a shared checkpoint, partitions spread, and a node lost under load."""

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.ground import binaries, images
from tests.cluster.ground.cluster import CHECKPOINT, Cluster
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.ground.layout import NODE1, NODE2
from tests.cluster.releases import Release, is_ready
from tests.cluster.runs import NOTHING_LOST, WORKLOAD, Run, longest_silence_s, lossless

# As of a job on one node: a recovery that waits for a timeout takes 120 s (Spark's) or 300 s (Kubernetes').
BACK_S = 110
BOTH = {NODE1.name: True, NODE2.name: True}
# Two partitions of each topic and of the state are six tasks. One executor can run them all, so that one suffices.
VALUES = (
    "topics.partitions=2,job.shufflePartitions=2",
    "job.executors.count=2,job.executors.slots=6,job.executors.onePerNode=true",
)
TASKS = re.compile(r'^metrics_executor_activeTasks\{.*executor_id="(\d+)".*\} (\S+)$', re.MULTILINE)


@pytest.fixture
def free_nodes(ground: Cluster) -> Iterator[None]:
    """Nodes whose only CPU that can be exclusive is free: the job of the tests' common release is away meanwhile."""
    common = Release("ci", "market-spread", Kubectl(ground.kubectl.kubeconfig, "market-spread"))
    there = bool(common.pods("job"))
    jobs = f"--selector={common.selector},app.kubernetes.io/component=job"
    if there:
        common.kubectl("scale", "statefulset", jobs, "--replicas=0")
        wait_for("its executor has gone", lambda: not common.pods("executor"), within_s=60)
    yield
    if there:
        ground.kubectl("cordon", NODE2.name)
        common.kubectl("scale", "statefulset", jobs, "--replicas=1")
        wait_for("its executor is Ready again", lambda: any(map(is_ready, common.pods("executor"))), within_s=180)


@pytest.fixture
def wide(ground: Cluster, free_nodes: None) -> Iterator[Release]:
    """A release of its own with an executor on each node, and all else on the first."""
    binaries.build_missing((binaries.HELM,))
    product = images.product_images()
    ground.load([*(image for name, image in product.items() if name != "host-tuner"), images.kafka_image()])
    found = Release("wide", "market-spread", Kubectl(ground.kubectl.kubeconfig, "market-spread-wide"))
    found.uninstall()
    # Its Kafka begins empty, and so must its checkpoint.
    shutil.rmtree(CHECKPOINT / found.kubectl.namespace, ignore_errors=True)
    ground.kubectl("cordon", NODE2.name)
    try:
        with ThreadPoolExecutor(1) as others:
            # The driver is Ready with all its executors, of which the second one finds a node when all else has one.
            installing = others.submit(found.install, *(f"--set={values}" for values in VALUES))
            wait_for("an executor is on the first node", lambda: NODE1.name in executors(found), within_s=240)
            ground.kubectl("uncordon", NODE2.name)
            installing.result()
        wait_for("an executor is on each node", lambda: executors(found) == BOTH, within_s=120)
        yield found
    finally:
        ground.namespaces.mend()
        wait_for("both nodes are Ready", ground.is_up, within_s=60)
        ground.kubectl("uncordon", NODE2.name)
        found.uninstall()
        ground.kubectl("delete", "namespace", found.kubectl.namespace, "--wait=false", "--ignore-not-found")


def executors(release: Release) -> dict[str, bool]:
    """Whether the executor of each node is Ready."""
    return {pod["spec"].get("nodeName", ""): is_ready(pod) for pod in release.pods("executor")}


def tasks(release: Release) -> list[int]:
    """How many tasks each executor runs at this moment, as the driver tells Prometheus."""
    page = "http://127.0.0.1:4040/metrics/executors/prometheus"
    script = f"import urllib.request as u; print(u.urlopen('{page}').read().decode())"
    (driver,) = release.pods("job")
    text = release.kubectl.exec(driver["metadata"]["name"], "python3", "-c", script)
    return sorted(int(float(number)) for _, number in TASKS.findall(text))


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_job_on_two_nodes_loses_nothing_when_one_of_them_is_lost(
    wide: Release, ground: Cluster, tmp_path: Path
) -> None:
    workload = tmp_path / "workload.yaml"
    text = WORKLOAD.read_text().replace("partitions: 1", "partitions: 2")
    workload.write_text(text)
    run = Run(wide, tmp_path / "runs", "--duration", "45", workload=workload)
    try:
        run.wait_until_measuring()
        wait_for("the partitions are spread", lambda: tasks(wide) == [3, 3], within_s=30)

        ground.namespaces.cut()

        result = run.result()
    finally:
        run.stop()
    assert lossless(result) == NOTHING_LOST
    assert longest_silence_s(result) <= BACK_S
    assert executors(wide)[NODE1.name]
    assert tasks(wide)[-1] in (0, 6)
    # Spark has asked for another executor, which is there as soon as the node is.
    ground.namespaces.mend()
    wait_for("an executor is on each node again", lambda: executors(wide) == BOTH, within_s=180)
