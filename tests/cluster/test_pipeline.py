"""Releases beside the first one, with a pipeline of the user's from a ConfigMap, on the first one's Kafka."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.kubectl import wait_for
from tests.cluster.ground.layout import NODE2
from tests.cluster.releases import Release, is_ready
from tests.support.documented import documented_files

PIPELINE = Path(__file__).parent / "pipelines"
PREFIX = "trial."
BROKER = "ci-market-spread-kafka.market-spread.svc:9092"
MARKET_SPREAD = Path(sys.executable).parent / "market-spread"
WORDS = (
    "--set=job.pipeline.configMap=words,job.pipeline.file=pipeline.py,job.pipeline.function=word_count",
    f"--set=topics.partitions=2,job.executors.slots=3,kafka.prefix=words.,kafka.external.bootstrap={BROKER}",
    "--set=tls.source=helm",
)
# A sender's certificate stops no load, and without one nobody is even listened to.
STOPS = """
import grpc
from market_spread.common.config import from_environment
from market_spread.common.grpc.calls import channel_to
from market_spread.common.grpc.identity import Identity
from market_spread.v1 import control_pb2, control_pb2_grpc
for identity in (from_environment(Identity), Identity()):
    try:
        sender = control_pb2_grpc.SenderStub(channel_to("127.0.0.1:50051", identity))
        sender.Stop(control_pb2.StopSendingRequest(), timeout=9)
    except grpc.RpcError as error:
        print(error.code().name)
"""
# On nodes that share two CPUs neither late messages, nor stalls, nor unsteady latencies matter.
BY_OUTPUTS_ALONE = {
    "limits": {"late_ms": 10_000, "late_share": 1, "rise_share": 1_000_000, "stall_ms": 20_000},
    "void": {"drift_share": 1_000_000, "missing_share": 1, "throttled_share": 1},
    "slo": {"p99_ms": 20_000},
    "job": {"mode": "real-time", "batch_s": 10},  # as in values-ci.yaml
}
COMPONENTS = ("sender", "receiver", "metrics-aggregator", "job", "kafka", "executor")
# Runs in a pod that has our client: what goes in, and what comes out within a minute; and which topics there are.
TRIPS_AND_TOTALS = """
import json, sys, time
from contextlib import closing
from market_spread.common.kafka.client import KafkaBroker

servers, prefix = sys.argv[1:]
broker, found = KafkaBroker(servers), []
broker.write({prefix + "trips": [b"anna 10", b"bert 5", b"anna 2"]}, within_s=20)
with closing(broker.consumer()) as consumer:
    consumer.assign({(prefix + "totals", 0): 0})
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found += [record.value.decode() for of in consumer.poll(0.5).values() for record in of]
        if len(found) >= 3:
            until = min(until, time.monotonic() + 2)  # for what comes twice
partitions = {}
for topic in ("trips", "totals", "invalid"):
    for name in (topic, prefix + topic):
        try:
            partitions |= broker.partition_counts([name])
        except Exception:
            pass
print(json.dumps([found, partitions]))
"""

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def fares(ground: Cluster, release: Release, tmp_path: Path) -> Iterator[Release]:
    """The second release with the values of docs/kubernetes.md; the cluster is as before afterwards."""
    kubectl, values = release.kubectl, tmp_path / "fares.yaml"
    values.write_text(documented_files("docs/kubernetes.md")[values.name])
    kubectl("create", "configmap", "fares", *(f"--from-file={PIPELINE}/{name}" for name in ("fares.py", "tariff.py")))
    # The first one has the only CPU that a pod can have on the first node.
    ground.kubectl("uncordon", NODE2.name)
    found = Release("fares", "market-spread", kubectl)
    try:
        found.install(f"--values={values}", f"--set=kafka.external.bootstrap={BROKER}")
        yield found
    finally:
        found.uninstall()
        ground.kubectl("cordon", NODE2.name)
        kubectl.delete("configmap", "fares")


@pytest.mark.full
def test_a_pipeline_from_a_config_map_runs_beside_another_release_and_on_its_kafka(
    request: pytest.FixtureRequest, release: Release
) -> None:
    before = lives(release)

    fares: Release = request.getfixturevalue("fares")
    (sender,) = fares.pods("sender")
    told = fares.kubectl.exec(sender["metadata"]["name"], "python3", "-c", TRIPS_AND_TOTALS, BROKER, PREFIX)

    totals, partitions = json.loads(told)
    assert sorted(totals) == ["anna has earned 2100", "anna has earned 2760", "bert has earned 1200"]
    assert totals.index("anna has earned 2100") < totals.index("anna has earned 2760")
    # Market Spread's own `invalid` is there; what the pipeline reads and writes begins with the prefix.
    assert partitions == {"trial.trips": 2, "trial.totals": 1, "trial.invalid": 1, "invalid": 1}
    assert fares.pods("kafka") == []
    assert not set(lives(fares)) & set(lives(release))
    assert lives(release) == before
    assert all(is_ready(pod) for component in COMPONENTS for pod in release.pods(component))


@pytest.fixture
def words(ground: Cluster, release: Release, tmp_path: Path) -> Iterator[Release]:
    """A release with the pipeline that `market-spread init` writes; the cluster is as before afterwards."""
    kubectl, folder = release.kubectl, tmp_path / "words"
    subprocess.run([MARKET_SPREAD, "init", folder, "--template", "word_count"], check=True, capture_output=True)
    workload = yaml.safe_load((folder / "workload.yaml").read_text())
    (folder / "workload.yaml").write_text(
        yaml.safe_dump({**workload, **BY_OUTPUTS_ALONE, "kafka": {"prefix": "words."}})
    )
    (folder / "again.yaml").write_bytes((folder / "workload.yaml").read_bytes())
    kubectl("create", "configmap", "words", f"--from-file={folder}")
    ground.kubectl("uncordon", NODE2.name)
    found = Release("words", "market-spread", kubectl)
    try:
        found.install(*WORDS)
        yield found
    finally:
        found.uninstall()
        ground.kubectl("cordon", NODE2.name)
        kubectl.delete("configmap", "words")


def test_a_pipeline_is_put_under_load_in_the_cluster_and_its_outputs_are_checked(words: Release) -> None:
    authority = ("get", "secret", "words-market-spread-ca-tls", "--output=jsonpath={.data}")
    before = words.kubectl(*authority)
    words.install(*WORDS, "--set=run.enabled=true,run.file=workload.yaml")
    passed, said = ended(words)
    assert passed, said
    assert "passed" in said
    # All of it went over gRPC with certificates, which the upgrade made anew.
    assert words.kubectl(*authority) == before
    (sender,) = words.pods("sender")
    answers = words.kubectl.exec(sender["metadata"]["name"], "python3", "-c", STOPS)
    assert answers.split() == ["PERMISSION_DENIED", "UNAVAILABLE"]

    # It goes on counting, where the check begins anew: each of its outputs is wrong.
    words.install(*WORDS, "--set=run.enabled=true,run.file=again.yaml")
    passed, said = ended(words)
    assert not passed
    assert "outputs are wrong" in " ".join(said.split()), said


def ended(release: Release) -> tuple[bool, str]:
    """Whether the release's run passed, and what it said."""
    found: list[dict[str, Any]] = []

    def has_ended() -> bool:
        found[:] = release.kubectl.items("jobs", f"--selector={release.selector},app.kubernetes.io/component=run")
        return len(found) == 1 and bool(found[0]["status"].get("conditions"))

    wait_for("the run has ended", has_ended, within_s=240)
    kinds = {each["type"] for each in found[0]["status"]["conditions"] if each["status"] == "True"}
    return "Complete" in kinds, release.kubectl("logs", f"job/{found[0]['metadata']['name']}")


def lives(release: Release) -> dict[str, int]:
    """The pods of a release by what no two have in common, and how often each was started again."""
    found: list[dict[str, Any]] = [pod for component in COMPONENTS for pod in release.pods(component)]
    return {
        pod["metadata"]["uid"]: sum(each["restartCount"] for each in pod["status"]["containerStatuses"])
        for pod in found
    }
