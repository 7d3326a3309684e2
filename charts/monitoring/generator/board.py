"""Boards as plain values: what is shown, without Grafana's way to say it."""

from dataclasses import dataclass
from enum import Enum


class Look(Enum):
    """How a panel draws its queries."""

    SERIES = "series"
    STACKED = "stacked"
    STAT = "stat"
    NAME = "name"
    HEATMAP = "heatmap"
    ALERTS = "alerts"


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
    look: Look = Look.SERIES
    width: int = 12
    bad: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
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
    rows: tuple[Row, ...]


RUN = Variable("run", "Run", "market_spread_run_info", "run_id")


def series(title: str, description: str, unit: str, *queries: Query, width: int = 12) -> Panel:
    """Lines over time."""
    return Panel(title, description, unit, queries, Look.SERIES, width)


def stacked(title: str, description: str, unit: str, *queries: Query, width: int = 12) -> Panel:
    """Areas over time that add up."""
    return Panel(title, description, unit, queries, Look.STACKED, width)


def stat(title: str, description: str, unit: str, *queries: Query, width: int = 4, bad: float | None = None) -> Panel:
    """The newest value, large."""
    return Panel(title, description, unit, queries, Look.STAT, width, bad)


def name(title: str, description: str, query: Query, *, width: int = 4) -> Panel:
    """The legend of what there is now, large: for metrics whose labels say something."""
    return Panel(title, description, "none", (query,), Look.NAME, width)


def heatmap(title: str, description: str, expr: str, *, width: int = 12) -> Panel:
    """Counts by bucket over time; the expression keeps the label `le`."""
    return Panel(title, description, "s", (Query(expr, "{{le}}"),), Look.HEATMAP, width)


def alert_list(title: str, description: str, *, width: int = 8) -> Panel:
    """The alerts that fire or are about to."""
    return Panel(title, description, "short", (), Look.ALERTS, width)


def buckets(histogram: str, matchers: str) -> str:
    """How many values each bucket of a histogram got."""
    return f"sum by (le) (increase({histogram}_bucket{{{matchers}}}[$__rate_interval]))"
