"""Boards as Grafana's JSON: what the files in `boards/` say, in the forms of `grafana.yaml`, each panel in its place.

A board has a title, a description, variables that the user picks at the top (the values of a label of a metric; many:
all of them unless told otherwise), and rows of panels by their headings. A panel is its look and title, `description`,
`unit` (one of Grafana's), `width` (of the 24 columns), `bad` (from this value on a stat is red), and `query`, or
`queries` by their legends, which may use labels, such as `{{source}}`. That of a heat map names the buckets.

`make generated` writes the dashboards of all boards by it; with a folder, they go there instead.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

_FORMS = yaml.safe_load(Path(__file__).with_name("grafana.yaml").read_text("utf-8"))
_COLUMNS = 24
# From so many columns on there is room for a legend beside the lines; below them it shows three of its lines.
_WIDE = 12
_KEYS = {"description", "unit", "width", "bad", "query", "queries"}
# Rows at the top that are open; the others are folded, so that a board opens with one screen.
_OPEN_ROWS = 2


def to_json(board: Path) -> str:
    """The dashboard of a file, for Grafana. KeyError or ValueError if the file does not say what a board needs."""
    said = yaml.safe_load(board.read_text("utf-8"))
    filled = _filled(
        _FORMS["dashboard"], uid=f"market-spread-{board.stem}", title=said["title"], description=said["description"],
        panels=list(_panels(said["rows"])),
        variables=[*(_FORMS["variables"][name] for name in ("source", "page")), *map(_variable, said["variables"])],
    )  # fmt: skip
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


def _variable(said: Mapping[str, Any]) -> Any:
    query = f"label_values({said['metric']}, {said['of_label']})"
    form = _FORMS["variables"]["many" if said.get("many") else "one"]
    return _filled(form, name=said["name"], label=said["label"], query=query)


def _panels(rows: Mapping[str, Any]) -> Iterator[Any]:
    """Headings and panels, from left to right, in as many lines as their widths take."""
    top = 0
    for number, (title, panels) in enumerate(rows.items()):
        x, y, line_height, placed, folded = 0, top + 1, 0, list[Any](), number >= _OPEN_ROWS
        for said in panels:
            look = next(iter(said))
            panel = {**_FORMS["looks"]["usual"], **_FORMS["looks"].get(look, {}), **said}
            width, height = panel["width"], panel["height"]
            if x + width > _COLUMNS:
                x, y, line_height = 0, y + line_height, 0
            if unknown := said.keys() - {look} - _KEYS:
                raise ValueError(f"the panel {said[look]!r} says {', '.join(sorted(unknown))}; leave it out")
            placed.append(_panel(look, panel, {"x": x, "y": y, "w": width, "h": height}))
            x, line_height = x + width, max(line_height, height)
        inside, beside = (placed, []) if folded else ([], placed)
        place = {"x": 0, "y": top, "w": _COLUMNS, "h": 1}
        yield from (_filled(_FORMS["row"], title=title, place=place, folded=folded, panels=inside), *beside)
        top = top + 1 if folded else y + line_height


def _panel(look: str, said: Mapping[str, Any], place: Mapping[str, int]) -> Any:
    bad = [{"color": "red", "value": said["bad"]}] if "bad" in said else []
    queries = {"": said["query"]} if "query" in said else said.get("queries", {})
    form, through = _FORMS["queries"].get(look, _FORMS["query"]), _FORMS["expressions"].get(look, "$said")
    return _filled(
        _FORMS["panels"][look],
        title=said[look],
        description=said["description"],
        unit=said["unit"],
        place=place,
        legend="right" if said["width"] >= _WIDE else "bottom",
        targets=[
            _filled(form, expr=through.replace("$said", expr), legend=legend, ref_id=chr(ord("A") + number))
            for number, (legend, expr) in enumerate(queries.items())
        ],
        steps=[{"color": "green" if bad else "blue", "value": None}, *bad],
    )


if __name__ == "__main__":
    into = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "dashboards"
    into.mkdir(parents=True, exist_ok=True)
    for board in sorted(Path(__file__).with_name("boards").glob("*.yaml")):
        (into / f"{board.stem}.json").write_text(to_json(board), "utf-8")
