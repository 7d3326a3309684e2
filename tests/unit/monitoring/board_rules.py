"""What is asked of every board: the rules of Grafana's dashboard-linter that apply to ours, and some of our own.

The linter (github.com/grafana/dashboard-linter) asks for templates of job and instance; here a run takes their place,
and instance where a metric is not ours. Each rule gives a sentence for each place that breaks it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.unit.monitoring.monitoring_fixtures import panels_of

Board = Mapping[str, Any]
Rule = Callable[[Board], Iterator[str]]

_SOURCE = "${datasource}"
_RATED = re.compile(r"\b(?:rate|increase|irate)\(([^()\[\]]*)\[([^\]]*)\]")
_OURS = re.compile(r"\bmarket_spread_(?!aggregator_|build_info|host_tuner)\w+(\{[^}]*\})?")
_OTHERS = re.compile(r"\b(?:kafka|jvm|metrics|node|process)_\w+(\{[^}]*\})?")
# By design of every run: which there are, and what they are compared with.
_OF_EVERY_RUN = re.compile(r"\bmarket_spread_(?:limit_\w+|run_info)\b")
_COUNTER = re.compile(r"_(?:total|count|sum|bucket)\b")
# Looks whose points are instants; the others are lines over time.
_INSTANTS = {"stat", "table", "alertlist"}


def _variables(board: Board) -> Mapping[str, Any]:
    return {variable["name"]: variable for variable in board["templating"]["list"]}


def _targets(board: Board) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for panel in panels_of(board):
        for target in panel.get("targets", []):
            yield panel, target


def the_data_source_is_picked_first(board: Board) -> Iterator[str]:
    """The linter's template-datasource-rule: imported elsewhere, a fixed one would not be found."""
    first = board["templating"]["list"][0]
    if (first["type"], first["name"], first["query"]) != ("datasource", "datasource", "prometheus"):
        yield f"the first variable is {first['name']!r}"


def panels_use_the_data_source_that_is_picked(board: Board) -> Iterator[str]:
    """panel-datasource-rule, of targets, variables and annotations as well."""
    for panel, target in _targets(board):
        if not panel["datasource"]["uid"] == target["datasource"]["uid"] == _SOURCE:
            yield f"{panel['title']}: another data source"
    for each in (*board["annotations"]["list"], *_variables(board).values()):
        if each.get("type") not in ("datasource", "textbox") and each["datasource"]["uid"] != _SOURCE:
            yield f"{each['name']}: another data source"


def variables_follow_the_range(board: Board) -> Iterator[str]:
    """template-on-time-change-reload-rule: else the runs of another day could not be picked."""
    for name, variable in _variables(board).items():
        if variable["type"] == "query" and (variable["refresh"] != 2 or "label_values(" not in variable["query"]):
            yield f"{name}: its values are not those of the range"


def panels_have_title_and_description(board: Board) -> Iterator[str]:
    """panel-title-description-rule."""
    for panel in panels_of(board):
        if not panel["title"] or not panel["description"].endswith("."):
            yield f"{panel['title'] or panel['gridPos']}: no title, or no sentence that describes it"


def panels_have_a_unit(board: Board) -> Iterator[str]:
    """panel-units-rule."""
    for panel in panels_of(board):
        axis = panel["options"].get("yAxis", {}) if panel["type"] == "heatmap" else panel["fieldConfig"]["defaults"]
        if not axis.get("unit"):
            yield f"{panel['title']}: no unit"


def panels_have_queries(board: Board) -> Iterator[str]:
    """panel-no-targets-rule."""
    for panel in panels_of(board):
        if panel["type"] != "alertlist" and not panel.get("targets"):
            yield f"{panel['title']}: no query"


def lines_have_legends(board: Board) -> Iterator[str]:
    """Of ours: a legend made of all labels is longer than the panel is wide."""
    for panel, target in _targets(board):
        if panel["type"] not in _INSTANTS and not target["legendFormat"]:
            yield f"{panel['title']}: a query without a legend"


def targets_have_a_least_step(board: Board) -> Iterator[str]:
    """Of ours: by Grafana's default of 15 s a rate would be over a minute, all of a short run."""
    for panel, target in _targets(board):
        if target.get("interval") != "5s":
            yield f"{panel['title']}: no least step"


def rates_are_over_the_interval_of_rates(board: Board) -> Iterator[str]:
    """target-rate-interval-rule."""
    for panel, target in _targets(board):
        if any(found[2] != "$__rate_interval" for found in _RATED.finditer(target["expr"])):
            yield f"{panel['title']}: a rate over a time of its own"


def rates_are_of_counters(board: Board) -> Iterator[str]:
    """target-counter-agg-rule, the other way round: the rate of a gauge means nothing."""
    gauges = ("node_context_switches", "node_intr", "node_vmstat", "node_netstat")
    for panel, target in _targets(board):
        for found in _RATED.finditer(target["expr"]):
            if not _COUNTER.search(found[1]) and not found[1].startswith(gauges):
                yield f"{panel['title']}: the rate of {found[1]}"


def queries_are_of_the_run_or_instance(board: Board) -> Iterator[str]:
    """target-job-rule and target-instance-rule: a board of one run shows nothing of another one."""
    instance = "instance" in _variables(board)
    for panel, target in _targets(board):
        for found in _OURS.finditer(target["expr"]):
            if 'run_id="$run"' not in (found[1] or "") and not _OF_EVERY_RUN.match(found[0]):
                yield f"{panel['title']}: {found[0]} of all runs"
        for found in _OTHERS.finditer(target["expr"]) if instance else ():
            if 'instance=~"$instance"' not in (found[1] or ""):
                yield f"{panel['title']}: {found[0]} of all instances"


def heat_maps_do_not_smear(board: Board) -> Iterator[str]:
    """Of ours: a column holds what came in its step, and nothing of the step before."""
    for panel, target in _targets(board):
        if panel["type"] == "heatmap" and ("[" in target["expr"] or "offset $__interval" not in target["expr"]):
            yield f"{panel['title']}: its columns overlap"


def what_happened_is_marked(board: Board) -> Iterator[str]:
    """Of ours: phases, boundaries, restarts, planned faults, failed checks and alerts, on every board."""
    named = {each["name"] for each in board["annotations"]["list"] if each["enable"] and each["step"] == "5s"}
    for name in ("Phases", "Batch boundaries", "Restarts", "Planned faults", "Failed checks", "Alerts"):
        if name not in named:
            yield f"no marks of {name}"


def it_leads_to_the_metrics_page(board: Board) -> Iterator[str]:
    """Of ours: what a board cannot say, why the slowest orders were slow, is one click away."""
    if not any("${page}/#/overview?run=${run}" in link.get("url", "") for link in board["links"]):
        yield "no link to the metrics page"


def it_opens_with_what_fits_a_screen(board: Board) -> Iterator[str]:
    """Of ours: of more than two rows those below are folded, with their panels in them."""
    rows = [panel for panel in board["panels"] if panel["type"] == "row"]
    for number, row in enumerate(rows):
        if row["collapsed"] != (number >= 2) or row["collapsed"] != bool(row["panels"]):
            yield f"{row['title']}: open or folded, where it should not be"


def it_cannot_be_edited(board: Board) -> Iterator[str]:
    """uneditable-dashboard: what is generated is changed at its source."""
    if board["editable"]:
        yield "it may be edited"


RULES: tuple[Rule, ...] = (
    the_data_source_is_picked_first,
    panels_use_the_data_source_that_is_picked,
    variables_follow_the_range,
    panels_have_title_and_description,
    panels_have_a_unit,
    panels_have_queries,
    lines_have_legends,
    targets_have_a_least_step,
    rates_are_over_the_interval_of_rates,
    rates_are_of_counters,
    queries_are_of_the_run_or_instance,
    heat_maps_do_not_smear,
    what_happened_is_marked,
    it_leads_to_the_metrics_page,
    it_opens_with_what_fits_a_screen,
    it_cannot_be_edited,
)
