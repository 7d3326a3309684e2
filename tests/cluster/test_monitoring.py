"""The chart monitoring beside the Prometheus Operator as it is released: its definitions in a real API server."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.ground import binaries
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.errors import GroundError, run
from tests.cluster.ground.kubectl import wait_for
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
