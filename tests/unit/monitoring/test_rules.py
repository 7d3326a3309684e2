"""Recording and alerting rules: valid, tested, explained, and about metrics that there are."""

import re
from pathlib import Path

import pytest
import yaml

from tests.support.paths import ROOT
from tests.unit.monitoring.monitoring_fixtures import (
    RULE_FILES,
    RULE_TESTS,
    alerts,
    known_metrics,
    metrics_in,
    promtool,
    queries,
    rules,
)

RUNBOOK = ROOT / "docs" / "runbook.md"


def name_of(path: Path) -> str:
    return path.stem


def ways_tested() -> dict[str, set[bool]]:
    """Of each alert, whether there is a test in which it fires, and one in which it does not."""
    found: dict[str, set[bool]] = {}
    for path in RULE_TESTS:
        for test in yaml.safe_load(path.read_text())["tests"]:
            for expected in test["alert_rule_test"]:
                found.setdefault(expected["alertname"], set()).add(bool(expected["exp_alerts"]))
    return found


def test_metrics_are_found_in_expressions() -> None:
    expr = 'sum by (le) (rate(a_bucket{x="b_total"}[5m])) / on (c) group_left (d) (run:e:f > 0.5) or g offset 5m'

    assert metrics_in(expr) == {"a_bucket", "run:e:f", "g"}


@pytest.mark.promtool
def test_rules_are_valid() -> None:
    checked = promtool("check", "rules", *RULE_FILES)

    assert checked.returncode == 0, checked.stderr
    assert len(rules()) > 20


@pytest.mark.promtool
@pytest.mark.parametrize("path", RULE_TESTS, ids=name_of)
def test_alerts_fire_when_they_should_and_only_then(path: Path) -> None:
    ended = promtool("test", "rules", path)

    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_alert_is_tested_both_ways() -> None:
    assert ways_tested() == {name: {True, False} for name in alerts()}


@pytest.mark.parametrize("name", alerts())
def test_every_alert_says_what_is_wrong_and_where_to_read_on(name: str) -> None:
    alert = alerts()[name]

    assert alert["labels"]["severity"] in ("critical", "warning")
    assert alert["annotations"]["summary"]
    assert alert["annotations"]["description"]
    assert alert["annotations"]["runbook_url"] == f"docs/runbook.md#{name.lower()}"


# The verdict allows none of what these count.
ALLOWED_NONE = {"MarketSpreadMessagesFailed", "MarketSpreadInvalidRecords"}
# Of the rig's own services: whoever runs them must know at once, whatever a run comes to.
URGENT_HINTS = {"MarketSpreadAggregatorCannotWrite"}


def test_an_alert_compares_with_a_limit_of_the_run_or_is_a_hint() -> None:
    foretold: dict[str, set[str]] = {"failed": set(), "void": set(), "hint": set()}
    for name, alert in alerts().items():
        foretold[alert["labels"]["verdict"]].add(name)

    with_limits = {name for name, alert in alerts().items() if "market_spread_limit_" in alert["expr"]}
    assert (foretold["failed"] | foretold["void"]) - ALLOWED_NONE == with_limits - foretold["hint"]
    assert foretold["failed"] | foretold["void"] >= ALLOWED_NONE
    assert {name for name in foretold["hint"] if alerts()[name]["labels"]["severity"] == "critical"} == URGENT_HINTS


def test_every_alert_has_a_runbook_entry_and_every_entry_an_alert() -> None:
    entries = re.findall(r"^### (\w+)\n\n(.*?)(?=^##|\Z)", RUNBOOK.read_text(), re.MULTILINE | re.DOTALL)

    assert [name for name, _ in entries] == list(alerts())
    for name, text in entries:
        assert re.findall(r"^\*\*(\w+)\*\* ", text, re.MULTILINE) == ["Means", "Look", "Do"], name


def test_rules_are_about_metrics_that_there_are() -> None:
    named = {metric for rule in rules() for metric in metrics_in(rule["expr"])}

    assert named - known_metrics() == set()


def test_no_bucket_is_a_threshold() -> None:
    expressions = [rule["expr"] for rule in rules()] + [shown.expr for shown in queries()]

    assert [expr for expr in expressions if re.search(r'\ble="', expr)] == []
