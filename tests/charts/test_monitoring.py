"""The chart monitoring: the rules and dashboards as they are, and targets that exist."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from market_spread.controller.deploy.local.stack import SCRAPE_INTERVAL_S, write_prometheus
from tests.charts.catalog import CI, KUBERNETES, ROOT, Profile, rendered, run_helm
from tests.charts.pods import pods, selects
from tests.unit.monitoring.monitoring_fixtures import DASHBOARDS, RULE_FILES, dashboard, promtool

MONITORING = Profile("monitoring")


def rules(**values: Any) -> Mapping[str, str]:
    """The groups of each PrometheusRule, as a rule file."""
    return {
        found["metadata"]["name"].removeprefix("market-spread-"): yaml.safe_dump(found["spec"])
        for found in rendered(MONITORING, **values).of("PrometheusRule")
    }


def test_rules_are_those_of_the_folder() -> None:
    assert {name: yaml.safe_load(text) for name, text in rules().items()} == {
        path.stem: yaml.safe_load(path.read_text()) for path in RULE_FILES
    }


@pytest.mark.parametrize("name", ["recording", "alerting"])
def test_rules_are_rules(name: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(rules()[name])

    assert promtool("check", "rules", path).returncode == 0


def test_runbooks_can_be_addresses() -> None:
    base = "https://code.example.com/market-spread/"

    groups = yaml.safe_load(rules(rules__runbookBase=base)["alerting"])["groups"]

    urls = [rule["annotations"]["runbook_url"] for group in groups for rule in group["rules"]]
    assert len(urls) > 5
    assert all(url.startswith("https://code.example.com/market-spread/docs/runbook.md#") for url in urls)


def test_every_dashboard_has_the_label_that_grafana_looks_for() -> None:
    made = rendered(MONITORING).of("ConfigMap")

    assert {name for found in made for name in found["data"]} == {path.name for path in DASHBOARDS}
    for found in made:
        assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
        ((name, text),) = found["data"].items()
        (path,) = [path for path in DASHBOARDS if path.name == name]
        assert json.loads(text) == dashboard(path)
        assert len(text) < 1_000_000, "a ConfigMap holds a mebibyte"


def test_dashboards_link_to_the_metrics_page_where_it_is() -> None:
    page = "https://spread.example.com/page"

    made = rendered(MONITORING, dashboards__page=page).of("ConfigMap")

    boards = [json.loads(text) for found in made for text in found["data"].values()]
    variables = [variable for board in boards for variable in board["templating"]["list"] if variable["name"] == "page"]
    assert len(variables) == len(DASHBOARDS)
    assert {(variable["query"], variable["current"]["value"]) for variable in variables} == {(page, page)}
    assert "localhost" not in json.dumps(boards)


def test_monitors_find_pods_and_ports_of_the_other_charts() -> None:
    made = [*pods(rendered(CI)), *pods(rendered(Profile("host-tuning")))]

    for monitor in rendered(MONITORING).of("PodMonitor"):
        found = [pod for pod in made if selects(monitor["spec"]["selector"], pod.labels)]
        assert len(found) == 1, monitor["metadata"]["name"]
        ports = {port["name"] for container in found[0].spec["containers"] for port in container["ports"]}
        assert {endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]} <= ports


def test_monitors_look_where_the_page_installs_the_charts() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    installed = dict(re.findall(r"helm install \S+ charts/(\S+) --namespace (\S+)", page))

    assert set(installed) == {"market-spread", "host-tuning", "node-pools", "monitoring"}
    assert len(set(installed.values())) > 1
    for monitor in rendered(MONITORING).of("PodMonitor"):
        assert monitor["spec"]["namespaceSelector"] == {"any": True}


def test_targets_are_read_as_on_a_laptop(tmp_path: Path) -> None:
    configuration = write_prometheus(tmp_path, "a:1", "b:2", ["c:3"])
    laptop = {
        (job["metrics_path"], len(job.get("metric_relabel_configs", [])))
        for job in yaml.safe_load(configuration.read_text())["scrape_configs"]
    }

    monitors = rendered(MONITORING).of("PodMonitor")
    endpoints = [endpoint for monitor in monitors for endpoint in monitor["spec"]["podMetricsEndpoints"]]
    assert {(endpoint["path"], len(endpoint.get("metricRelabelings", []))) for endpoint in endpoints} == laptop
    assert {endpoint["interval"] for endpoint in endpoints} == {f"{SCRAPE_INTERVAL_S}s"}


def test_what_spark_calls_html_is_read_as_text() -> None:
    # Prometheus 3 has no protocol of its own for the page of the executors, and the target is down.
    assert {found["spec"].get("fallbackScrapeProtocol") for found in rendered(MONITORING).of("PodMonitor")} == {
        "PrometheusText0.0.4"
    }


def test_names_of_targets_are_those_that_an_alert_watches() -> None:
    # up{job=~".*market-spread-.+"}: the operator makes job of namespace and name.
    assert all(
        found["metadata"]["name"].startswith("market-spread-") for found in rendered(MONITORING).of("PodMonitor")
    )


def test_namespaces_are_those_of_the_releases() -> None:
    def named(**values: Any) -> list[list[str]]:
        return [
            found["spec"]["namespaceSelector"]["matchNames"]
            for found in rendered(MONITORING, **values).of("PodMonitor")
        ]

    assert named(namespaces=["a", "b"]) == [["a", "b"]] * 4


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        ([], {"ConfigMap"}),
        (["--api-versions", "monitoring.coreos.com/v1"], {"ConfigMap", "PrometheusRule", "PodMonitor"}),
        (["--set", "rules.enabled=always"], {"ConfigMap", "PrometheusRule"}),
        (
            ["--api-versions", "monitoring.coreos.com/v1", "--set", "monitors.enabled=never"],
            {"ConfigMap", "PrometheusRule"},
        ),
        (["--set", "dashboards.enabled=false,monitors.enabled=always"], {"PodMonitor"}),
    ],
    ids=["without the operator", "with it", "rules always", "monitors never", "monitors always, no dashboards"],
)
def test_objects_of_the_operator_are_made_where_it_is(arguments: list[str], kinds: set[str]) -> None:
    ended = run_helm("template", "x", MONITORING.folder, "--kube-version", KUBERNETES, *arguments)

    assert {found["kind"] for found in yaml.load_all(ended.stdout, yaml.CSafeLoader) if found} == kinds


def test_packages_have_no_generators_and_no_tests() -> None:
    ignored = (MONITORING.folder / ".helmignore").read_text().split()

    assert {"generator", "foreign_metrics.yaml", "rules/tests"} <= set(ignored)
