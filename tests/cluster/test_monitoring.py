"""The chart monitoring beside the released Prometheus Operator: its definitions, and what it takes of the chart."""

import base64
import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.ground import binaries
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.errors import GroundError, run
from tests.cluster.ground.kubectl import Kubectl, wait_for
from tests.cluster.ground.layout import KUBECONFIG
from tests.cluster.releases import CHARTS

Object = dict[str, Any]
OPERATOR_API = "monitoring.coreos.com/v1"


def definition(kind: str) -> Path:
    """A definition of the operator, in its module: go.sum of tests/cluster/tools/prometheus-operator has its hash."""
    if shutil.which("go") is None:
        raise GroundError(
            "the operator's definitions are in its Go module, and Go is missing; install Go 1.26 or newer"
        )
    module = ["env", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "go", "-C", binaries.TOOLS / binaries.OPERATOR.module]
    made = run([*module, "mod", "download", "-json", "github.com/prometheus-operator/prometheus-operator"])
    return Path(json.loads(made)["Dir"], "example", "prometheus-operator-crd", f"monitoring.coreos.com_{kind}.yaml")


@pytest.fixture(scope="module")
def definitions(ground: Cluster) -> Iterator[Cluster]:
    """A cluster that has the definitions of what the charts make, which go with the tests."""
    files = [f"--filename={definition(kind)}" for kind in ("podmonitors", "prometheusrules")]
    ground.kubectl("create", *files)
    ground.kubectl("wait", "--for=condition=Established", "--timeout=30s", *files)

    wait_for("the API serves the kinds", lambda: "prometheusrules" in ground.kubectl("api-resources"), within_s=30)
    yield ground
    ground.kubectl("delete", *files, "--timeout=60s", timeout_s=90)


@pytest.fixture
def apply(definitions: Cluster) -> Callable[[list[Object]], str]:
    """Asks the API server what it makes of objects; nothing is kept."""

    def applied(objects: list[Object]) -> str:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        words = ("--server-side", "--dry-run=server", "--validate=strict", "--filename=-")
        return definitions.kubectl("apply", *words, text=text)

    return applied


def objects_of(chart: str, *values: str) -> list[Object]:
    """What a chart makes for the operator."""
    binaries.build_missing((binaries.HELM,))
    made = run(
        [binaries.HELM.path, "template", chart, CHARTS / chart, "--kube-version", "1.34.4", "--namespace", "default",
         "--api-versions", OPERATOR_API, *(f"--set={value}" for value in values)]
    )  # fmt: skip
    return [each for each in yaml.safe_load_all(made) if each and each["apiVersion"] == OPERATOR_API]


def test_a_released_operator_takes_rules_and_monitors_whole(apply: Callable[[list[Object]], str]) -> None:
    objects = objects_of("monitoring", "monitors.labels.release=prometheus", "namespaces={a,b}")
    tuners_own = objects_of("host-tuning", "image=localhost/tuner:1", "podMonitor.enabled=true")

    assert sorted(each["kind"] for each in objects) == ["PodMonitor"] * 4 + ["PrometheusRule"] * 2
    assert [each["kind"] for each in tuners_own] == ["PodMonitor"]
    assert apply([*objects, *tuners_own]).count("serverside-applied") == 7


def misspelt(found: Object) -> None:
    found["spec"]["podMetricsEndpoints"][0]["metricRelabeling"] = []


def portless(found: Object) -> None:
    found["spec"]["podMetricsEndpoints"][0]["port"] = 8080


def timeless(found: Object) -> None:
    found["spec"]["podMetricsEndpoints"][0]["interval"] = "5"


def unselective(found: Object) -> None:
    del found["spec"]["selector"]


def actionless(found: Object) -> None:
    found["spec"]["podMetricsEndpoints"][0]["metricRelabelings"] = [{"action": "forget"}]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (misspelt, "unknown field"),
        (portless, "expected string"),
        (timeless, "interval"),
        (unselective, "selector"),
        (actionless, "Unsupported value"),
    ],
)
def test_a_released_operator_refuses_wrong_monitors(
    apply: Callable[[list[Object]], str], change: Callable[[Object], None], said: str
) -> None:
    monitor = next(each for each in objects_of("monitoring") if each["kind"] == "PodMonitor")
    change(monitor)

    with pytest.raises(GroundError, match=said):
        apply([monitor])


def test_a_released_operator_refuses_a_wrong_rule(apply: Callable[[list[Object]], str]) -> None:
    rules = next(each for each in objects_of("monitoring") if each["kind"] == "PrometheusRule")
    rules["spec"]["groups"][0]["interval"] = "often"

    with pytest.raises(GroundError, match="interval"):
        apply([rules])


class Operated:
    """A Prometheus of the operator's, of no pods: what its configuration and its rules come to."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def jobs(self) -> set[str]:
        """The monitor that each scrape job was made of, as namespace/name/number of the endpoint."""
        with suppress(GroundError):
            packed = self._kubectl.get("secret", "prometheus-main")["data"]["prometheus.yaml.gz"]
            configuration = yaml.safe_load(gzip.decompress(base64.b64decode(packed)))
            return {job["job_name"].removeprefix("podMonitor/") for job in configuration.get("scrape_configs") or []}
        return set()

    def rules(self) -> list[str]:
        """The names of all rules that it would load, in order."""
        found = self._kubectl.items("configmaps", "--selector=prometheus-name=main")
        files = [yaml.safe_load(text) for each in found for text in each.get("data", {}).values()]
        return names_of_rules(files)


def names_of_rules(files: list[Object]) -> list[str]:
    groups = [group for file in files for group in file["groups"]]
    return sorted(rule.get("alert") or rule["record"] for group in groups for rule in group["rules"])


@pytest.fixture
def operated(definitions: Cluster, kubectl: Kubectl, tmp_path: Path) -> Iterator[Operated]:
    """The released operator at work on the cluster, and a Prometheus that takes what has its release's label."""
    binaries.build_missing((binaries.OPERATOR,))
    others = ("prometheuses", "prometheusagents", "servicemonitors", "probes", "scrapeconfigs", "alertmanagers",
              "alertmanagerconfigs", "thanosrulers")  # fmt: skip
    files = [f"--filename={definition(kind)}" for kind in others]
    definitions.kubectl("create", *files, timeout_s=120)
    definitions.kubectl("wait", "--for=condition=Established", "--timeout=60s", *files, timeout_s=90)
    environment = {**os.environ, "KUBECONFIG": str(KUBECONFIG)}
    with (tmp_path / "operator.log").open("w") as log:
        operator = subprocess.Popen(
            [binaries.OPERATOR.path, "--web.listen-address=127.0.0.1:0", "--kubelet-endpoints=false"],
            env=environment, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        selector = {"matchLabels": {"release": "main"}}
        specification = {
            "replicas": 0, "version": "v2.42.0", "podMonitorSelector": selector, "podMonitorNamespaceSelector": {},
            "ruleSelector": selector, "ruleNamespaceSelector": {},
        }  # fmt: skip
        kubectl.apply(
            {"apiVersion": OPERATOR_API, "kind": "Prometheus", "metadata": {"name": "main"}, "spec": specification}
        )
        yield Operated(kubectl)
        assert operator.poll() is None, (tmp_path / "operator.log").read_text()[-2000:]
    finally:
        operator.terminate()
        operator.wait(20)
        definitions.kubectl("delete", *files, "--timeout=60s", timeout_s=90)


@pytest.mark.full
@pytest.mark.timeout(1200)  # It builds the operator, where nobody has.
def test_the_operator_takes_every_monitor_and_rule_of_its_label_and_no_wrong_one(
    operated: Operated, kubectl: Kubectl
) -> None:
    objects = objects_of("monitoring", "monitors.labels.release=main", "rules.labels.release=main")
    for each in objects:
        each["metadata"]["namespace"] = kubectl.namespace
    monitors = [each for each in objects if each["kind"] == "PodMonitor"]
    files = [each["spec"] for each in objects if each["kind"] == "PrometheusRule"]
    wanted = {
        f"{kubectl.namespace}/{each['metadata']['name']}/{number}"
        for each in monitors
        for number, _ in enumerate(each["spec"]["podMetricsEndpoints"])
    }
    wrong_label = renamed(monitors[0], "unlabelled", release="another")
    wrong_rule = renamed(next(each for each in objects if each["kind"] == "PrometheusRule"), "wrong", release="main")
    wrong_rule["spec"] = {"groups": [{"name": "wrong", "rules": [{"alert": "Wrong", "expr": "up =="}]}]}

    kubectl.apply(*objects, wrong_label, wrong_rule)

    wait_for("all monitors are jobs", lambda: operated.jobs() == wanted, within_s=60)
    wait_for("all rules are loaded", lambda: operated.rules() == names_of_rules(files), within_s=60)
    assert len(wanted) == 5
    assert len(operated.rules()) > 25
    # A monitor that has lost its label is no job any more: so the comparison above can fail.
    kubectl("label", "podmonitor", monitors[0]["metadata"]["name"], "release=another", "--overwrite")
    lost = {f"{kubectl.namespace}/{monitors[0]['metadata']['name']}/0"}
    wait_for("it is no job any more", lambda: operated.jobs() == wanted - lost, within_s=60)
    assert operated.rules() == names_of_rules(files)


def renamed(found: Object, name: str, **labels: str) -> Object:
    """The same object, but for its name and its labels."""
    metadata = {"name": name, "namespace": found["metadata"]["namespace"], "labels": labels}
    return {**found, "metadata": metadata}
