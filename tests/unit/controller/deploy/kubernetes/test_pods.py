"""Pods as the API server tells of them."""

from datetime import UTC, datetime
from typing import Any

from kubernetes import client

from market_spread.controller.deploy.kubernetes.api import _cpu_seconds, pod_of, selector


def answer(**status: Any) -> Any:
    labels = {"app.kubernetes.io/component": "sender", "apps.kubernetes.io/pod-index": "1"}
    environment = [
        client.V1EnvVar(name="MARKET_SPREAD_MODE", value="real-time"),
        client.V1EnvVar(name="HOME", value="/tmp"),
    ]
    resources = client.V1ResourceRequirements(requests={"cpu": "2", "memory": "1Gi"})
    container = client.V1Container(name="sender", image="sender:dev", env=environment, resources=resources)
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name="ms-sender-1", uid="u-1", labels=labels),
        spec=client.V1PodSpec(containers=[container], node_name="node2"),
        status=client.V1PodStatus(**{"phase": "Running", "qos_class": "Guaranteed", **status}),
    )


def condition(kind: str, status: str, message: str | None = None) -> Any:
    return client.V1PodCondition(type=kind, status=status, message=message)


def container(*, restarts: int = 0, waiting: str | None = None) -> Any:
    state = client.V1ContainerState(
        waiting=client.V1ContainerStateWaiting(reason=waiting, message="back-off 10s") if waiting else None
    )
    return client.V1ContainerStatus(
        name="sender",
        ready=not waiting,
        restart_count=restarts,
        image="sender:dev",
        image_id="localhost/sender@sha256:12",
        state=state,
    )


def test_pod_that_is_ready() -> None:
    pod = pod_of(answer(conditions=[condition("Ready", "True")], container_statuses=[container(restarts=2)]))

    assert (pod.ready, pod.problem, pod.restarts) == (True, "", 2)
    assert (pod.component, pod.index, pod.node, pod.qos, pod.cpu_request) == ("sender", 1, "node2", "Guaranteed", "2")
    assert pod.image == "localhost/sender@sha256:12"
    assert pod.environment == {"MODE": "real-time"}


def test_container_that_crashes_is_why_a_pod_is_not_ready() -> None:
    pod = pod_of(
        answer(conditions=[condition("Ready", "False")], container_statuses=[container(waiting="CrashLoopBackOff")])
    )

    assert (pod.ready, pod.problem) == (False, "CrashLoopBackOff: back-off 10s")


def test_image_without_a_registry_is_its_name_and_id() -> None:
    loaded = container()
    loaded.image_id = "sha256:34"

    assert pod_of(answer(container_statuses=[loaded])).image == "sender:dev@sha256:34"


def test_pod_that_no_node_takes_says_why() -> None:
    unscheduled = condition("PodScheduled", "False", "0/2 nodes are available: 2 Insufficient cpu.")

    pod = pod_of(answer(phase="Pending", conditions=[unscheduled]))

    assert pod.problem == "it is not scheduled: 0/2 nodes are available: 2 Insufficient cpu."


def test_probe_that_fails_is_why_a_running_pod_is_not_ready() -> None:
    pod = pod_of(answer(conditions=[condition("Ready", "False")], container_statuses=[container()]))

    assert pod.problem == "its readiness probe does not succeed"


def test_pod_on_its_way_out_is_not_ready() -> None:
    leaving = answer(conditions=[condition("Ready", "True")])
    leaving.metadata.deletion_timestamp = datetime(2026, 11, 22, tzinfo=UTC)

    assert pod_of(leaving).problem == "it is being deleted"


def test_components_are_selected_by_release() -> None:
    assert selector("spread", "job") == (
        "app.kubernetes.io/name=market-spread,app.kubernetes.io/instance=spread,app.kubernetes.io/component=job"
    )


def test_cpu_time_is_that_of_the_pods_containers() -> None:
    exposition = (
        "# TYPE container_cpu_usage_seconds_total counter\n"
        'container_cpu_usage_seconds_total{container="kafka",namespace="spread",pod="ms-kafka-0"} 12.5 1700000000000\n'
        'container_cpu_usage_seconds_total{container="other",namespace="spread",pod="ms-kafka-0"} 0.5 1700000000000\n'
        'container_cpu_usage_seconds_total{container="kafka",namespace="else",pod="ms-kafka-0"} 7 1700000000000\n'
        'pod_cpu_usage_seconds_total{namespace="spread",pod="ms-kafka-0"} 99 1700000000000\n'
    )

    assert _cpu_seconds(exposition, "ms-kafka-0", "spread") == 13.0
