"""A release as the environment of a run, without a cluster: what is found, what is refused, what counts as lost."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from market_spread.common.errors import RunFailedError, RunVoidError, UsageError
from market_spread.common.grpc.identity import Identity
from market_spread.common.kafka.security import KafkaSecurity
from market_spread.controller.deploy.kubernetes.api import Cluster, Pod
from market_spread.controller.deploy.kubernetes.release import Release, differences, require_released
from market_spread.controller.plan.system import SYSTEM_WORKLOAD, KafkaKeys, SystemKeys
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD, Workload
from tests.support.clock import ManualClock

WORKLOAD = DEFAULT_WORKLOAD.changed(
    market={"partitions": 1},
    job={"mode": "real-time", "batch_s": 10.0, "shuffle_partitions": 1, "memory": "1g", "replicas": 1},
    warm_up={"batches": 0},
)
TOLD = {
    "MODE": "real-time",
    "BATCH_S": "10",
    "SHUFFLE_PARTITIONS": "1",
    "EXECUTORS": "1",
    "EXECUTOR_SLOTS": "3",
    "BOOTSTRAP_SERVERS": "kafka:9092",
}


def pod(component: str, index: int = 0, **changes: Any) -> Pod:
    """A pod that is well."""
    given = Pod(
        name=f"ms-{component}-{index}",
        uid=f"{component}-{index}-a",
        component=component,
        index=index,
        node="node1",
        ready=True,
        problem="",
        restarts=0,
        qos="BestEffort",
        image=f"localhost/market-spread/{component}@sha256:0",
        cpu_request="",
        environment=TOLD if component == "job" else {},
    )
    return replace(given, **changes)


class FakeCluster:
    """Pods by their components; nothing can be dialled."""

    namespace = "spread"

    def __init__(self) -> None:
        components = ("sender", "receiver", "job", "metrics-aggregator", "kafka", "executor")
        self.by_component = {component: [pod(component)] for component in components}
        self.used_us: int | None = 5_000
        self.fails: RunVoidError | None = None

    def pods(self, release: str, component: str) -> list[Pod]:
        if self.fails is not None:
            raise self.fails
        return self.by_component[component] if release == "ms" else []

    def change(self, component: str, **changes: Any) -> None:
        self.by_component[component] = [replace(self.by_component[component][0], **changes)]

    def log(self, of: Pod) -> str:
        return f"log of {of.name}\n"

    def cpu_us(self, pods: list[Pod]) -> int | None:
        return self.used_us

    def dial(self, name: str, port: int) -> Any:
        raise RunVoidError("not here")


class Rig:
    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.clock = ManualClock()
        self.release = self.of("ms")

    def of(self, name: str, workload: Workload = WORKLOAD) -> Release:
        return Release(cast(Cluster, self.cluster), release=name, workload=workload, clock=self.clock, in_cluster=True)

    def look(self) -> None:
        self.clock.advance_ns(3_000_000_000)
        self.release.check_alive()


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_pods_are_reached_by_the_names_of_their_headless_services(rig: Rig) -> None:
    rig.cluster.by_component["sender"] = [pod("sender", 0), pod("sender", 1)]

    addresses = rig.release.start()

    assert addresses.sender == "ms-sender-0.ms-sender.spread.svc:50051"
    assert addresses.more_senders == ("ms-sender-1.ms-sender.spread.svc:50051",)
    assert addresses.job == "ms-job-0.ms-job.spread.svc:50051"
    assert addresses.aggregator_http == "http://ms-metrics-aggregator-0.ms-metrics-aggregator.spread.svc:8080"
    assert addresses.bootstrap_servers == "kafka:9092"


def test_topics_have_the_prefix_of_the_release(rig: Rig) -> None:
    without = rig.release.start().topics
    rig.cluster.change("job", environment={**TOLD, "TOPIC_PREFIX": "trial."})

    found = rig.release.start().topics

    assert (without.nbbo, without.alerts) == ("nbbo", "alerts")
    assert (found.nbbo, found.orders, found.alerts, found.decisions, found.invalid) == (
        "trial.nbbo", "trial.orders", "trial.alerts", "trial.decisions", "trial.invalid",
    )  # fmt: skip


def test_release_with_a_pipeline_of_the_users_is_not_judged_as_ours(rig: Rig) -> None:
    application = "/etc/market-spread/pipeline/fares.py:fares"
    rig.cluster.change("job", environment={**TOLD, "MODE": "micro-batch", "APPLICATION": application})

    with pytest.raises(UsageError) as raised:
        rig.release.start()

    assert str(raised.value) == (
        f"the release's job runs {application}, and the workload is of Market Spread; name another --release"
    )


WORDS = SYSTEM_WORKLOAD.read({
    "name": "words", "seed": 1, "load": {"profile": "constant", "messages_per_s": 10, "duration_s": 10},
    "warm_up": {"duration_s": 4, "settle_s": 2},
    "system": {"pipeline": "/etc/market-spread/pipeline/words.py:word_count"}, "kafka": {"prefix": "trial."},
    "job": {"mode": "real-time", "batch_s": 10},
    "input": [{"topic": "trial.words", "from": {"generator": "load.py:words"}}], "output": [{"topic": "trial.counts"}],
})  # fmt: skip


def test_workload_of_a_pipeline_is_held_to_what_the_release_runs() -> None:
    told = {**TOLD, "TOPIC_PREFIX": "trial.", "APPLICATION": "/etc/market-spread/pipeline/words.py:word_count"}
    application = "the release's job has system.pipeline={}"

    assert differences(WORDS, {**told, "SHUFFLE_PARTITIONS": "4"}, drivers=1) == []
    assert [sentence.split(" and ")[0] for sentence in differences(WORDS, TOLD, drivers=1)] == [
        application.format("market_spread"),
        "the release's job has kafka.prefix=",
    ]
    (sentence,) = differences(WORDS, {**told, "MODE": "micro-batch"}, drivers=1)
    assert "mode=micro-batch and the workload asks for real-time" in sentence


@pytest.mark.parametrize(
    ("system", "kafka", "in_cluster", "sentence"),
    [
        (WORDS.system, KafkaKeys(), False, "a pod of the release runs a pipeline's workload; set run.enabled"),
        (WORDS.system, KafkaKeys(bootstrap="b:9092"), True, "kafka.bootstrap; the run takes the Kafka of the release"),
        (SystemKeys(command=("sleep", "1")), KafkaKeys(), True, "system.command runs on this machine; a release runs"),
    ],
)
def test_a_system_that_no_release_runs_is_refused_in_a_sentence(
    system: SystemKeys, kafka: KafkaKeys, in_cluster: bool, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        require_released(replace(WORDS, system=system, kafka=kafka), in_cluster=in_cluster)


def test_the_broker_is_spoken_to_as_the_pod_of_the_run_is_told(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARKET_SPREAD_KAFKA_SECURITY_PROTOCOL", "SSL")

    assert rig.release.start().security == KafkaSecurity(kafka_security_protocol="SSL")


def test_a_release_that_asks_for_certificates_is_shown_ones(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.cluster.change("job", environment={**TOLD, "TLS_FOLDER": "/etc/market-spread/tls"})

    with pytest.raises(UsageError, match="gRPC asks for certificates; set MARKET_SPREAD_TLS_FOLDER"):
        rig.release.start()
    monkeypatch.setenv("MARKET_SPREAD_TLS_FOLDER", str(tmp_path))
    monkeypatch.setenv("MARKET_SPREAD_TLS_DOMAIN", "spread")
    addresses = rig.release.start()

    assert addresses.identity == Identity(tmp_path, "spread")


def test_outside_the_cluster_pods_are_reached_on_loopback(rig: Rig) -> None:
    release = Release(cast(Cluster, rig.cluster), release="ms", workload=WORKLOAD, clock=rig.clock)

    addresses = release.start()
    release.stop()

    assert addresses.receiver.startswith("127.0.0.1:")
    assert addresses.aggregator_http.startswith("http://127.0.0.1:")


def test_release_that_is_not_there_is_named(rig: Rig) -> None:
    with pytest.raises(UsageError, match="there is no release 'other' in namespace spread; helm list shows"):
        rig.of("other").start()


def test_pod_that_does_not_become_ready_is_told_with_its_reason(rig: Rig) -> None:
    rig.cluster.change("sender", ready=False, problem="its readiness probe does not succeed")
    rig.cluster.by_component["receiver"] = []

    with pytest.raises(UsageError) as raised:
        rig.release.start()

    assert str(raised.value) == (
        "not ready after 300 s: the receiver has no pod; "
        "the sender (pod ms-sender-0): its readiness probe does not succeed"
    )


@pytest.mark.parametrize(
    ("workload", "sentence"),
    [
        (
            WORKLOAD.changed(job={"mode": "micro-batch"}),
            "the release's job has mode=real-time and the workload asks for micro-batch",
        ),
        (
            WORKLOAD.changed(job={"batch_s": 30}),
            "batch_s=10 and the workload asks for 30; change job.batch_s of the workload, or helm",
        ),
        (WORKLOAD.changed(job={"shuffle_partitions": 2}), "shuffle_partitions=1 and the workload asks for 2"),
        (
            WORKLOAD.changed(decisions="all"),
            "decisions=rejected and the workload asks for all; change decisions of the workload, "
            "or helm upgrade with --set job.decisions=all",
        ),
        (WORKLOAD.changed(job={"jit": "peak"}), "job.jit=peak; the JVMs of a release have the options that it gives"),
        (
            WORKLOAD.changed(job={"standby": 1}),
            "job.standby=1; a release has no standby: leave it out of the workload, or use job.replicas",
        ),
        (WORKLOAD.changed(job={"replicas": 2}), "replicas=1 and the workload asks for 2"),
        (
            WORKLOAD.changed(market={"partitions": 2}),
            "executors have 3 slots together and the workload's partitions need 5; helm upgrade",
        ),
    ],
)
def test_job_that_is_not_what_the_workload_asks_for_is_refused(rig: Rig, workload: Workload, sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        rig.of("ms", workload).start()

    assert sentence in str(raised.value)


@pytest.mark.parametrize("component", ["sender", "receiver", "metrics-aggregator", "kafka"])
def test_restart_of_what_the_run_stands_on_makes_it_void(rig: Rig, component: str) -> None:
    rig.release.start()
    rig.cluster.change(component, restarts=1)

    with pytest.raises(
        RunVoidError, match=rf"^the {component} \(pod ms-{component}-0\) was started again during the run"
    ):
        rig.look()


@pytest.mark.parametrize(
    ("change", "restarts"),
    [
        (lambda rig: rig.cluster.change("job", restarts=2), 2),
        (lambda rig: rig.cluster.change("job", uid="job-0-b"), 1),
        (lambda rig: rig.cluster.change("executor", uid="executor-0-b"), 0),
    ],
)
def test_restarts_of_drivers_are_counted(rig: Rig, change: Callable[[Rig], None], restarts: int) -> None:
    rig.release.start()
    rig.look()
    change(rig)

    rig.look()
    rig.look()

    assert rig.release.job_restarts == restarts


def test_driver_that_comes_back_all_the_time_ends_the_run(rig: Rig) -> None:
    rig.release.start()
    rig.cluster.change("job", restarts=6)

    with pytest.raises(RunFailedError, match="the job was started again 6 times"):
        rig.look()


def test_api_server_that_is_away_ends_nothing(rig: Rig) -> None:
    rig.release.start()
    rig.cluster.fails = RunVoidError("the API server does not answer")

    rig.look()

    assert rig.release.job_restarts == 0


def test_cpu_that_cannot_be_told_is_none(rig: Rig) -> None:
    told = (rig.release.broker_cpu_us(), rig.release.executors_cpu_us())
    rig.cluster.used_us = None
    refused = rig.release.broker_cpu_us()
    rig.cluster.by_component["kafka"] = []

    assert told == (5_000, 5_000)
    assert refused is None
    assert rig.release.broker_cpu_us() is None
    assert rig.release.stolen_cpu_s() is None


def test_the_manifest_says_which_pods_had_cpus_of_their_own(rig: Rig) -> None:
    rig.cluster.change("executor", qos="Guaranteed", cpu_request="1", environment={"EXCLUSIVE_CPUS": "1"})

    sections = rig.release.sections(rig.release.start())

    assert sections["images"]["executor"] == "localhost/market-spread/executor@sha256:0"
    assert sections["nodes"]["ms-executor-0"] == "node1"
    assert sections["limits"]["ms-executor-0"] == "Guaranteed, cpu 1"
    assert (sections["exclusive_cpus"]["ms-executor-0"], sections["exclusive_cpus"]["ms-job-0"]) == ("1", None)
    assert sections["release"] == {"name": "ms", "namespace": "spread"}


def test_logs_of_all_pods_are_written(rig: Rig, tmp_path: Path) -> None:
    rig.cluster.by_component["executor"].append(pod("executor", 1))
    rig.release.start()

    rig.release.capture(tmp_path / "logs")

    assert (tmp_path / "logs" / "job.log").read_text() == "log of ms-job-0\n"
    assert (tmp_path / "logs" / "executor_1.log").read_text() == "log of ms-executor-1\n"
    assert len(list((tmp_path / "logs").iterdir())) == 7


def test_manifest_is_told_images_nodes_and_what_pods_ask_for(rig: Rig) -> None:
    rig.cluster.change("job", qos="Guaranteed", cpu_request="2")
    addresses = rig.release.start()

    sections = rig.release.sections(addresses)

    assert sections["images"]["job"] == "localhost/market-spread/job@sha256:0"
    assert sections["nodes"]["ms-job-0"] == "node1"
    assert sections["limits"]["ms-job-0"] == "Guaranteed, cpu 2"
    assert sections["limits"]["ms-sender-0"] == "BestEffort, cpu not asked for"
