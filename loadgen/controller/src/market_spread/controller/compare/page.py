"""A comparison in words, tables and a picture; and as JSON, for programs."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from market_spread.common.words import counted
from market_spread.controller.compare.comparison import Comparison, Contrast, Direction, Judged, void_counts
from market_spread.controller.compare.figures import PERCENTILES, Figure
from market_spread.controller.compare.groups import Group, differences_of, warnings_of
from market_spread.controller.statistics.inference import ConfidenceInterval
from market_spread.controller.views.charts import COLOURS, Axis, Chart, linear_axis
from market_spread.controller.views.output import ERROR, FAILURE, Case, Page, Picture, Sentences, Table, junit_xml

SCHEMA_VERSION = 2
_REASONS_MAX = 5
_SERIES = {
    "latency_ns": "latency",
    "latency_between_boundaries_ns": "between boundaries",
    "service_time_ns": "service time",
}


def comparison_page(comparison: Comparison) -> Page:
    """All that there is to say of it, the most important first."""
    marks = _marks(comparison.groups)
    parts: list[Table | Sentences | Picture] = [Sentences(marks)] if marks else []
    for contrast in comparison.contrasts:
        head = ("figure", "verdict", contrast.first.name, contrast.other.name, "shift", "95% interval", "above", "p")
        parts.append(Table("", head, tuple(_figure_row(judged) for judged in contrast.judged), text_columns=2))
        parts.append(Sentences(_notes(contrast)))
        if picture := shift_picture(contrast):
            parts.append(picture)
    if differences := differences_of(comparison.groups):
        names = ("", *(group.name for group in comparison.groups))
        rows = tuple((name, *map(_fact, each)) for name, each in differences.items())
        parts.append(Table("What the runs were made with, where it differs", names, rows, text_columns=len(names)))
    else:
        parts.append(Sentences(("the manifests of all runs say the same",)))
    if warnings := warnings_of(comparison.groups):
        parts.append(Sentences(warnings))
    verdict = "void" if comparison.is_forced else comparison.change.value
    return Page(verdict, "; ".join(_headline(contrast) for contrast in comparison.contrasts), tuple(parts))


def comparison_json(comparison: Comparison) -> str:
    """The document, versioned by `schema_version`. Values have the units of the result's fields, shifts are shares."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "exit_status": comparison.exit_status,
        "forced": comparison.is_forced,
        "groups": [
            {
                "name": group.name,
                "runs": [run.run_id for run in group.runs],
                "left_out": [run.run_id for run in group.left_out],
                "unreadable": list(group.unreadable),
                "void": void_counts(group)[0],
            }
            for group in comparison.groups
        ],
        "contrasts": [
            {
                "first": contrast.first.name,
                "other": contrast.other.name,
                "pairs": contrast.pairs,
                "obstacle": contrast.obstacle,
                "verdict": contrast.change.value,
                "figures": [_figure_json(judged) for judged in contrast.judged],
            }
            for contrast in comparison.contrasts
        ],
        "differences": differences_of(comparison.groups),
        "warnings": list(warnings_of(comparison.groups)),
    }
    return json.dumps(document, indent=2) + "\n"


def comparison_junit(comparison: Comparison) -> str:
    """A case for each figure; in a comparison that was forced, an error more: nothing in it counts."""
    ends = {Direction.WORSE: FAILURE, Direction.UNDECIDED: ERROR}
    cases = [
        Case(f"{contrast.other.name} against {contrast.first.name}", judged.figure.path, _sentence(judged), ended)
        for contrast in comparison.contrasts
        for judged in contrast.judged
        for ended in [ends.get(judged.change)]
    ]
    marked = FAILURE if comparison.exit_status == 1 else ERROR
    forced = [Case("runs", "believable", _marks(comparison.groups)[0], marked)] if comparison.is_forced else []
    return junit_xml("market-spread.compare", [*forced, *cases])


def _sentence(judged: Judged) -> str:
    title, change, *values, shift, interval, _, p = _figure_row(judged)
    reason = judged.note and f": {judged.note}"
    return f"{title}: {' -> '.join(values)}, shift {shift} ({interval}), p {p}, {change}{reason}"


def _figure_json(judged: Judged) -> dict[str, Any]:
    values = asdict(judged)
    figure, change = judged.figure, values.pop("change")
    return {**values, "figure": figure.path, "verdict": change.value, "least_share": figure.least_share}


def _headline(contrast: Contrast) -> str:
    counts = Counter(judged.change for judged in contrast.judged)
    told = ", ".join(f"{counts[change]} {change.value}" for change in Direction if counts[change])
    runs = f"{len(contrast.other.runs)} against {counted(len(contrast.first.runs), 'run')}"
    if contrast.pairs is not None:
        runs = counted(contrast.pairs, "pair")
    return f"{contrast.other.name} against {contrast.first.name}: {told or 'no figure to compare'} ({runs})"


def _marks(groups: Sequence[Group]) -> tuple[str, ...]:
    """What was let in by force, and what was left out."""
    marks = []
    for group in groups:
        for run in group.unbelievable[:_REASONS_MAX]:
            what, reasons = ("VOID", run.void_reasons) if run.is_void else ("WRONG ALERTS", run.wrong_reasons)
            forced = f"{run.run_id} of {group.name} takes part by force, so nothing here counts: {reasons[0]}"
            marks.append(f"{what}: {forced}")
        if len(group.unbelievable) > _REASONS_MAX:
            marks.append(f"and {counted(len(group.unbelievable) - _REASONS_MAX, 'run')} more of {group.name}")
        if group.left_out:
            first = f"the first is {group.left_out[0].run_id}: {group.left_out[0].void_reasons[0]}"
            marks.append(f"left out: {counted(len(group.left_out), 'void run')} of {group.name}; {first}")
        marks += [f"left out of {group.name}: {sentence}" for sentence in group.unreadable]
    return tuple(marks)


def _figure_row(judged: Judged) -> tuple[str, ...]:
    figure = judged.figure
    shift, p = judged.shift, judged.corrected_p
    return (
        figure.title_in_unit,
        judged.change.value,
        _values(figure, judged.before),
        _values(figure, judged.after),
        "-" if shift is None else signed_percent(shift.estimate),
        "-"
        if shift is None or shift.low is None or shift.high is None
        else f"{signed_percent(shift.low)} to {signed_percent(shift.high)}",
        "-" if judged.superiority is None else f"{judged.superiority:.0%}",
        "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}",
    )


def _values(figure: Figure, interval: ConfidenceInterval | None) -> str:
    if interval is None:
        return "-"
    if interval.low is None:
        return figure.shown(interval.estimate)
    return f"{figure.shown(interval.estimate)} [{figure.shown(interval.low)}, {figure.shown(interval.high)}]"


def signed_percent(share: float) -> str:
    """A share as percent with its sign, one digit after the point below 100%."""
    percent = share * 100
    return f"{percent:+.1f}%" if abs(percent) < 100 else f"{percent:+,.0f}%"


def _notes(contrast: Contrast) -> tuple[str, ...]:
    """Why figures are undecided, each reason once; and how many runs were void."""
    by_note: dict[str, list[str]] = {}
    for judged in contrast.judged:
        if judged.note:
            by_note.setdefault(judged.note, []).append(judged.figure.title)
    said = [
        f"undecided: {note}" if len(titles) == len(contrast.judged) else f"undecided ({', '.join(titles)}): {note}"
        for note, titles in by_note.items()
    ]
    both = (contrast.first, contrast.other)
    void = (f"{void_counts(group)[0]} of {sum(void_counts(group))} runs of {group.name}" for group in both)
    return (*said, f"void: {', '.join(void)}")


def _fact(values: Mapping[str, int]) -> str:
    return ", ".join(value if len(values) == 1 else f"{value} ({counted(n, 'run')})" for value, n in values.items())


def shift_picture(contrast: Contrast) -> Picture | None:
    """The shift of every percentile that was compared; None where there are none.

    A point is filled if its figure is better or worse. The grey band is what does not matter, of the first figure.
    """
    shifts = {judged.figure.path: (judged, judged.shift) for judged in contrast.judged if judged.shift is not None}
    series = {
        path: [(x, *shifts[f"{path}.{name}"]) for x, name in enumerate(PERCENTILES) if f"{path}.{name}" in shifts]
        for path in _SERIES
    }
    points = [point for of in series.values() for point in of]
    if not points:
        return None
    least = points[0][1].figure.least_share
    edges = [edge for _, _, shift in points for edge in (shift.estimate, shift.low, shift.high) if edge is not None]
    edges += [0.0, least, -least]
    chart = Chart(
        Axis("percentile", -0.5, len(PERCENTILES) - 0.5, tuple(enumerate(PERCENTILES))),
        linear_axis("shift", min(edges), max(edges), lambda share: f"{share:+.0%}" if share else "0%"),
    )
    chart.band(-least, least, f"differences below {least:.0%} do not matter")
    chart.across(0, "no shift")
    for (path, name), colour, aside in zip(_SERIES.items(), COLOURS, (0.0, 0.12, -0.12), strict=False):
        if series[path]:
            chart.line(name, [(x + aside, shift.estimate) for x, _, shift in series[path]], colour)
        for x, judged, shift in series[path]:
            if shift.low is not None and shift.high is not None:
                chart.bar(x + aside, shift.low, shift.high, colour)
            decided = judged.change in (Direction.BETTER, Direction.WORSE)
            title = f"{judged.figure.title}: {shift.estimate:+.1%}, {judged.change.value}"
            chart.point(x + aside, shift.estimate, colour, filled=decided, title=title)
    return Picture(
        f"{contrast.other.name} against {contrast.first.name}: shift by percentile, with 95% intervals", chart.svg()
    )
