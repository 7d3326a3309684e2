"""What is shipped for Prometheus and Grafana, as tests look at it: rules, dashboards, and the names they use."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from market_spread.common.telemetry.exposition import quantile_name
from market_spread.common.telemetry.metrics import METRICS, MetricKind
from tests.support.own_metrics import HOST_TUNER_METRICS, OWN_METRICS
from tests.support.paths import ROOT

MONITORING = ROOT / "charts" / "monitoring"
RULES = MONITORING / "rules"
RULE_FILES = (RULES / "recording.yaml", RULES / "alerting.yaml")
RULE_TESTS = sorted((RULES / "tests").glob("*.yaml"))
DASHBOARDS = sorted((MONITORING / "dashboards").glob("*.json"))

_NO_METRICS = (
    re.compile(r"\{[^}]*\}"),
    re.compile(r"\[[^\]]*\]"),
    re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)"),
    re.compile(r"\boffset\s+[\w$]+"),
    re.compile(r"\b(?:and|or|unless|bool)\b"),
)
_NAME = re.compile(r"(?<![\w.])[a-zA-Z_:][\w:]*\b(?!\s*\()")


@dataclass(frozen=True)
class Shown:
    """A query of a dashboard's panel."""

    board: str
    panel: str
    expr: str


def promtool(*arguments: object, stdin: bytes = b"") -> "subprocess.CompletedProcess[str]":
    """Run Prometheus's promtool."""
    command = [program("promtool", "prometheus"), *map(str, arguments)]
    ended = subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=120)
    return subprocess.CompletedProcess(
        ended.args, ended.returncode, ended.stdout.decode(errors="replace"), ended.stderr.decode(errors="replace")
    )


def program(name: str, package: str) -> str:
    """Where a program is that these tests need; fails with what to install."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is missing; on Debian: apt-get install --no-install-recommends {package}", pytrace=False)
    return found


def dashboard(path: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(path.read_text())
    return parsed


def panels(path: Path) -> list[dict[str, Any]]:
    """The panels of a dashboard, without the headings between them."""
    return panels_of(dashboard(path))


def panels_of(board: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same of one that is read, with those in folded rows."""
    return [panel for each in board["panels"] for panel in (each["panels"] if each["type"] == "row" else [each])]


def queries() -> Iterator[Shown]:
    """Every query of every dashboard's panels."""
    for path in DASHBOARDS:
        for panel in panels(path):
            for target in panel.get("targets", []):
                yield Shown(path.stem, panel["title"], target["expr"])


def marks() -> Iterator[Shown]:
    """Every query of every dashboard's annotations."""
    for path in DASHBOARDS:
        for each in dashboard(path)["annotations"]["list"]:
            yield Shown(path.stem, each["name"], each["expr"])


def rules() -> list[dict[str, Any]]:
    """Every rule of both files."""
    return [
        rule for path in RULE_FILES for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]
    ]


def alerts() -> dict[str, dict[str, Any]]:
    """The alerting rules by name."""
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


def foreign_metrics() -> set[str]:
    """Metrics of others that we declare to use."""
    declared = yaml.safe_load((MONITORING / "foreign_metrics.yaml").read_text())
    return {name for metrics in declared.values() for name in metrics}


@cache
def known_metrics() -> set[str]:
    """Every series name that a scrape, a recording rule or a declared program of others gives."""
    names = {rule["record"] for rule in rules() if "record" in rule} | foreign_metrics()
    for metric in (*METRICS.values(), *OWN_METRICS, *HOST_TUNER_METRICS):
        if metric.kind is MetricKind.HISTOGRAM:
            names |= {f"{metric.name}_{part}" for part in ("bucket", "count", "sum")} | {quantile_name(metric)}
        else:
            names.add(metric.name)
    pushed = (metric for metric in METRICS.values() if metric.kind is MetricKind.HISTOGRAM)
    return names | {quantile_name(metric, recent=True) for metric in pushed}


def metrics_in(expr: str) -> set[str]:
    """The metrics that a PromQL expression names."""
    for pattern in _NO_METRICS:
        expr = pattern.sub(" ", expr)
    return set(_NAME.findall(expr))
