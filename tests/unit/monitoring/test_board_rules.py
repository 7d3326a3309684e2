"""Every board holds every rule, and each rule finds the board that breaks it and no other rule blames."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.monitoring import board_rules
from tests.unit.monitoring.board_rules import RULES, Board, Rule
from tests.unit.monitoring.monitoring_fixtures import DASHBOARDS, dashboard, panels_of

(OVERVIEW,) = (path for path in DASHBOARDS if path.stem == "overview")

Fault = Callable[[dict[str, Any]], None]


def broken(board: Board) -> dict[str, list[str]]:
    """The rules that the board breaks, with where."""
    found = {rule.__name__: list(rule(board)) for rule in RULES}
    return {name: places for name, places in found.items() if places}


def panel_of(board: Board, title: str) -> dict[str, Any]:
    return next(panel for panel in panels_of(board) if panel["title"] == title)


def with_query(title: str, expr: str) -> Fault:
    return lambda board: panel_of(board, title)["targets"][0].update(expr=expr)


def without(title: str, key: str) -> Fault:
    return lambda board: panel_of(board, title).update({key: ""})


FAULTS: dict[Rule, Fault] = {
    board_rules.the_data_source_is_picked_first: lambda board: board["templating"]["list"].reverse(),
    board_rules.panels_use_the_data_source_that_is_picked: (
        lambda board: board["annotations"]["list"][0].update(datasource={"type": "prometheus", "uid": "P1"})
    ),
    board_rules.variables_follow_the_range: lambda board: board["templating"]["list"][-1].update(refresh=1),
    board_rules.panels_have_title_and_description: without("Sent", "description"),
    board_rules.panels_have_a_unit: lambda board: panel_of(board, "Sent")["fieldConfig"]["defaults"].pop("unit"),
    board_rules.panels_have_queries: lambda board: panel_of(board, "Sent").update(targets=[]),
    board_rules.lines_have_legends: lambda board: panel_of(board, "Time to scrape")["targets"][0].update(
        legendFormat=""
    ),
    board_rules.targets_have_a_least_step: lambda board: panel_of(board, "Sent")["targets"][0].pop("interval"),
    board_rules.rates_are_over_the_interval_of_rates: with_query(
        "Sent", 'sum(rate(market_spread_sender_messages_sent_total{run_id="$run"}[1m]))'
    ),
    board_rules.rates_are_of_counters: with_query(
        "Sent", 'rate(market_spread_process_memory_bytes{run_id="$run"}[$__rate_interval])'
    ),
    board_rules.queries_are_of_the_run_or_instance: with_query("Lag", "sum(market_spread_sender_messages_sent_total)"),
    board_rules.heat_maps_do_not_smear: with_query(
        "Alerts by latency",
        'increase(market_spread_receiver_end_to_end_seconds_bucket{run_id="$run"}[$__rate_interval])',
    ),
    board_rules.what_happened_is_marked: lambda board: board["annotations"]["list"].pop(),
    board_rules.it_leads_to_the_metrics_page: lambda board: board["links"].pop(),
    board_rules.it_opens_with_what_fits_a_screen: lambda board: next(
        panel for panel in board["panels"] if panel["type"] == "row"
    ).update(collapsed=True),
    board_rules.it_cannot_be_edited: lambda board: board.update(editable=True),
}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_board_holds_every_rule(path: Path) -> None:
    assert broken(dashboard(path)) == {}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_each_rule_finds_what_breaks_it_and_no_other_does(rule: Rule) -> None:
    board = dashboard(OVERVIEW)

    FAULTS[rule](board)

    assert list(broken(board)) == [rule.__name__]
