"""What every chart renders, in every profile, is what Kubernetes takes, from 1.33 to the newest known version."""

import json
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from tests.charts.catalog import (
    CHARTS,
    CHOSEN,
    KUBERNETES,
    MARKET_SPREAD,
    NAMESPACE,
    PROFILES,
    Object,
    Profile,
    rendered,
    run_helm,
    try_rendering,
)
from tests.charts.pods import executor_manifests

OLDEST, NEWEST = 33, int(kubernetes_validate.latest_version().split(".")[1])
VERSIONS = [f"1.{minor}" for minor in range(OLDEST, NEWEST + 1)]
CLUSTER_WIDE = {
    "ClusterRole", "ClusterRoleBinding", "NodePool", "EC2NodeClass", "PriorityClass", "Namespace",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}  # fmt: skip
SCHEMAS = {path.stem: yaml.safe_load(path.read_text()) for path in (Path(__file__).parent / "schemas").glob("*.yaml")}


@cache
def valid(manifest_json: str, version: str) -> bool:
    """Raises with what is wrong; the same object of several profiles is looked at once."""
    kubernetes_validate.validate(json.loads(manifest_json), version, strict=True)
    return True


def is_custom(found: Object) -> bool:
    """Whether Kubernetes itself does not know the kind."""
    return found["apiVersion"].split("/")[0] in (
        "karpenter.sh",
        "karpenter.k8s.aws",
        "monitoring.coreos.com",
        "cert-manager.io",
    )


def test_the_newest_known_schemas_are_used() -> None:
    assert len(VERSIONS) >= 5
    assert {chart.name for chart in CHARTS} >= {"market-spread", "monitoring", "node-pools"}
    assert {profile.values for profile in MARKET_SPREAD} == {"values.yaml", "values-ci.yaml", "values-c4.8xlarge.yaml"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_objects_are_valid(profile: Profile, version: str) -> None:
    objects = [found for found in rendered(profile).objects if not is_custom(found)]

    for found in [*objects, *executor_manifests(rendered(profile))]:
        try:
            valid(json.dumps(found, sort_keys=True), version)
        except kubernetes_validate.ValidationError as error:
            pytest.fail(f"{found['kind']} {found['metadata']['name']}: {error.message}", pytrace=False)


def test_objects_of_a_pair_with_all_that_a_platform_adds_are_valid() -> None:
    made = rendered(
        MARKET_SPREAD[0],
        job__replicas=2,
        job__executors__spread="zone",
        job__checkpoint__accessMode="ReadWriteMany",
        job__checkpoint__storageClass="efs",
        podLabels={"team": "a"},
        podAnnotations={"example.com/team": "a b"},
        serviceAccountAnnotations={"example.com/role": "a/b"},
        extraEnv=[{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    )

    for found in [*made.objects, *executor_manifests(made)]:
        assert valid(json.dumps(found, sort_keys=True), VERSIONS[-1])


# Names that YAML takes for a number, a truth or nothing, and what the profile needs besides.
ODD: dict[str, dict[str, Any]] = {
    "market-spread": {
        "images.pullSecrets": ["1", "true", "null", "0x1f"],
        "receiver.ledgers": {"kind": "existingClaim", "existingClaim": "1"},
        "metricsAggregator.runs": {"kind": "claim", "storageClass": "2"},
        "job.pipeline": {"configMap": "3", "file": "f.py", "function": "true"},
        "kafka.external": {
            "bootstrap": "b:9092",
            "security": {
                "protocol": "SASL_SSL",
                "username": "4",
                "passwordSecret": "5",
                "caSecret": "6",
                "certificateSecret": "7",
            },
        },
        "kafka.prefix": "8_",
        "priorityClassName": "9",
        "tls": {
            "source": "secret",
            "secrets": {"sender": "10", "receiver": "11", "job": "12", "metricsAggregator": "13", "run": "1.5"},
        },
        "networkPolicy.dns.namespace": "14",
        "podLabels": {f"{'a' * 253}/{'b' * 63}": "null"},
    },
    "host-tuning": {
        "imagePullSecrets": ["1"],
        "priorityClassName": "2",
        "stateFolder": "/data/a,b",
        "kubeletFolder": "/kubelet,1",
    },
    "node-pools": {
        "cluster.name": "1",
        "cluster.role": "@2",
        "instance.placementGroup": "a: b # c",
        "instance.zone": "us-east-1a",
    },
    "monitoring": {"rules.labels": {"1": "true"}},
}


@pytest.mark.parametrize("chart", ODD)
def test_a_name_that_yaml_takes_for_something_else_is_written_as_text(chart: str) -> None:
    release = "x" if chart == "market-spread" else "123"

    made = try_rendering(Profile(chart), release, ODD[chart])

    assert made.status == 0, made.error
    for found in [*made.objects, *(executor_manifests(made) if chart == "market-spread" else [])]:
        if found["kind"] in SCHEMAS:
            jsonschema.validate(found, SCHEMAS[found["kind"]])
        elif not is_custom(found):
            assert valid(json.dumps(found, sort_keys=True), VERSIONS[-1])
        assert found["metadata"]["labels"]["app.kubernetes.io/instance"] == release
    for found in made.of("EC2NodeClass"):
        spec = found["spec"]
        assert [spec["role"], spec["placementGroupSelector"]["name"]] == ["@2", "a: b # c"]
        assert spec["subnetSelectorTerms"] == [{"tags": {"karpenter.sh/discovery": "1"}}]


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_objects_of_operators_are_valid(profile: Profile) -> None:
    for found in rendered(profile).objects:
        if found["kind"] in SCHEMAS:  # those of Karpenter are looked at in test_node_pools
            jsonschema.validate(found, SCHEMAS[found["kind"]])


def test_the_validators_refuse_what_is_misspelt() -> None:
    service = rendered(MARKET_SPREAD[0]).one("Service", "sender")
    misspelt = {**service, "spec": {**service["spec"], "clusterIp": "None"}}
    monitor = rendered(Profile("monitoring")).of("PodMonitor")[0]

    with pytest.raises(kubernetes_validate.ValidationError, match="clusterIp"):
        valid(json.dumps(misspelt), "1.35")
    with pytest.raises(jsonschema.ValidationError, match="select"):
        jsonschema.validate({**monitor, "spec": {**monitor["spec"], "select": {}}}, SCHEMAS["PodMonitor"])


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_lint_has_no_complaint(profile: Profile) -> None:
    ended = run_helm("lint", "--strict", "--kube-version", KUBERNETES, profile.folder, *profile.arguments)

    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_objects_have_names_namespace_and_labels(profile: Profile) -> None:
    objects = rendered(profile).objects

    names = [(found["kind"], found["metadata"].get("namespace"), found["metadata"]["name"]) for found in objects]
    assert len(names) == len(set(names))
    for kind, namespace, name in names:
        assert namespace == (None if kind in CLUSTER_WIDE else NAMESPACE), (kind, name)
        assert len(name) <= 63, name
    for found in objects:
        labels = found["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == profile.chart
        assert labels["app.kubernetes.io/instance"] == "market-spread"
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert labels["helm.sh/chart"].startswith(f"{profile.chart}-")


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_kubernetes_before_1_33_is_refused(chart: Path) -> None:
    made = try_rendering(Profile(chart.name), "market-spread", {}, kubernetes="1.32.9")

    assert made.status != 0
    assert "1.33" in made.error


NOTES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: notes-of-the-chart}
data:
  text: |
    {{- include "notes-of-the-chart" . | nindent 4 }}
"""


def notes(profile: Profile, scratch: Path, *values: str) -> str:
    """What Helm prints after the install, with all commands on one line.

    Helm shows notes to who has a cluster alone, so a copy of the chart has them in an object.
    """
    chart = shutil.copytree(profile.folder, scratch / profile.chart)
    text = (chart / "templates" / "NOTES.txt").read_text()
    (chart / "templates" / "_notes.tpl").write_text('{{- define "notes-of-the-chart" }}' + text + "{{- end }}")
    (chart / "templates" / "notes.yaml").write_text(NOTES)
    ended = run_helm(
        "template", "market-spread", chart, "--namespace", NAMESPACE, "--kube-version", KUBERNETES,
        "--show-only", "templates/notes.yaml", *profile.arguments, *values,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    printed: str = yaml.safe_load(ended.stdout)["data"]["text"]
    return printed.replace("\\\n", " ")


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_notes_have_commands_that_name_what_is_there(profile: Profile, tmp_path: Path) -> None:
    commands = [line.split() for line in notes(profile, tmp_path).splitlines() if line.startswith("  ")]
    commands = [words for words in commands if words[0] in ("kubectl", "helm", "market-spread")]

    assert commands
    names = {f"{found['kind'].lower()}/{found['metadata']['name']}" for found in rendered(profile).objects}
    for words in commands:
        named = [word for word in words if word.startswith(("statefulset/", "service/", "daemonset/", "job/"))]
        assert set(named) <= names, words
        placed = [words[words.index(flag) + 1] for flag in ("-n", "--namespace") if flag in words]
        assert set(placed) <= {NAMESPACE}, words


def leaves(node: yaml.Node | None, path: str = "") -> list[tuple[str, int]]:
    """Path and line of every value that has no values below it."""
    assert node is not None
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        return [(path, node.start_mark.line)]
    return [leaf for key, value in node.value for leaf in leaves(value, f"{path}.{key.value}".lstrip("."))]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_every_value_is_documented(chart: Path) -> None:
    text = (chart / "values.yaml").read_text()
    lines = text.splitlines()

    bare = [path for path, line in leaves(yaml.compose(text)) if not lines[line - 1].lstrip().startswith("#")]

    assert bare == []


def resolved(schema: Object, part: Object) -> Object:
    """A part of a schema with its reference looked up."""
    if "$ref" not in part:
        return part
    found: Object = schema["definitions"][part["$ref"].rpartition("/")[2]]
    return found


def compare(schema: Object, part: Object, values: Any, path: str, text: str) -> None:
    """The schema of a mapping is closed, and knows the values that there are; others stand there as comments."""
    part = resolved(schema, part)
    if isinstance(values, dict) and "properties" in part:
        assert part["additionalProperties"] is False, path
        optional = {name for name in part["properties"] if re.search(rf"^ *# {name}:", text, re.MULTILINE)}
        assert set(values) <= set(part["properties"]) <= set(values) | optional, path
        for name, value in values.items():
            compare(schema, part["properties"][name], value, f"{path}.{name}", text)
    elif isinstance(values, dict):
        assert part["additionalProperties"] is not True, path


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_schema_is_closed_and_has_every_value(chart: Path) -> None:
    schema = json.loads((chart / "values.schema.json").read_text())

    text = (chart / "values.yaml").read_text()
    compare(schema, schema, yaml.safe_load(text), chart.name, text)


def placed(values: Any, path: tuple[str, ...], new: Any) -> Any:
    """A copy with something else at a path."""
    if not path:
        return new
    return {**values, path[0]: placed(values.get(path[0], {}), path[1:], new)}


def mappings(values: Object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Paths of all mappings with fixed keys."""
    below = [
        place for name, value in values.items() if isinstance(value, dict) for place in mappings(value, (*path, name))
    ]
    return [path, *below] if values and path[-1:] != ("podLabels",) else below


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_a_misspelt_key_is_refused_everywhere(chart: Path) -> None:
    validator = jsonschema.Draft7Validator(json.loads((chart / "values.schema.json").read_text()))
    values = yaml.safe_load((chart / "values.yaml").read_text())

    for path in mappings(values):
        assert not validator.is_valid(placed(values, (*path, "mispelt"), 1)), path
    assert validator.is_valid(values)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_a_value_of_the_wrong_type_is_refused_everywhere(chart: Path) -> None:
    validator = jsonschema.Draft7Validator(json.loads((chart / "values.schema.json").read_text()))
    text = (chart / "values.yaml").read_text()
    values = yaml.safe_load(text)

    paths = [tuple(path.split(".")) for path, _ in leaves(yaml.compose(text))]
    assert len(paths) > 5
    for path in paths:
        assert not validator.is_valid(placed(values, path, {"of": {"another": ["type"]}})), path
        assert not validator.is_valid(placed(values, path, None)), path


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_an_earlier_releases_values_render(chart: Path, tmp_path: Path) -> None:
    """As `helm upgrade --reuse-values` does it: keys that are new since then are nowhere."""
    earlier = Path(__file__).parent / "earlier" / f"{chart.name}.yaml"
    copied = shutil.copytree(chart, tmp_path / chart.name)
    shutil.copy(earlier, copied / "values.yaml")

    ended = run_helm("template", "x", copied, "--kube-version", KUBERNETES, *Profile(chart.name).arguments)

    assert ended.returncode == 0, ended.stderr


def test_charts_without_defaults_say_what_is_missing() -> None:
    for chart in CHOSEN:
        ended = run_helm("template", "x", Profile(chart).folder, "--kube-version", KUBERNETES)

        assert ended.returncode != 0
        assert all(name in ended.stderr for name in CHOSEN[chart]), ended.stderr
