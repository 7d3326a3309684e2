"""The chart market-spread: what its objects are called, find and tell their processes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from market_spread.common.job_contract import APPLICATIONS
from market_spread.controller.deploy.base import slots_of
from market_spread.controller.deploy.local.broker import MESSAGE_BYTES_MAX
from market_spread.controller.plan.reading import read_workload
from market_spread.loadgen.market.parameters import REJECTED_SHARE
from tests.charts.catalog import C4, CI, DEFAULT, MARKET_SPREAD, NAMESPACE, ROOT, Profile, Rendered, rendered
from tests.charts.pods import executor_manifests, pod, pods, selects

SERVICES = ("sender", "receiver", "metrics-aggregator", "job")


def environment(made: Rendered, component: str) -> Mapping[str, Any]:
    """What the last container of a component is told, without our prefix; values by reference as the field's path."""
    return {
        entry["name"].removeprefix("MARKET_SPREAD_"): entry.get("value") or entry["valueFrom"]["fieldRef"]["fieldPath"]
        for entry in pod(made, component).spec["containers"][0]["env"]
    }


@pytest.mark.parametrize("release", ["market-spread", "market-spread-2", "trial"])
def test_names_begin_with_the_full_name(release: str) -> None:
    full = release if "market-spread" in release else f"{release}-market-spread"

    made = rendered(DEFAULT, release)

    assert {found["metadata"]["name"] for found in made.of("StatefulSet")} == {
        f"{full}-{component}" for component in (*SERVICES, "kafka")
    }
    # What is of the whole cluster has the namespace in its name.
    prefixes = {True: full, False: f"{NAMESPACE}.{full}-"}
    assert all(it["metadata"]["name"].startswith(prefixes["namespace" in it["metadata"]]) for it in made.objects)


@pytest.mark.parametrize("profile", MARKET_SPREAD, ids=str)
def test_selectors_take_the_pods_of_their_component_alone(profile: Profile) -> None:
    made = rendered(profile)

    for found in [*made.of("StatefulSet"), *made.of("PodDisruptionBudget"), *made.of("Service")]:
        selector = found["spec"]["selector"]
        labels = selector.get("matchLabels", selector)
        assert "helm.sh/chart" not in labels, "it cannot be changed later"
        component = found["metadata"]["labels"]["app.kubernetes.io/component"]
        taken = {made_pod.component for made_pod in pods(made) if selects({"matchLabels": labels}, made_pod.labels)}
        assert taken == {component}, found["metadata"]["name"]


def test_services_have_the_ports_of_their_pods_by_name() -> None:
    made = rendered(CI)

    ports = {
        service["metadata"]["labels"]["app.kubernetes.io/component"]: {
            port["name"]: port["port"] for port in service["spec"]["ports"]
        }
        for service in made.of("Service")
    }
    assert ports == {
        "sender": {"grpc": 50051},
        "receiver": {"grpc": 50051},
        "metrics-aggregator": {"grpc": 50051, "http": 8080},
        "job": {"grpc": 50051, "driver": 7078, "blocks": 7079, "ui": 4040},
        "kafka": {"kafka": 9092},
    }
    for service in made.of("Service"):
        component = service["metadata"]["labels"]["app.kubernetes.io/component"]
        (container,) = pod(made, component).spec["containers"]
        opened = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert all(opened[port["targetPort"]] == port["port"] for port in service["spec"]["ports"])
    for component in SERVICES:
        assert made.one("Service", component)["spec"]["clusterIP"] == "None"
        assert made.one("StatefulSet", component)["spec"]["serviceName"] == f"market-spread-{component}"


@pytest.mark.parametrize("component", SERVICES)
def test_services_are_ready_by_their_health(component: str) -> None:
    (container,) = pod(rendered(DEFAULT), component).spec["containers"]

    assert container["readinessProbe"]["grpc"]["port"] == 50051
    assert container["livenessProbe"]["tcpSocket"]["port"] == "grpc"


def test_the_driver_is_told_everything() -> None:
    told = environment(rendered(CI), "job")

    assert told == {
        "POD_NAME": "metadata.name",
        "POD_IP": "status.podIP",
        "NODE_NAME": "spec.nodeName",
        "NAMESPACE": "metadata.namespace",
        "REPLICA": "metadata.labels['apps.kubernetes.io/pod-index']",
        "REPLICAS": "1",
        "HOST": "0.0.0.0",
        "GRPC_PORT": "50051",
        "SOURCE": "job-$(MARKET_SPREAD_REPLICA)",
        "AGGREGATOR_ADDRESS": "market-spread-metrics-aggregator:50051",
        "BOOTSTRAP_SERVERS": "market-spread-kafka.spread.svc:9092",
        "MASTER": "k8s://https://kubernetes.default.svc:443",
        "MODE": "real-time",
        "BATCH_S": "10",
        "SHUFFLE_PARTITIONS": "1",
        "WARM_UP_BATCHES": "12",
        "CHECKPOINT": "/var/lib/market-spread/checkpoint/spread/market-spread-job-$(MARKET_SPREAD_REPLICA)",
        "LEASE": "$(MARKET_SPREAD_POD_NAME)",
        "DRIVER_MEMORY": "1g",
        "JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "DRIVER_HOST": "$(MARKET_SPREAD_POD_NAME).market-spread-job.spread.svc",
        "DRIVER_PORT": "7078",
        "BLOCK_MANAGER_PORT": "7079",
        "UI_PORT": "4040",
        "EXECUTOR_IMAGE": "localhost/market-spread/spark:dev",
        "EXECUTOR_IMAGE_PULL_POLICY": "Never",
        "EXECUTOR_SERVICE_ACCOUNT": "market-spread",
        "EXECUTOR_TEMPLATE": "/etc/market-spread/executor/pod.yaml",
        "EXECUTORS": "1",
        "EXECUTOR_SLOTS": "3",
        "EXECUTOR_CPUS": "1",
        "EXECUTOR_MEMORY": "1g",
        "EXECUTOR_MEMORY_OVERHEAD": "1g",
    }


def test_variables_come_before_those_that_use_them() -> None:
    for profile in (DEFAULT, CI, C4):
        for made in pods(rendered(profile)):
            for container in made.containers:
                seen: set[str] = set()
                for entry in container.get("env", []):
                    used = {part.partition(")")[0] for part in str(entry.get("value", "")).split("$(")[1:]}
                    assert used <= seen, (made.maker, entry["name"])
                    seen.add(entry["name"])


def test_senders_have_a_name_each() -> None:
    told = environment(rendered(DEFAULT, sender__replicas=3), "sender")

    assert told["INDEX"] == "metadata.labels['apps.kubernetes.io/pod-index']"
    assert told["SOURCE"] == "sender-$(MARKET_SPREAD_INDEX)"


def test_prometheus_may_ask_the_aggregator_by_address_and_a_run_by_name() -> None:
    told = environment(rendered(DEFAULT, metricsAggregator__allowedHosts=["metrics.example.com"]), "metrics-aggregator")

    assert told["ALLOWED_HOSTS"].split(",") == [
        "market-spread-metrics-aggregator",
        "market-spread-metrics-aggregator.spread",
        "market-spread-metrics-aggregator.spread.svc",
        "$(MARKET_SPREAD_POD_IP)",
        "$(MARKET_SPREAD_POD_NAME).market-spread-metrics-aggregator.spread.svc",
        "metrics.example.com",
    ]
    assert told["RUNS_FOLDER"] == "/var/lib/market-spread/runs"


@pytest.mark.parametrize(("memory", "mebibytes"), [("512Mi", 512), ("2Gi", 2048), ("130Mi", 130)])
def test_aggregator_keeps_histories_within_a_part_of_its_memory(memory: str, mebibytes: int) -> None:
    """With those of three finished runs, a quarter of it each: the process and a merge need room, too."""
    told = environment(rendered(DEFAULT, metricsAggregator__memory=memory), "metrics-aggregator")

    kept = int(told["HISTORY_BYTES_MAX"])
    assert kept == mebibytes * 2**20 // 4
    assert kept + 3 * kept // 4 < mebibytes * 2**20 / 2


@pytest.mark.parametrize("profile", MARKET_SPREAD, ids=str)
def test_every_mount_has_its_volume_and_the_other_way_round(profile: Profile) -> None:
    for made in pods(rendered(profile)):
        volumes = {volume["name"] for volume in made.spec["volumes"]}
        mounted = {mount["name"] for container in made.containers for mount in container["volumeMounts"]}
        assert volumes == mounted, made.maker


@pytest.mark.parametrize("profile", MARKET_SPREAD, ids=str)
def test_claims_and_configurations_that_pods_use_are_made(profile: Profile) -> None:
    made = rendered(profile)

    names = {
        kind: {found["metadata"]["name"] for found in made.of(kind)} for kind in ("ConfigMap", "PersistentVolumeClaim")
    }
    used: dict[str, set[str]] = {"ConfigMap": set(), "PersistentVolumeClaim": set()}
    for made_pod in pods(made):
        for volume in made_pod.spec["volumes"]:
            if "configMap" in volume:
                used["ConfigMap"].add(volume["configMap"]["name"])
            if "persistentVolumeClaim" in volume:
                used["PersistentVolumeClaim"].add(volume["persistentVolumeClaim"]["claimName"])
    assert used == names


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("claim", {}, {"persistentVolumeClaim": {"claimName": "market-spread-checkpoint"}}),
        ("existingClaim", {"existingClaim": "mine"}, {"persistentVolumeClaim": {"claimName": "mine"}}),
        ("hostPath", {"hostPath": "/mnt/c"}, {"hostPath": {"path": "/mnt/c", "type": "Directory"}}),
    ],
)
def test_the_checkpoint_is_the_same_for_driver_and_executors(
    kind: str, values: dict[str, str], expected: dict[str, Any]
) -> None:
    changed = {f"job__checkpoint__{name}": value for name, value in values.items()}
    made = rendered(DEFAULT, job__checkpoint__kind=kind, **changed)

    for component in ("job", "executor"):
        (volume,) = [volume for volume in pod(made, component).spec["volumes"] if volume["name"] == "checkpoint"]
        assert volume == {"name": "checkpoint", **expected}
        (mount,) = [
            mount
            for mount in pod(made, component).spec["containers"][0]["volumeMounts"]
            if mount["name"] == "checkpoint"
        ]
        assert mount["mountPath"] == "/var/lib/market-spread/checkpoint"
    assert len(made.of("PersistentVolumeClaim", "job")) == (1 if kind == "claim" else 0)


def test_a_driver_takes_a_lease_that_is_there() -> None:
    made = rendered(DEFAULT, job__replicas=2, job__batchS=20)

    assert [lease["metadata"]["name"] for lease in made.of("Lease")] == ["market-spread-job-0", "market-spread-job-1"]
    assert made.one("StatefulSet", "job")["spec"]["replicas"] == 2
    assert environment(made, "job")["REPLICAS"] == "2"


def test_a_new_template_of_executors_restarts_the_driver() -> None:
    before = pod(rendered(DEFAULT), "job")
    after = rendered(DEFAULT, priorityClassName="high").one("StatefulSet", "job")

    annotations = rendered(DEFAULT).one("StatefulSet", "job")["spec"]["template"]["metadata"]["annotations"]
    assert before.spec["containers"][0]["volumeMounts"]
    assert after["spec"]["template"]["metadata"]["annotations"] != annotations


def properties(made: Rendered) -> dict[str, str]:
    text = made.one("ConfigMap", "kafka")["data"]["server.properties"]
    return dict(line.split("=", 1) for line in text.splitlines() if line)


def test_the_trial_broker_is_set_up_as_the_one_of_a_laptop() -> None:
    settings = properties(rendered(DEFAULT, kafka__properties={"num.io.threads": 2}))

    assert settings["process.roles"] == "broker,controller"
    assert settings["advertised.listeners"] == "PLAINTEXT://market-spread-kafka.spread.svc:9092"
    assert settings["listeners"] == "PLAINTEXT://0.0.0.0:9092,CONTROLLER://127.0.0.1:9093"
    assert settings["auto.create.topics.enable"] == "false"
    assert settings["message.max.bytes"] == str(MESSAGE_BYTES_MAX)
    assert settings["num.io.threads"] == "2"
    assert settings["log.retention.hours"] == "24"


def test_the_trial_broker_formats_its_folder_once() -> None:
    spec = pod(rendered(DEFAULT), "kafka").spec

    (initial,) = spec["initContainers"]
    assert initial["command"][:2] == ["/opt/kafka/bin/kafka-storage.sh", "format"]
    assert "--ignore-formatted" in initial["command"]
    assert initial["volumeMounts"] == spec["containers"][0]["volumeMounts"]


def test_the_brokers_metrics_are_those_of_a_laptop() -> None:
    ours = ROOT / "loadgen/controller/src/market_spread/controller/deploy/local/broker_metrics.yaml"

    data = rendered(CI).one("ConfigMap", "kafka")["data"]

    assert yaml.safe_load(data["metrics.yaml"]) == yaml.safe_load(ours.read_text())
    assert (ROOT / "charts" / "market-spread" / "files" / "kafka_metrics.yaml").read_text() == ours.read_text()
    told = {entry["name"]: entry["value"] for entry in pod(rendered(CI), "kafka").spec["containers"][0]["env"]}
    agent = "/opt/kafka/agents/jmx_prometheus_javaagent.jar"
    assert told["KAFKA_OPTS"] == f"-javaagent:{agent}=9404:/etc/kafka/metrics.yaml"


def test_brokers_elsewhere_leave_no_broker_here() -> None:
    made = rendered(DEFAULT, kafka__external__bootstrap="b1:9092,b2:9092")

    assert not [
        found for found in made.objects if found["metadata"]["labels"].get("app.kubernetes.io/component") == "kafka"
    ]
    assert environment(made, "sender")["BOOTSTRAP_SERVERS"] == "b1:9092,b2:9092"


def test_all_decisions_are_an_application_and_a_topic() -> None:
    without, made = rendered(CI), rendered(CI, job__decisions="all")

    assert "APPLICATION" not in environment(without, "job")
    assert environment(made, "job")["APPLICATION"] == APPLICATIONS["all"]
    assert pod(made, "topics").spec["containers"][0]["args"][-2:] == ["--decisions", "all"]
    assert "--decisions" not in pod(without, "topics").spec["containers"][0]["args"]


def test_a_prefix_goes_to_all_who_name_topics() -> None:
    made = rendered(DEFAULT, kafka__prefix="trial.")

    assert environment(made, "job")["TOPIC_PREFIX"] == "trial."
    assert pod(made, "topics").spec["containers"][0]["args"][-2:] == ["--prefix", "trial."]
    (probe,) = [found for found in made.of("Pod") if found["metadata"]["name"].endswith("-test-kafka")]
    assert probe["spec"]["containers"][0]["args"][-2:] == ["--prefix", "trial."]


def test_topics_are_made_by_a_job_that_is_new_when_it_differs() -> None:
    one = rendered(DEFAULT).one("Job", "topics")
    other = rendered(DEFAULT, topics__partitions=2, job__executors__slots=5).one("Job", "topics")

    assert one["metadata"]["name"] != other["metadata"]["name"]
    assert "annotations" not in one["metadata"], "a hook would wait for a driver that waits for the topics"
    (container,) = other["spec"]["template"]["spec"]["containers"]
    servers = "market-spread-kafka.spread.svc:9092"
    assert container["args"] == ["topics", "--bootstrap-servers", servers, "--partitions", "2"]


RUN = [
    "run", "/etc/market-spread/workload/workload.yaml", "--target", "kubernetes", "--in-cluster",
    "--release", "market-spread", "--namespace", "spread", "--runs-folder", "/tmp/runs",
]  # fmt: skip


def test_a_run_comes_with_the_release_if_asked_for() -> None:
    workload = (ROOT / "loadgen" / "workloads" / "quick.yaml").read_text()
    made = rendered(DEFAULT, run__enabled=True, run__workload=workload)

    job = made.one("Job", "run")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert job["spec"]["backoffLimit"] == 0
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    assert container["args"] == RUN
    (configuration,) = [
        found for found in made.of("ConfigMap", "run") if found["metadata"]["name"] == "market-spread-run"
    ]
    assert configuration["data"]["workload.yaml"].strip() == workload.strip()
    other = rendered(DEFAULT, run__enabled=True, run__workload=workload + "# another\n").one("Job", "run")
    assert other["metadata"]["name"] != job["metadata"]["name"]
    assert not rendered(DEFAULT).of("Job", "run")


@pytest.mark.parametrize("profile", MARKET_SPREAD, ids=str)
def test_three_tests_come_with_the_release(profile: Profile) -> None:
    made = rendered(profile)

    tests = {found["metadata"]["name"]: found for found in made.of("Pod")}
    assert set(tests) == {f"market-spread-test-{name}" for name in ("services", "kafka", "run")}
    for found in tests.values():
        annotations = {name.removeprefix("helm.sh/"): text for name, text in found["metadata"]["annotations"].items()}
        assert annotations["hook"] == "test"
        assert annotations["hook-delete-policy"] == "before-hook-creation,hook-succeeded"
        assert annotations["hook-output-log-policy"] == "hook-succeeded,hook-failed"
        assert found["spec"]["restartPolicy"] == "Never"
    (probe,) = tests["market-spread-test-services"]["spec"]["containers"]
    assert probe["args"] == [
        "probe",
        "services",
        "sender-0=market-spread-sender-0.market-spread-sender.spread.svc:50051",
        "receiver=market-spread-receiver:50051",
        "job-0=market-spread-job-0.market-spread-job.spread.svc:50051",
        "metrics-aggregator=market-spread-metrics-aggregator:50051",
    ]
    (kafka,) = tests["market-spread-test-kafka"]["spec"]["containers"]
    assert kafka["args"] == ["probe", "kafka", "--bootstrap-servers", "market-spread-kafka.spread.svc:9092"]
    (run,) = tests["market-spread-test-run"]["spec"]["containers"]
    assert run["args"] == RUN


@pytest.mark.parametrize("profile", MARKET_SPREAD, ids=str)
def test_the_tests_workload_is_one_for_this_job(profile: Profile, tmp_path: Path) -> None:
    made = rendered(profile)
    (configuration,) = [found for found in made.of("ConfigMap") if found["metadata"]["name"].endswith("-test-run")]
    (tmp_path / "workload.yaml").write_text(configuration["data"]["workload.yaml"])

    workload = read_workload(tmp_path / "workload.yaml")

    told = environment(made, "job")
    assert workload.load.duration_ns == 20 * 10**9
    assert workload.market.rejected_orders > REJECTED_SHARE
    assert workload.job.mode == told["MODE"]
    assert workload.job.batch_s == float(told["BATCH_S"])
    assert workload.state_partitions == int(told["SHUFFLE_PARTITIONS"])
    assert slots_of(workload) <= int(told["EXECUTORS"]) * int(told["EXECUTOR_SLOTS"])


@pytest.mark.parametrize("profile", MARKET_SPREAD, ids=str)
def test_drains_take_one_pod_of_a_component_at_a_time(profile: Profile) -> None:
    made = rendered(profile)

    budgets = {
        found["metadata"]["labels"]["app.kubernetes.io/component"]: found["spec"]
        for found in made.of("PodDisruptionBudget")
    }
    assert set(budgets) == {*SERVICES, "kafka", "executor"}
    executors = int(environment(made, "job")["EXECUTORS"])
    assert budgets["executor"]["minAvailable"] == executors - 1
    assert all(budget.get("maxUnavailable") == 1 for name, budget in budgets.items() if name != "executor")
    assert all(budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow" for budget in budgets.values())


def test_images_are_named_by_registry_and_tag_or_wholly() -> None:
    digest = "registry.example.com/x/sender@sha256:" + "0" * 64
    made = rendered(
        DEFAULT, images__registry="registry.example.com/team", images__tag="1.2.3", images__sender=digest,
        images__pullSecrets=["pull"],
    )  # fmt: skip

    assert pod(made, "sender").spec["containers"][0]["image"] == digest
    assert (
        pod(made, "receiver").spec["containers"][0]["image"] == "registry.example.com/team/market-spread/receiver:1.2.3"
    )
    assert pod(made, "kafka").spec["containers"][0]["image"] == "apache/kafka:4.1.2"
    assert environment(made, "job")["EXECUTOR_IMAGE"] == "registry.example.com/team/market-spread/spark:1.2.3"
    for made_pod in pods(made):
        assert made_pod.spec["imagePullSecrets"] == [{"name": "pull"}], made_pod.maker


EXTENSIONS: dict[str, Any] = {
    "podLabels": {"sidecar.istio.io/inject": "false"},
    "podAnnotations": {"example.com/owner": "a team"},
    "serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"},
    "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    "run__enabled": True,
    "run__workload": "name: x",
}


def test_a_platform_adds_labels_annotations_and_environment_to_all_pods() -> None:
    made = rendered(DEFAULT, **EXTENSIONS)

    templates = [
        found["spec"].get("template", found) if found["kind"] != "Pod" else found
        for found in made.objects
        if found["kind"] in ("StatefulSet", "Job", "Pod")
    ]
    executor, *_ = executor_manifests(made)
    assert len(templates) == 5 + 2 + 3
    for template in [*templates, executor]:
        assert template["metadata"]["labels"]["sidecar.istio.io/inject"] == "false"
        assert template["metadata"]["annotations"]["example.com/owner"] == "a team"
    for found in pods(made):
        for container in found.spec["containers"] if found.component != "kafka" else []:
            assert {"name": "HTTPS_PROXY", "value": "http://proxy:3128"} in container["env"], found.maker
    assert len(made.of("ServiceAccount")) == 3
    for account in made.of("ServiceAccount"):
        assert account["metadata"]["annotations"] == EXTENSIONS["serviceAccountAnnotations"]
    other = rendered(DEFAULT, **{**EXTENSIONS, "podLabels": {}})
    for component in ("run", "topics"):  # a Job cannot be changed
        assert other.one("Job", component)["metadata"]["name"] != made.one("Job", component)["metadata"]["name"]


def test_executors_are_spread_if_asked_for() -> None:
    shared = {"job__checkpoint__accessMode": "ReadWriteMany", "job__checkpoint__storageClass": "efs"}
    (constraint,) = pod(rendered(DEFAULT, job__executors__spread="zone", **shared), "executor").spec[
        "topologySpreadConstraints"
    ]

    assert (constraint["topologyKey"], constraint["maxSkew"]) == ("topology.kubernetes.io/zone", 1)
    assert constraint["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "executor"
    assert "topologySpreadConstraints" not in pod(rendered(DEFAULT, **shared), "executor").spec


def test_in_ci_no_image_is_pulled() -> None:
    for made in pods(rendered(CI)):
        for container in made.containers:
            assert container["imagePullPolicy"] == "Never"
            assert container["image"].startswith("localhost/market-spread/")
            assert container["image"].endswith(":dev")


def test_code_runs_from_a_volume_for_skaffold() -> None:
    made = rendered(DEFAULT, development__sync=True)

    for component in SERVICES:
        spec = pod(made, component).spec
        assert [container["name"] for container in spec["initContainers"]] == ["copy"]
        (container,) = spec["containers"]
        told = {entry["name"]: entry.get("value") for entry in container["env"]}
        assert told["PYTHONPATH"] == "/opt/market-spread/sync:/opt/market-spread/packages"
        for each in pod(made, component).containers:
            assert {"name": "sync", "mountPath": "/opt/market-spread/sync"} in each["volumeMounts"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert "initContainers" not in pod(rendered(DEFAULT), "sender").spec
