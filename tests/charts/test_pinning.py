"""Pinned pods get exclusive CPUs, on nodes that give them, and are not ready before."""

from typing import Any

import pytest

from tests.charts.catalog import C4, CI, DEFAULT, Profile, rendered
from tests.charts.pods import MadePod, pod, pods

PINNED = [
    (C4, "sender", "4", "load"),
    (C4, "receiver", "2", "load"),
    (C4, "kafka", "7", "broker"),
    (C4, "executor", "7", "engine"),
    (CI, "executor", "1", "engine"),
]


def pools_of(made: MadePod) -> list[str]:
    """Pools that its node affinity allows."""
    terms = made.spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return [value for term in terms for rule in term["matchExpressions"] for value in rule["values"]]


def exclusive_cpus(made: MadePod) -> str | None:
    for container in made.spec["containers"]:
        for entry in container.get("env", []):
            if entry["name"] == "MARKET_SPREAD_EXCLUSIVE_CPUS":
                return str(entry["value"])
    return None


@pytest.mark.parametrize(("profile", "component", "cpus", "pool"), PINNED, ids=str)
def test_a_pinned_pod_is_guaranteed_with_whole_cpus(profile: Profile, component: str, cpus: str, pool: str) -> None:
    made = pod(rendered(profile), component)

    for container in made.containers:
        assert container["resources"]["requests"] == container["resources"]["limits"]
        assert container["resources"]["limits"]["cpu"] == cpus
        assert container["resources"]["limits"]["memory"]
    assert not [container for container in made.spec.get("initContainers", []) if container.get("restartPolicy")]


@pytest.mark.parametrize(("profile", "component", "cpus", "pool"), PINNED, ids=str)
def test_a_pinned_pod_runs_on_its_pool_alone(profile: Profile, component: str, cpus: str, pool: str) -> None:
    made = pod(rendered(profile), component)

    taint = {"key": "market-spread.io/pool", "operator": "Equal", "value": pool, "effect": "NoSchedule"}
    assert pools_of(made) == [pool]
    assert taint in made.spec["tolerations"]


@pytest.mark.parametrize(("profile", "component", "cpus", "pool"), PINNED, ids=str)
def test_a_pinned_pod_is_not_ready_without_its_cpus(profile: Profile, component: str, cpus: str, pool: str) -> None:
    made = pod(rendered(profile), component)

    (container,) = made.spec["containers"]
    if component in ("sender", "receiver"):
        assert exclusive_cpus(made) == cpus
        assert container["readinessProbe"]["grpc"] == {"port": 50051}
        assert "grpc" not in container["livenessProbe"]
        assert "grpc" not in container["startupProbe"]
    elif component == "executor":
        assert exclusive_cpus(made) == cpus
        assert container["startupProbe"]["exec"]["command"] == ["python", "-m", "market_spread.common.process.pinning"]
        assert "readinessProbe" not in container
        assert "livenessProbe" not in container
    else:
        assert f'[ "$(nproc)" -eq {cpus} ]' in container["startupProbe"]["exec"]["command"][2]


@pytest.mark.parametrize("profile", [DEFAULT, CI, C4], ids=str)
def test_what_is_not_pinned_is_not_guaranteed(profile: Profile) -> None:
    pinned = {component for other, component, *_ in PINNED if other == profile}

    for made in pods(rendered(profile)):
        if made.component in pinned or (made.component == "executor" and profile == DEFAULT):
            continue
        assert all("cpu" not in container["resources"]["limits"] for container in made.containers), made.maker
        assert exclusive_cpus(made) is None


def test_the_reference_has_14_pinned_cpus_on_the_engine() -> None:
    template = pod(rendered(C4), "executor").spec["containers"][0]["resources"]["limits"]
    told = rendered(C4).one("StatefulSet", "job")["spec"]["template"]["spec"]["containers"][0]["env"]

    (executors,) = [entry["value"] for entry in told if entry["name"] == "MARKET_SPREAD_EXECUTORS"]
    assert int(executors) * int(template["cpu"]) == 14


def test_in_ci_only_the_executor_asks_for_cpus() -> None:
    asking = {
        made.component
        for made in pods(rendered(CI))
        for container in made.containers
        if "cpu" in container["resources"]["requests"]
    }

    assert asking == {"executor"}


@pytest.mark.parametrize("profile", [DEFAULT, CI, C4], ids=str)
def test_sender_and_receiver_share_a_node(profile: Profile) -> None:
    for component in ("sender", "receiver"):
        (term,) = pod(rendered(profile), component).spec["affinity"]["podAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        assert term["topologyKey"] == "kubernetes.io/hostname"
        assert term["labelSelector"]["matchLabels"] == {
            "app.kubernetes.io/name": "market-spread",
            "app.kubernetes.io/instance": "market-spread",
        }
        assert term["labelSelector"]["matchExpressions"] == [
            {"key": "app.kubernetes.io/component", "operator": "In", "values": ["sender", "receiver"]}
        ]


def test_no_pod_tolerates_the_taint_of_a_node_that_is_not_tuned_yet() -> None:
    for profile in (DEFAULT, CI, C4):
        for made in pods(rendered(profile)):
            keys = {toleration.get("key") for toleration in made.spec.get("tolerations", [])}
            assert keys <= {"market-spread.io/pool"}, made.maker


def test_driver_and_executors_are_where_a_checkpoint_of_one_node_is() -> None:
    for component in ("job", "executor"):
        (term,) = pod(rendered(DEFAULT), component).spec["affinity"]["podAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        assert term["labelSelector"]["matchExpressions"][0]["values"] == ["job", "executor"]


def test_a_shared_checkpoint_lets_executors_spread() -> None:
    spread = rendered(
        C4,
        job__checkpoint__accessMode="ReadWriteMany",
        job__checkpoint__storageClass="efs",
        job__executors__onePerNode=True,
        job__executors__count=4,
    )

    affinity = pod(spread, "executor").spec["affinity"]
    assert "podAffinity" not in affinity
    (term,) = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "executor"


PAIR: dict[str, Any] = {"job__replicas": 2}


def apart_from(term: dict[str, Any]) -> tuple[str, str, str | None]:
    """Where a term of an anti-affinity forbids to be: by which key, beside which component, of which job."""
    labels = term["labelSelector"]["matchLabels"]
    number = labels.get("apps.kubernetes.io/pod-index", labels.get("market-spread.io/replica"))
    return term["topologyKey"].rpartition("/")[2], labels["app.kubernetes.io/component"], number


@pytest.mark.parametrize(("spread", "key"), [("node", "hostname"), ("zone", "zone")])
def test_the_jobs_of_a_pair_are_apart_with_their_executors(spread: str, key: str) -> None:
    made = rendered(C4, job__spread=spread, **PAIR)

    rule = "requiredDuringSchedulingIgnoredDuringExecution"
    driver = pod(made, "job").spec["affinity"]
    assert "podAffinity" not in driver
    assert [apart_from(term) for term in driver["podAntiAffinity"][rule]] == [(key, "job", None)]
    executors = [found for found in pods(made) if found.component == "executor"]
    assert [found.labels["market-spread.io/replica"] for found in executors] == ["0", "1"]
    for number, found in enumerate(executors):
        other = str(1 - number)
        forbidden = [apart_from(term) for term in found.spec["affinity"]["podAntiAffinity"][rule]]
        assert forbidden == [(key, "job", other), (key, "executor", other)]
        (beside,) = found.spec["affinity"]["podAffinity"][rule]
        assert beside["topologyKey"] == "kubernetes.io/hostname"
        assert beside["labelSelector"]["matchLabels"]["apps.kubernetes.io/pod-index"] == str(number)


def test_each_job_of_a_pair_has_a_claim_that_its_executors_share() -> None:
    made = rendered(DEFAULT, job__checkpoint__keep=True, **PAIR)
    drivers = made.one("StatefulSet", "job")

    (claim,) = drivers["spec"]["volumeClaimTemplates"]
    assert drivers["spec"]["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    name = f"{claim['metadata']['name']}-{drivers['metadata']['name']}"
    mounted = [
        volume["persistentVolumeClaim"]["claimName"]
        for found in pods(made)
        if found.component == "executor"
        for volume in found.spec["volumes"]
        if volume["name"] == "checkpoint"
    ]
    assert mounted == [f"{name}-0", f"{name}-1"]
    assert "market-spread-checkpoint" not in {found["metadata"]["name"] for found in made.objects}
    assert "checkpoint" not in {volume["name"] for volume in drivers["spec"]["template"]["spec"]["volumes"]}
    templates = {entry["name"]: entry.get("value") for entry in pod(made, "job").spec["containers"][0]["env"]}
    assert (
        templates["MARKET_SPREAD_EXECUTOR_TEMPLATE"] == "/etc/market-spread/executor/pod-$(MARKET_SPREAD_REPLICA).yaml"
    )
    (configuration,) = [found for found in made.of("ConfigMap", "job") if "pod-0.yaml" in found["data"]]
    assert set(configuration["data"]) == {"pod-0.yaml", "pod-1.yaml"}


def test_a_pair_on_one_machine_and_a_lone_job_are_not_kept_apart() -> None:
    for made in (rendered(DEFAULT, job__spread="none", **PAIR), rendered(DEFAULT)):
        for found in pods(made):
            assert "podAntiAffinity" not in found.spec.get("affinity", {}), found.maker


def test_a_folder_of_a_node_holds_driver_and_executors_there_unless_it_is_shared() -> None:
    folder: dict[str, Any] = {"job__checkpoint__kind": "hostPath", "job__checkpoint__hostPath": "/data/x"}

    for component in ("job", "executor"):
        assert "podAffinity" in pod(rendered(DEFAULT, **folder), component).spec["affinity"]
        assert "affinity" not in pod(rendered(DEFAULT, job__checkpoint__shared=True, **folder), component).spec


def test_claims_stay_if_asked_for() -> None:
    kept: dict[str, Any] = {
        "receiver__ledgers__kind": "claim",
        "receiver__ledgers__keep": True,
        "job__checkpoint__keep": True,
    }

    claims = {
        found["metadata"]["name"]: found["metadata"] for found in rendered(DEFAULT, **kept).of("PersistentVolumeClaim")
    }
    policies = {
        name.removeprefix("market-spread-"): found.get("annotations", {}).get("helm.sh/resource-policy")
        for name, found in claims.items()
    }
    assert policies == {"ledgers": "keep", "checkpoint": "keep", "kafka": None, "runs": None}


def test_real_time_priority_is_off_unless_asked_for() -> None:
    for profile in (DEFAULT, CI, C4):
        for component in ("sender", "receiver"):
            assert "command" not in pod(rendered(profile), component).spec["containers"][0]


def test_real_time_priority_by_a_limit_keeps_the_pod_restricted() -> None:
    made = rendered(C4, sender__realtime__enabled=True)

    (container,) = pod(made, "sender").spec["containers"]
    assert container["command"] == ["chrt", "--fifo", "10", "python", "-m", "market_spread.sender"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "runAsUser" not in container["securityContext"]
    assert "command" not in pod(made, "receiver").spec["containers"][0]


def test_real_time_priority_by_capability_says_its_price_in_the_pod() -> None:
    made = rendered(C4, receiver__realtime__enabled=True, receiver__realtime__by="capability")

    (container,) = pod(made, "receiver").spec["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["SYS_NICE"]}
    assert container["securityContext"]["runAsUser"] == 0
    assert container["securityContext"]["runAsNonRoot"] is False
