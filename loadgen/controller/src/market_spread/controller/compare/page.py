"""A comparison in words and tables; and as JSON, for programs and for the charts of its page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from market_spread.common.words import counted
from market_spread.controller.compare.comparison import Comparison, Contrast, Direction, Judged, void_counts
from market_spread.controller.compare.figures import Figure
from market_spread.controller.compare.groups import Group, differences_of, warnings_of
from market_spread.controller.statistics.inference import ConfidenceInterval
from market_spread.controller.views.output import ERROR, FAILURE, Case, Page, Sentences, Table, junit_xml

SCHEMA_VERSION = 2
_REASONS_MAX = 5


def comparison_page(comparison: Comparison) -> Page:
    """All that there is to say of it, the most important first."""
    marks = _marks(comparison.groups)
    parts: list[Table | Sentences] = [Sentences(marks)] if marks else []
    for contrast in comparison.contrasts:
        head = ("figure", "verdict", contrast.first.name, contrast.other.name, "shift", "95% interval", "above", "p")
        parts.append(Table("", head, tuple(_figure_row(judged) for judged in contrast.judged), text_columns=2))
        parts.append(Sentences(_notes(contrast)))
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


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """For programs, versioned by `schema_version`. Values have the units of the result's fields, shifts are shares."""
    return {
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
    forced = [Case("runs", "usable", _marks(comparison.groups)[0], marked)] if comparison.is_forced else []
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
        for run in group.unusable[:_REASONS_MAX]:
            what, reasons = ("VOID", run.void_reasons) if run.is_void else ("WRONG ALERTS", run.wrong_reasons)
            forced = f"{run.run_id} of {group.name} takes part by force, so nothing here counts: {reasons[0]}"
            marks.append(f"{what}: {forced}")
        if len(group.unusable) > _REASONS_MAX:
            marks.append(f"and {counted(len(group.unusable) - _REASONS_MAX, 'run')} more of {group.name}")
        if left := group.left_out:
            said = next((run for run in left if run.wrong_reasons), left[0])
            reason = (*said.wrong_reasons, *said.void_reasons)[0]
            marks.append(f"left out: {counted(len(left), 'void run')} of {group.name}; one is {said.run_id}: {reason}")
        marks += [f"left out of {group.name}: {sentence}" for sentence in group.unreadable]
    return tuple(marks)


def _figure_row(judged: Judged) -> tuple[str, ...]:
    figure = judged.figure
    shift, p = judged.shift, judged.corrected_p
    bounds = [signed_percent(each) for each in (shift.low, shift.high) if each is not None] if shift else []
    return (
        figure.title_in_unit,
        judged.change.value,
        _values(figure, judged.before),
        _values(figure, judged.after),
        "-" if shift is None else signed_percent(shift.estimate),
        " to ".join(bounds) or "-",
        "-" if judged.superiority is None else f"{judged.superiority:.0%}",
        "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}",
    )


def _values(figure: Figure, interval: ConfidenceInterval | None) -> str:
    if interval is None or interval.low is None:
        return figure.shown(None if interval is None else interval.estimate)
    return f"{figure.shown(interval.estimate)} [{figure.shown(interval.low)}, {figure.shown(interval.high)}]"


def signed_percent(share: float) -> str:
    """A share as percent with its sign, one digit after the point below 100%."""
    percent = share * 100
    return f"{percent:+.1f}%" if abs(percent) < 100 else f"{percent:+,.0f}%"


def _notes(contrast: Contrast) -> tuple[str, ...]:
    """Why figures are undecided, each reason once; and how many runs were void."""
    notes = Counter(judged.note for judged in contrast.judged if judged.note)
    titles = {note: ", ".join(of.figure.title for of in contrast.judged if of.note == note) for note in notes}
    said = [
        f"undecided: {note}" if count == len(contrast.judged) else f"undecided ({titles[note]}): {note}"
        for note, count in notes.items()
    ]
    both = (contrast.first, contrast.other)
    void = (f"{void_counts(group)[0]} of {sum(void_counts(group))} runs of {group.name}" for group in both)
    return (*said, f"void: {', '.join(void)}")


def _fact(values: Mapping[str, int]) -> str:
    return ", ".join(value if len(values) == 1 else f"{value} ({counted(n, 'run')})" for value, n in values.items())
