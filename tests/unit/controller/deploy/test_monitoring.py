"""The configuration with which Prometheus reads a run's processes."""

from pathlib import Path

import pytest
import yaml

from market_spread.controller.deploy.local.stack import RULES, write_prometheus
from tests.unit.monitoring.monitoring_fixtures import promtool

TARGETS = ("127.0.0.1:8080", "127.0.0.1:9404", ("127.0.0.1:4040", "127.0.0.1:4041"))


def test_every_target_is_scraped_at_its_path(tmp_path: Path) -> None:
    path = write_prometheus(tmp_path, *TARGETS)

    scraped = {
        config["job_name"]: (config["metrics_path"], config["static_configs"][0]["targets"])
        for config in yaml.safe_load(path.read_text())["scrape_configs"]
    }
    assert scraped == {
        "market-spread-aggregator": ("/metrics", ["127.0.0.1:8080"]),
        "market-spread-kafka": ("/metrics", ["127.0.0.1:9404"]),
        "market-spread-spark": ("/metrics/prometheus/", ["127.0.0.1:4040", "127.0.0.1:4041"]),
        "market-spread-spark-executors": ("/metrics/executors/prometheus", ["127.0.0.1:4040", "127.0.0.1:4041"]),
    }


def test_the_rules_of_a_checkout_are_loaded(tmp_path: Path) -> None:
    path = write_prometheus(tmp_path, *TARGETS)

    assert yaml.safe_load(path.read_text())["rule_files"] == [f"{RULES}/*.yaml"]
    assert {file.name for file in RULES.glob("*.yaml")} == {"alerting.yaml", "recording.yaml"}


@pytest.mark.promtool
def test_prometheus_takes_it(tmp_path: Path) -> None:
    path = write_prometheus(tmp_path, *TARGETS)

    checked = promtool("check", "config", path)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_without_a_checkout_there_are_no_rules(tmp_path: Path) -> None:
    path = write_prometheus(tmp_path, *TARGETS, rules=tmp_path / "nothing")

    assert yaml.safe_load(path.read_text())["rule_files"] == []
