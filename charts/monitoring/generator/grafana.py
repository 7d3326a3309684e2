"""Boards as Grafana's JSON. Only this module knows the schema (version 1, which every Grafana since 10 loads)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from board import Board, Look, Panel, Query, Variable
from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import heatmap, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

TAG = "market-spread"
_SOURCE = common.DataSourceRef(type_val="prometheus", uid="${datasource}")
_STAT_HEIGHT, _HEIGHT = 5, 8
_ANY = "$__all"


def to_json(board: Board) -> str:
    """The dashboard as Grafana provisions it; the same board gives the same text."""
    built = (
        builders.Dashboard(board.title)
        .uid(f"{TAG}-{board.name}")
        .description(board.description)
        .tags([TAG])
        .timezone("browser")
        .time("now-15m", "now")
        .refresh("5s")
        .readonly()
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .link(_link_to_the_others())
        .with_variable(builders.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )
    for variable in board.variables:
        built.with_variable(_variable(variable))
    for row in board.rows:
        built.with_row(builders.Row(row.title))
        for panel in row.panels:
            built.with_panel(_panel(panel))
    return JSONEncoder(indent=2, sort_keys=True).encode(built.build()) + "\n"


def _link_to_the_others() -> builders.DashboardLink:
    return (
        builders.DashboardLink("Market Spread")
        .type(dashboard.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(True)
        .include_vars(True)
        .keep_time(True)
    )


def _variable(variable: Variable) -> builders.QueryVariable:
    built = (
        builders.QueryVariable(variable.name)
        .label(variable.label)
        .datasource(_SOURCE)
        .query(f"label_values({variable.metric}, {variable.of_label})")
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        # Run ids begin with the time, so the newest is the first.
        .sort(dashboard.VariableSort.ALPHABETICAL_DESC)
        .multi(variable.many)
        .include_all(variable.many)
    )
    if variable.many:
        built.all_value(".+").current(dashboard.VariableOption(text="All", value=_ANY, selected=True))
    return built


def _panel(panel: Panel) -> Builder[dashboard.Panel]:
    return _LOOKS[panel.look](panel)


def _begun(built: Any, panel: Panel, height: int) -> Any:
    """What every panel has; the SDK's builders have no common type."""
    return built.title(panel.title).description(panel.description).datasource(_SOURCE).span(panel.width).height(height)


def _series(panel: Panel) -> timeseries.Panel:
    built: timeseries.Panel = (
        _begun(timeseries.Panel(), panel, _HEIGHT)
        .unit(panel.unit)
        .min(0)
        .line_width(1)
        .show_points(common.VisibilityMode.NEVER)
        .legend(
            common_builders.VizLegendOptions()
            .display_mode(common.LegendDisplayMode.TABLE)
            .placement(common.LegendPlacement.BOTTOM)
            .calcs(["lastNotNull", "max"])
        )
        .tooltip(
            common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING)
        )
    )
    for query in _queries(panel):
        built.with_target(query)
    return built


def _stacked(panel: Panel) -> timeseries.Panel:
    stacking = common_builders.StackingConfig().mode(common.StackingMode.NORMAL).group("A")
    return _series(panel).stacking(stacking).fill_opacity(40)


def _stat(panel: Panel) -> stat.Panel:
    built: stat.Panel = (
        _begun(stat.Panel(), panel, _STAT_HEIGHT)
        .unit(panel.unit)
        .color_mode(common.BigValueColorMode.VALUE)
        .graph_mode(common.BigValueGraphMode.AREA)
        .reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]))
        .thresholds(_thresholds(panel.bad))
        .no_value("nothing yet")
    )
    for query in _queries(panel):
        built.with_target(query)
    return built


def _name(panel: Panel) -> stat.Panel:
    built = _stat(replace(panel, queries=()))
    for query in _queries(panel):
        built.with_target(query.instant())  # over a range there would be what has been, too
    return built.text_mode(common.BigValueTextMode.NAME).graph_mode(common.BigValueGraphMode.NONE)


def _heatmap(panel: Panel) -> heatmap.Panel:
    built: heatmap.Panel = (
        _begun(heatmap.Panel(), panel, _HEIGHT)
        # The buckets are the exposed ones, with exact counts; Grafana is to bin nothing.
        .calculate(False)
        .y_axis(heatmap.YAxisConfig().unit(panel.unit))
        # Cividis reads the same to people who see no difference between red and green.
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Cividis").steps(64))
        .filter_values(heatmap.FilterValueRange().le(1e-9))
        .tooltip(heatmap.HeatmapTooltip().mode(common.TooltipDisplayMode.SINGLE).y_histogram(True))
    )
    for query in _queries(panel):
        built.with_target(query.format(PromQueryFormat.HEATMAP))
    return built


def _alerts(panel: Panel) -> Builder[dashboard.Panel]:
    built: builders.Panel = (
        _begun(builders.Panel(), panel, _STAT_HEIGHT)
        .type("alertlist")
        .unit(panel.unit)
        .options(
            {
                "viewMode": "list",
                "groupMode": "default",
                "maxItems": 20,
                "sortOrder": 1,
                "datasource": "${datasource}",
                "alertInstanceLabelFilter": '{alertname=~"MarketSpread.+"}',
                "stateFilter": {"firing": True, "pending": True, "noData": False, "normal": False, "error": True},
            }
        )
    )
    return built


_LOOKS: dict[Look, Callable[[Panel], Builder[dashboard.Panel]]] = {
    Look.SERIES: _series,
    Look.STACKED: _stacked,
    Look.STAT: _stat,
    Look.NAME: _name,
    Look.HEATMAP: _heatmap,
    Look.ALERTS: _alerts,
}


def _queries(panel: Panel) -> list[prometheus.Dataquery]:
    return [_query(query, chr(ord("A") + number)) for number, query in enumerate(panel.queries)]


def _query(query: Query, ref_id: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(query.expr).legend_format(query.legend).ref_id(ref_id).datasource(_SOURCE)


def _thresholds(bad: float | None) -> builders.ThresholdsConfig:
    steps = [dashboard.Threshold(value=None, color="blue" if bad is None else "green")]
    if bad is not None:
        steps.append(dashboard.Threshold(value=bad, color="red"))
    return builders.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(steps)
