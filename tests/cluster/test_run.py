"""A release at work: its pods, its own tests, a run that the oracle judges, whose CPU is whose, and what kills do."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from market_spread.common.config import inherited_environment
from tests.cluster.ground import binaries, images
from tests.cluster.ground.cluster import CHECKPOINT, Cluster
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.ground.kubelet import cpu_manager_state
from tests.cluster.ground.layout import NODES
from tests.cluster.releases import Release, is_ready

NAMESPACE = "market-spread"
WORKLOAD = Path(__file__).parent / "workloads" / "release.yaml"
EXECUTOR_BACK_S = 20
DRIVER_BACK_S = 60
RUN_S = 240

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def release(ground: Cluster) -> Iterator[Release]:
    """The chart market-spread as values-ci.yaml has it, on both nodes, with an executor that is Ready."""
    binaries.build_missing((binaries.HELM,))
    product = images.product_images()
    ground.load([*(image for name, image in product.items() if name != "host-tuner"), images.kafka_image()])
    # Kafka begins empty, and so must the checkpoint, which knows its offsets.
    for old in CHECKPOINT.iterdir():
        shutil.rmtree(old)
    found = Release("ci", "market-spread", Kubectl(ground.kubectl.kubeconfig, NAMESPACE))
    found.install()
    wait_for("an executor is Ready", lambda: any(map(is_ready, found.pods("executor"))), within_s=120)
    yield found
    found.uninstall()


class Run:
    """`market-spread run --target kubernetes`, as a process beside the test."""

    def __init__(self, release: Release, folder: Path, *words: str) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [Path(sys.executable).parent / "market-spread", "run", WORKLOAD, "--target", "kubernetes", "--release",
             release.name, "--namespace", release.kubectl.namespace, "--runs-folder", folder, "--json", *words],
            env={**inherited_environment(), "KUBECONFIG": str(release.kubectl.kubeconfig)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def require_alive(self) -> None:
        """It must not have ended yet; its own words if it has."""
        assert self._process.poll() is None, self._process.communicate()

    def result(self) -> dict[str, Any]:
        """Its result, once it has ended."""
        output, errors = self._process.communicate(timeout=RUN_S)
        assert output, errors
        found: dict[str, Any] = json.loads(output)
        return found

    def stop(self) -> None:
        """End it, if it has not."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.communicate(timeout=60)


@pytest.fixture
def start_run(release: Release, tmp_path: Path) -> Iterator[Callable[..., Run]]:
    started: list[Run] = []

    def start(*words: str) -> Run:
        started.append(Run(release, tmp_path / f"runs-{len(started)}", *words))
        return started[-1]

    yield start
    for run in started:
        run.stop()


def lossless(result: dict[str, Any]) -> dict[str, Any]:
    """The figures that must all be nought, whatever was killed."""
    return {name: result[name] for name in ("alerts_missing", "alerts_unexpected", "alerts_wrong", "invalid_records")}


NOTHING_LOST = {"alerts_missing": 0, "alerts_unexpected": 0, "alerts_wrong": 0, "invalid_records": 0}


def longest_silence_s(result: dict[str, Any]) -> float:
    """How long output stood still: so long did the unluckiest probe of fifty a second wait."""
    return float(result["latency_ns"]["max"]) / 1e9


def test_all_of_it_is_ready(release: Release) -> None:
    components = ("sender", "receiver", "metrics-aggregator", "job", "kafka", "executor")

    assert {component: [is_ready(pod) for pod in release.pods(component)] for component in components} == {
        component: [True] for component in components
    }


def test_its_own_tests_pass(release: Release) -> None:
    output = release.test()

    assert output.count("Phase:          Succeeded") >= 3


def test_a_run_is_driven_from_outside_and_the_oracle_agrees(start_run: Callable[..., Run]) -> None:
    result = start_run().result()

    assert result["verdict"] == "passed", result["reasons"]
    assert lossless(result) == NOTHING_LOST
    assert result["alerts_received"] == result["alerts_expected"] > 0


def test_the_executors_cpu_is_its_own(release: Release) -> None:
    (executor,) = release.pods("executor")
    name = executor["metadata"]["name"]
    (node,) = [node for node in NODES if node.name == executor["spec"]["nodeName"]]
    state = json.loads(cpu_manager_state(node).read_text())
    ((container, cpus),) = state["entries"][executor["metadata"]["uid"]].items()
    own = affinity(release, name)

    assert executor["status"]["qosClass"] == "Guaranteed"
    assert container == executor["spec"]["containers"][0]["name"]
    assert own == [int(cpus)]
    assert state["defaultCpuSet"] != cpus
    for component in ("sender", "receiver", "metrics-aggregator", "job"):
        for pod in release.pods(component):
            if pod["spec"]["nodeName"] == node.name:
                assert set(affinity(release, pod["metadata"]["name"])).isdisjoint(own), component


def affinity(release: Release, pod: str) -> list[int]:
    cpus: list[int] = json.loads(
        release.kubectl.exec(pod, "python3", "-c", "import os; print(sorted(os.sched_getaffinity(0)))")
    )
    return cpus


def test_a_killed_executor_costs_seconds_and_no_alert(release: Release, start_run: Callable[..., Run]) -> None:
    run = start_run("--duration", "60")
    wait_until_measuring(release, run)

    kill(release, "executor")

    result = run.result()
    assert lossless(result) == NOTHING_LOST
    assert longest_silence_s(result) <= EXECUTOR_BACK_S


def test_a_killed_driver_costs_a_minute_and_no_alert(release: Release, start_run: Callable[..., Run]) -> None:
    run = start_run("--duration", "90")
    wait_until_measuring(release, run)

    kill(release, "job")

    result = run.result()
    assert lossless(result) == NOTHING_LOST
    assert longest_silence_s(result) <= DRIVER_BACK_S


def wait_until_measuring(release: Release, run: Run) -> None:
    """Wait until the measured load flows for ten seconds: then a batch is committed, and another is under way."""
    metric = "market_spread_sender_messages_sent_total"
    before = sent(release, metric)

    def flows() -> bool:
        run.require_alive()
        return sent(release, metric) > before + 10_000

    wait_for("the load flows", flows, within_s=120)


def sent(release: Release, metric: str) -> float:
    """What the senders have sent, as the aggregator tells Prometheus."""
    (aggregator,) = release.pods("metrics-aggregator")
    script = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/metrics').read().decode())"
    text = release.kubectl.exec(aggregator["metadata"]["name"], "python3", "-c", script)
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(metric))


def kill(release: Release, component: str) -> None:
    (pod,) = release.pods(component)
    release.kubectl("delete", "pod", pod["metadata"]["name"], "--force", "--grace-period=0", "--wait=false")
