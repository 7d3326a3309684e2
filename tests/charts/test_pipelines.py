"""A pipeline of the user's in place of Market Spread, from an image or from a ConfigMap."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.charts.catalog import DEFAULT, KUBERNETES, NAMESPACE, Rendered, rendered, run_helm
from tests.charts.pods import pod, pods
from tests.charts.test_market_spread import environment
from tests.support.documented import documented_files

DOCUMENTED = documented_files("docs/kubernetes.md")

FROM_CONFIG_MAP: dict[str, Any] = {
    "job__pipeline__configMap": "fares",
    "job__pipeline__file": "fares.py",
    "job__pipeline__function": "fares_of",
}
IMAGE = "registry.example.com/fares:1.2"
FROM_IMAGE: dict[str, Any] = {
    "job__pipeline__image": IMAGE,
    "job__pipeline__file": "/opt/fares/fares.py",
    "job__pipeline__function": "fares_of",
}


def mounts(made: Rendered, component: str) -> list[tuple[str, str]]:
    """The ConfigMaps of a component's container that are not the chart's own, and where they are."""
    spec = pod(made, component).spec
    named = {volume["name"]: volume.get("configMap", {}).get("name", "") for volume in spec["volumes"]}
    found = [(named[mount["name"]], mount["mountPath"]) for mount in spec["containers"][0]["volumeMounts"]]
    return [(name, path) for name, path in found if name and not name.startswith("market-spread")]


def test_by_default_the_job_is_ours() -> None:
    made = rendered(DEFAULT)

    assert "APPLICATION" not in environment(made, "job")
    assert not [name for name in environment(made, "job") if name.startswith("TOPIC_")]
    assert mounts(made, "job") == mounts(made, "executor") == []


def test_a_config_map_is_a_folder_of_driver_and_executors() -> None:
    made = rendered(DEFAULT, **FROM_CONFIG_MAP)

    assert environment(made, "job")["APPLICATION"] == "/etc/market-spread/pipeline/fares.py:fares_of"
    assert mounts(made, "job") == mounts(made, "executor") == [("fares", "/etc/market-spread/pipeline")]
    executor = {entry["name"]: entry.get("value", "") for entry in pod(made, "executor").spec["containers"][0]["env"]}
    assert executor["PYTHONPATH"].split(":") == [
        "/etc/market-spread/pipeline", "/opt/market-spread/ours", "/opt/market-spread/packages",
    ]  # fmt: skip


def test_who_runs_its_workload_has_the_same_folder_at_the_same_place() -> None:
    made = rendered(DEFAULT, **FROM_CONFIG_MAP, run__enabled=True, run__file="workload.yaml")

    have_it = {each.component for each in pods(made) if "'fares'" in str(each.spec)}
    assert have_it == {"job", "executor", "sender", "receiver", "run"}
    assert mounts(made, "sender") == mounts(made, "receiver") == [("fares", "/etc/market-spread/pipeline")]
    (run,) = pod(made, "run").spec["containers"]
    assert run["args"][:2] == ["run", "/etc/market-spread/pipeline/workload.yaml"]
    assert {"name": "pipeline", "mountPath": "/etc/market-spread/pipeline", "readOnly": True} in run["volumeMounts"]


def test_an_image_is_that_of_driver_and_executors_alone() -> None:
    made = rendered(DEFAULT, **FROM_IMAGE)

    assert environment(made, "job")["APPLICATION"] == "/opt/fares/fares.py:fares_of"
    assert {each.component for each in pods(made) for c in each.containers if c["image"] == IMAGE} == {
        "job",
        "executor",
    }
    assert environment(made, "job")["EXECUTOR_IMAGE"] == IMAGE
    assert mounts(made, "job") == mounts(made, "executor") == []
    executor = pod(made, "executor").spec["containers"][0]
    assert "PYTHONPATH" not in {entry["name"] for entry in executor["env"]}, "the image has its own"


def test_the_driver_makes_the_topics_which_it_alone_knows() -> None:
    values = {**FROM_CONFIG_MAP, "kafka__external__bootstrap": "b:9092", "kafka__prefix": "trial."}
    made = rendered(DEFAULT, **values, topics__partitions=2, topics__replicas=3)

    told = environment(made, "job")
    assert (told["TOPIC_PREFIX"], told["TOPIC_PARTITIONS"], told["TOPIC_REPLICAS"]) == ("trial.", "2", "3")
    assert not made.of("Job", "topics")


def test_a_pipeline_without_state_needs_a_slot_for_each_partition_alone() -> None:
    made = rendered(DEFAULT, **FROM_CONFIG_MAP, topics__partitions=3)

    assert environment(made, "job")["EXECUTOR_SLOTS"] == "3"


def test_a_pipeline_is_tested_by_its_health_and_its_broker() -> None:
    made = rendered(DEFAULT, **FROM_CONFIG_MAP)

    assert {found["metadata"]["name"] for found in made.of("Pod")} == {
        "market-spread-test-services",
        "market-spread-test-kafka",
    }
    assert not [found for found in made.of("ConfigMap") if found["metadata"]["name"].endswith("-test-run")]


def test_the_page_has_values_for_all_of_it() -> None:
    assert set(DOCUMENTED) == {"own-kafka.yaml", "tokens.yaml", "fares.yaml", "fares-image.yaml", "words.yaml"}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_values_are_taken_as_they_stand(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(DOCUMENTED[name])

    ended = run_helm(
        "template", "fares", DEFAULT.folder, "--namespace", NAMESPACE, "--kube-version", KUBERNETES,
        "--values", tmp_path / name, *DEFAULT.arguments,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    made = [found for found in yaml.load_all(ended.stdout, yaml.CSafeLoader) if found]
    names = {f"{found['kind'].lower()}/{found['metadata']['name']}" for found in made}
    assert "statefulset/fares-market-spread-job" in names, "the page's commands name it"
    has_own_broker = "external:" not in DOCUMENTED[name]
    assert ("statefulset/fares-market-spread-kafka" in names) is has_own_broker
