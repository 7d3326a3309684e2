"""Boards as plain values: what is shown, without Grafana's way to say it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import yaml


class Look(Enum):
    """How a panel draws its queries."""

    SERIES = "series"
    STACKED = "stacked"
    STAT = "stat"
    NAME = "name"
    HEATMAP = "heatmap"
    ALERTS = "alerts"


# Of the 24 columns of a board.
_WIDTHS = {Look.STAT: 4, Look.NAME: 4, Look.ALERTS: 8}
_UNITS = {Look.NAME: "none", Look.HEATMAP: "s", Look.ALERTS: "short"}


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression; the legend may use labels, such as `{{source}}`."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel. unit: one of Grafana's; width: of the 24 columns of a board; bad: from this value on a stat is red."""

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    look: Look
    width: int
    bad: float | None


@dataclass(frozen=True, slots=True)
class BoardRow:
    """Panels under a heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """What the user picks at the top: the values of a label of a metric; many: all of them unless told otherwise."""

    name: str
    label: str
    metric: str
    of_label: str
    many: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard. name: of its file; each query may use its variables, `$name`, and Grafana's own."""

    name: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[BoardRow, ...]


def read_board(path: Path) -> Board:
    """The board of a file in `boards/`. KeyError, TypeError or ValueError if it does not say what a board needs.

    A panel is its look and title, `description`, `unit`, `width`, `bad`, and `query`, or `queries` by their legends.
    """
    said = yaml.safe_load(path.read_text())
    variables = tuple(Variable(**variable) for variable in said["variables"])
    rows = tuple(BoardRow(title, tuple(map(_panel, panels))) for title, panels in said["rows"].items())
    return Board(path.stem, said["title"], said["description"], variables, rows)


def _panel(said: Mapping[str, Any]) -> Panel:
    name, title = next(iter(said.items()))
    look, rest = Look(name), {key: value for key, value in said.items() if key != name}
    queries = {"": rest.pop("query")} if "query" in rest else rest.pop("queries", {})
    given = {"unit": _UNITS.get(look), "width": _WIDTHS.get(look, 12), "bad": None, **rest}
    return Panel(
        title=title, look=look, queries=tuple(Query(expr, legend) for legend, expr in queries.items()), **given
    )
