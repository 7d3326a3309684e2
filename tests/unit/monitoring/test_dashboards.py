"""Dashboards and references: what is generated; dashboards are complete, and about metrics that there are."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests.support.paths import ROOT
from tests.unit.monitoring.monitoring_fixtures import (
    DASHBOARDS,
    MONITORING,
    dashboard,
    foreign_metrics,
    known_metrics,
    marks,
    metrics_in,
    panels,
    promtool,
    queries,
    rules,
)

VARIABLE = re.compile(r"\$(\w+)")
# What Grafana itself puts in.
BUILT_IN = {"__rate_interval", "__interval"}
MERGING = re.compile(r"\b(avg|sum|rate|increase|avg_over_time|sum_over_time|quantile_over_time)\b")


def name_of(path: Path) -> str:
    return path.stem


def test_dashboards_are_what_the_generator_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, MONITORING / "generator" / "grafana.py", tmp_path], check=True, timeout=120)

    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert {path.name: path.read_text() for path in DASHBOARDS} == written, "write them again: make generated"


def test_references_are_what_their_generator_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tests.references", tmp_path], cwd=ROOT, check=True, timeout=120)

    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert set(written) == {"metrics.md", "workloads.md", "environment.md"}
    assert {name: (ROOT / "docs" / name).read_text() for name in written} == written, "write them again: make generated"


@pytest.mark.parametrize("path", sorted((MONITORING / "generator" / "boards").glob("*.yaml")), ids=name_of)
def test_no_board_says_a_key_twice(path: Path) -> None:
    nodes: list[yaml.Node | None] = [yaml.compose(path.read_text(), Loader=yaml.SafeLoader)]

    for node in nodes:
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            assert len(set(keys)) == len(keys), f"{path}:{node.start_mark.line + 1}"
            nodes += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            nodes += node.value
    assert len(nodes) > 100


def test_there_is_a_board_for_each_part() -> None:
    assert [path.stem for path in DASHBOARDS] == ["hosts", "kafka", "latency", "overview", "spark-job"]


@pytest.mark.parametrize("path", DASHBOARDS, ids=name_of)
def test_every_panel_says_what_it_shows(path: Path) -> None:
    found = panels(path)

    assert len(found) > 10
    for panel in found:
        axis = panel["options"].get("yAxis", {}) if panel["type"] == "heatmap" else panel["fieldConfig"]["defaults"]
        assert panel["title"], path
        assert panel["description"].endswith("."), panel["title"]
        assert axis["unit"], panel["title"]
        assert panel.get("targets") or panel["type"] == "alertlist", panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}"


@pytest.mark.parametrize("path", DASHBOARDS, ids=name_of)
def test_lines_of_a_panel_are_named_below_it(path: Path) -> None:
    legends = [panel["options"]["legend"] for panel in panels(path) if panel["type"] == "timeseries"]

    assert legends
    assert all(legend["showLegend"] for legend in legends)


@pytest.mark.parametrize("path", DASHBOARDS, ids=name_of)
def test_titles_are_told_apart_within_a_row(path: Path) -> None:
    row, seen = "", Counter[tuple[str, str]]()
    for panel in dashboard(path)["panels"]:
        row = panel["title"] if panel["type"] == "row" else row
        for shown in (panel, *panel.get("panels", [])):
            seen[row, shown["title"]] += 1

    assert [title for title, times in seen.items() if times > 1] == []


@pytest.mark.parametrize("path", DASHBOARDS, ids=name_of)
def test_every_variable_is_one_of_the_board_and_is_used(path: Path) -> None:
    offered = {variable["name"] for variable in dashboard(path)["templating"]["list"]}

    used = {
        name for shown in (*queries(), *marks()) if shown.board == path.stem for name in VARIABLE.findall(shown.expr)
    }

    assert used - BUILT_IN == offered - {"datasource", "page"}
    assert any("${page}" in link.get("url", "") for link in dashboard(path)["links"])


@pytest.mark.parametrize("path", DASHBOARDS, ids=name_of)
def test_every_board_says_how_old_its_metrics_are(path: Path) -> None:
    assert "Latest metrics received" in [panel["title"] for panel in panels(path)[:2]]


def test_overview_shows_the_verdict_and_counts_no_hint_as_a_fault() -> None:
    (overview,) = (path for path in DASHBOARDS if path.stem == "overview")
    shown = {
        panel["title"]: (target["legendFormat"], target["expr"])
        for panel in panels(overview)
        for target in panel.get("targets", [])
    }

    assert shown["Phase, and verdict"] == ("{{phase}} {{outcome}}", 'market_spread_run_info{run_id="$run"}')
    assert 'verdict!="hint"' in shown["Alerts that fire"][1]


@pytest.mark.promtool
def test_queries_are_valid(tmp_path: Path) -> None:
    """Each as a recording rule, since promtool reads those without a server."""
    expressions = [VARIABLE.sub("1m", shown.expr) for shown in (*queries(), *marks())]
    named = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(expressions)]
    path = tmp_path / "queries.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": named}]}))

    checked = promtool("check", "rules", path)

    assert checked.returncode == 0, checked.stderr
    assert len(expressions) > 100


def test_queries_are_about_metrics_that_there_are() -> None:
    unknown = {metric: shown for shown in (*queries(), *marks()) for metric in metrics_in(shown.expr) - known_metrics()}

    assert unknown == {}


def test_every_metric_of_others_is_used() -> None:
    used = {metric for shown in queries() for metric in metrics_in(shown.expr)}
    used |= {metric for rule in rules() for metric in metrics_in(rule["expr"])}

    assert foreign_metrics() - used == set()


def evaluated(
    tmp_path: Path, samples: dict[str, str], expr: str, expected: dict[str, float], *, labels: str = "{}"
) -> "subprocess.CompletedProcess[str]":
    """promtool's test of a query over samples 5 s apart. expected: by the time, what it gives then."""
    tests = [
        {"expr": expr, "eval_time": at, "exp_samples": [{"labels": labels, "value": value}]}
        for at, value in expected.items()
    ]
    series = [{"series": name, "values": values} for name, values in samples.items()]
    path = tmp_path / "test.yaml"
    said = [{"interval": "5s", "input_series": series, "promql_expr_test": tests}]
    path.write_text(yaml.safe_dump({"evaluation_interval": "5s", "tests": said}))
    return promtool("test", "rules", path)


@pytest.mark.promtool
def test_a_burst_is_in_one_column_of_a_heat_map(tmp_path: Path) -> None:
    (expr,) = {shown.expr for shown in queries() if shown.panel == "Frames by delay"}
    column = expr.replace("$run", "r1").replace("$__interval", "5s")
    buckets = 'market_spread_sender_frame_delay_seconds_bucket{run_id="r1", le="0.1"}'
    samples = {buckets: "3 3 3 103 103 103 103"}
    exact = {"0s": 3.0, "5s": 0.0, "10s": 0.0, "15s": 100.0, "20s": 0.0, "25s": 0.0, "30s": 0.0}

    counted = evaluated(tmp_path, samples, column, exact, labels='{le="0.1"}')
    smeared = evaluated(tmp_path, samples, f"sum by (le) (increase({buckets}[20s]))", exact, labels='{le="0.1"}')

    assert counted.returncode == 0, counted.stderr
    assert smeared.returncode == 1


@pytest.mark.promtool
def test_a_run_is_looked_at_from_its_begin_to_its_end(tmp_path: Path) -> None:
    begin, end = (shown.expr for shown in queries() if shown.panel == "Runs of the last seven days")
    info = 'market_spread_run_info{run_id="r1", title="a", phase="%s"}'
    samples = {info % "offering": "_x12 1x12 stale", info % "ended": "_x24 1x12 stale"}
    of_run = '{run_id="r1", title="a"}'

    assert evaluated(tmp_path, samples, begin, {"1h": 60_000}, labels=of_run).returncode == 0
    assert evaluated(tmp_path, samples, end, {"1h": 180_000}, labels=of_run).returncode == 0


@pytest.mark.promtool
def test_a_boundary_is_marked_when_it_came(tmp_path: Path) -> None:
    (expr,) = {shown.expr for shown in marks() if shown.panel == "Batch boundaries"}
    marked = f"count({expr.replace('$run', 'r1')}) or vector(0)"
    samples = {
        'market_spread_job_batch_id{run_id="r1", source="job"}': "7 7 7 8 8 8 8",
        'market_spread_job_batch_id{run_id="r2", source="job"}': "1 2 3 4 5 6 7",
    }

    assert evaluated(tmp_path, samples, marked, {"10s": 0, "15s": 1, "25s": 0, "30s": 0}).returncode == 0
    assert evaluated(tmp_path, samples, marked, {"10s": 1}).returncode == 1


def test_quantiles_are_never_merged() -> None:
    quantiles = [
        shown
        for shown in queries()
        if any("_quantile_" in name for name in metrics_in(shown.expr)) or "quantile=" in shown.expr
    ]

    assert len(quantiles) > 10
    assert [shown for shown in quantiles if MERGING.search(shown.expr)] == []
