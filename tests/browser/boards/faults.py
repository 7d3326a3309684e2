"""What is wrong with how a board was drawn: each panel's look against what Prometheus itself answers to its queries."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from tests.browser.boards.drawing import Drawn
from tests.browser.boards.recording import INTERVAL_S, Recorded
from tests.unit.monitoring.monitoring_fixtures import panels_of

Panel = Mapping[str, Any]
Look = Mapping[str, Any]
Series = list[dict[str, Any]]

# How Grafana writes a value of each unit that a board has.
_NUMBER = r"-?[\d.]+"
_UNITS = {
    "s": rf"{_NUMBER} (?:ns|µs|ms|s|mins?|hours?|days?)",
    "percentunit": rf"{_NUMBER}%",
    "bytes": rf"{_NUMBER} (?:B|KiB|MiB|GiB)",
    "Bps": rf"{_NUMBER} (?:B|kB|MB|GB)/s",
    "cps": rf"{_NUMBER}[KM]? c/s",
    "mps": rf"{_NUMBER}[KM]? msg/s",
    "reqps": rf"{_NUMBER}[KM]? req/s",
    "suffix:cores": rf"{_NUMBER}[KM]? cores",
    "short": rf"{_NUMBER}(?: ?(?:K|Mil|Bil))?",
    "none": _NUMBER,
}
_DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def faults(board: Mapping[str, Any], drawn: Drawn, recorded: Recorded) -> Iterator[str]:
    """A sentence for each; none where every panel shows what it says."""
    yield from drawn.complaints
    panels = panels_of(board)
    titles = [look["title"] for look in drawn.looks]
    if titles != [panel["title"] for panel in panels]:
        yield f"drawn are {titles}"
        return
    for panel, look in zip(panels, drawn.looks, strict=True):
        yield from (f"{panel['title']}: {fault}" for fault in _faults_of(panel, look, recorded))


def _faults_of(panel: Panel, look: Look, recorded: Recorded) -> Iterator[str]:
    yield from look["errors"]
    if look["errors"]:
        return
    yield from (f"says {text!r}" for text in look["nothing"])
    answers = [(target, _answer(target, recorded)) for target in panel.get("targets", [])]
    yield from (f"has no series for {target['expr']}" for target, series in answers if not series)
    match panel["type"]:
        case "timeseries":
            yield from _faults_of_lines(panel, look, answers)
        case "stat":
            yield from _faults_of_figures(panel, look, answers)
        case "heatmap":
            yield from _faults_of_heat(look, answers[0][1])
        case "table":
            yield from _faults_of_rows(look, answers[0][1])
        case "alertlist":
            yield from _faults_of_alerts(panel, look, recorded)
        case other:
            yield f"is a {other}, which nobody looks at"


def _faults_of_lines(panel: Panel, look: Look, answers: list[tuple[Any, Series]]) -> Iterator[str]:
    names = sorted(row[1] for row in look["legend"])
    expected = sorted(_legend(target, series) for target, found in answers for series in found)
    if names != expected:
        yield f"has the lines {names} instead of {expected}"
    if sum(look["ink"]) == 0:
        yield "has no line"
    yield from _wrong_units(panel, [value for row in look["legend"] for value in row[2:]])


def _faults_of_figures(panel: Panel, look: Look, answers: list[tuple[Any, Series]]) -> Iterator[str]:
    named = [_legend(target, series) for target, found in answers for series in found]
    if len(look["figures"]) != len(named):
        yield f"has {len(look['figures'])} figures instead of {len(named)}"
    if panel["options"]["textMode"] == "name":
        if sorted(look["figures"]) != sorted(named):
            yield f"says {look['figures']} instead of {named}"
    else:
        # With several, each has its name above it. The unit is in letters of its own size, with no space between.
        yield from _wrong_units(panel, [figure.rpartition("\n")[2] for figure in look["figures"]], spaced=False)


def _faults_of_heat(look: Look, answer: Series) -> Iterator[str]:
    expected = {"columns": len({at for series in answer for at, _ in series["values"]}), "most": _most(answer)}
    if look["heat"] != expected:
        yield f"has {look['heat']} instead of {expected}"
    if sum(look["ink"]) == 0:
        yield "has no cell"


def _faults_of_rows(look: Look, answer: Series) -> Iterator[str]:
    header, *rows = look["cells"] or [[]]
    if header != ["run_id", "title", "begin", "end"]:
        yield f"has the columns {header}"
    if [row[:2] for row in rows] != [[each["metric"]["run_id"], each["metric"]["title"]] for each in answer]:
        yield f"has the rows {rows}"
    yield from (f"has {text!r} as time" for row in rows for text in row[2:] if not _DATE.fullmatch(text))


def _faults_of_alerts(panel: Panel, look: Look, recorded: Recorded) -> Iterator[str]:
    expr = f"ALERTS{panel['options']['alertInstanceLabelFilter']}"
    found = _answer({"expr": expr, "instant": True}, recorded)
    expected = sorted(f"{each['metric']['alertname']} {each['metric']['alertstate']}" for each in found)
    if sorted(look["alerts"]) != expected:
        yield f"lists {look['alerts']} instead of {expected}"


def _wrong_units(panel: Panel, values: list[str], *, spaced: bool = True) -> Iterator[str]:
    unit = panel["fieldConfig"]["defaults"]["unit"]
    if unit not in _UNITS:
        yield f"has the unit {unit}, which Grafana does not know"
        return
    form = re.compile(_UNITS[unit] if spaced else _UNITS[unit].replace(" ", r"\s?"))
    yield from (f"has {value!r}, not in {unit}" for value in values if not form.fullmatch(value))


def _answer(target: Mapping[str, Any], recorded: Recorded) -> Series:
    """What Prometheus answers to a query, at the times at which a panel asks."""
    values = {"run": recorded.run, "instance": ".+", "topic": ".+", "__rate_interval": "20s", "__interval": "5s"}
    expr = re.sub(r"\$(\w+)", lambda found: values[found[1]], target["expr"])
    end = recorded.end // INTERVAL_S * INTERVAL_S
    path, times = (
        ("query", {"time": recorded.end})
        if target.get("instant")
        else ("query_range", {"start": recorded.begin // INTERVAL_S * INTERVAL_S, "end": end, "step": INTERVAL_S})
    )
    answer = httpx.get(f"{recorded.url}/api/v1/{path}", params={"query": expr, **times}, timeout=30).json()
    assert answer["status"] == "success", f"{expr}: {answer.get('error')}"
    series: Series = answer["data"]["result"]
    return series


def _legend(target: Mapping[str, Any], series: Mapping[str, Any]) -> str:
    """The name of a line; of figures too, where a board names none a query."""
    said = target["legendFormat"]
    if not said:
        return ""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: series["metric"].get(found[1], ""), said).strip()


def _most(answer: Series) -> float:
    """The largest count of a bucket alone in a column; Prometheus has those of all below in it."""
    ordered = sorted(answer, key=lambda series: float(series["metric"]["le"]))
    counts = [{at: float(value) for at, value in series["values"]} for series in ordered]
    alone = [
        count - (below.get(at, 0.0) if below is not None else 0.0)
        for below, bucket in zip([None, *counts], counts, strict=False)
        for at, count in bucket.items()
    ]
    return max(alone)
