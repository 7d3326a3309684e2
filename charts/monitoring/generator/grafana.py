"""Boards as Grafana's JSON: the forms of `grafana.yaml`, filled in, and panels in their places."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from board import Board, Look, Panel, Query, Variable

_FORMS = yaml.safe_load(Path(__file__).with_name("grafana.yaml").read_text())
_COLUMNS = 24
_STAT_HEIGHT, _HEIGHT = 5, 8


def to_json(board: Board) -> str:
    """The dashboard as Grafana provisions it; the same board gives the same text."""
    filled = _filled(
        _FORMS["dashboard"],
        uid=f"market-spread-{board.name}",
        title=board.title,
        description=board.description,
        panels=list(_panels(board)),
        variables=[_FORMS["variables"]["source"], *map(_variable, board.variables)],
    )
    return json.dumps(filled, indent=2, sort_keys=True) + "\n"


def _filled(form: Any, **values: object) -> Any:
    """The form with the values in the places of their names, `$name`."""
    match form:
        case dict():
            return {key: _filled(part, **values) for key, part in form.items()}
        case list():
            return [_filled(part, **values) for part in form]
        case str() if form[:1] == "$" and form[1:] in values:
            return values[form[1:]]
        case _:
            return form


def _variable(variable: Variable) -> Any:
    query = f"label_values({variable.metric}, {variable.of_label})"
    form = _FORMS["variables"]["many" if variable.many else "one"]
    return _filled(form, name=variable.name, label=variable.label, query=query)


def _panels(board: Board) -> Iterator[Any]:
    """Headings and panels, from left to right, in as many lines as their widths take."""
    y = 0
    for row in board.rows:
        yield _filled(_FORMS["row"], title=row.title, place=_place(0, y, _COLUMNS, 1))
        x, y, line_height = 0, y + 1, 0
        for panel in row.panels:
            height = _STAT_HEIGHT if panel.look in (Look.STAT, Look.NAME, Look.ALERTS) else _HEIGHT
            if x + panel.width > _COLUMNS:
                x, y, line_height = 0, y + line_height, 0
            yield _panel(panel, _place(x, y, panel.width, height))
            x, line_height = x + panel.width, max(line_height, height)
        y += line_height


def _place(x: int, y: int, width: int, height: int) -> Mapping[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(panel: Panel, place: Mapping[str, int]) -> Any:
    bad = [] if panel.bad is None else [{"color": "red", "value": panel.bad}]
    return _filled(
        _FORMS["panels"][panel.look.value],
        title=panel.title,
        description=panel.description,
        unit=panel.unit,
        place=place,
        targets=[_target(panel.look, number, query) for number, query in enumerate(panel.queries)],
        steps=[{"color": "green" if bad else "blue", "value": None}, *bad],
    )


def _target(look: Look, number: int, query: Query) -> Any:
    form = _FORMS["queries"].get(look.value, _FORMS["query"])
    return _filled(form, expr=query.expr, legend=query.legend, ref_id=chr(ord("A") + number))
