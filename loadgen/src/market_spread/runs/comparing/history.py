"""The history of a figure over many runs of one workload: where it changed, and what the runs were made with there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from market_spread.runs.comparing.change_points import SEGMENT_MIN, change_points
from market_spread.runs.comparing.differences import NOT_THERE
from market_spread.runs.comparing.figures import Figure
from market_spread.runs.comparing.recorded import RecordedRun
from market_spread.runs.comparing.report import signed_percent
from market_spread.runs.pages.model import Page, Sentences, Table
from market_spread.runs.pages.words import counted

_BARS = "▁▂▃▄▅▆▇█"
_COURSE_MAX = 40
_FACTS_MAX = 6


@dataclass(frozen=True, slots=True)
class Change:
    """A change: the first run after it, medians of the values from the change before and to the next one."""

    figure: Figure
    before_run: RecordedRun
    run: RecordedRun
    before: float
    after: float

    @property
    def shift(self) -> float:
        """How much the figure rose, as a share."""
        return self.after / self.before - 1

    @property
    def is_better(self) -> bool:
        """Whether it went into the right direction."""
        return (self.shift > 0) == self.figure.higher_is_better


@dataclass(frozen=True, slots=True)
class Course:
    """The values of one figure, in the order of the runs' starts, and its changes."""

    figure: Figure
    values: tuple[float, ...]
    changes: tuple[Change, ...]


def courses_of(runs: Sequence[RecordedRun], figures: Sequence[Figure]) -> tuple[Course, ...]:
    """The courses of the figures that the runs have; runs must be of one workload, in the order of their starts."""
    return tuple(course for figure in figures if (course := _course(runs, figure)).values)


def history_page(runs: Sequence[RecordedRun], figures: Sequence[Figure], *, left_out: int) -> Page:
    """The histories of all workloads of the runs. left_out: how many void runs are not among them."""
    parts: list[Table | Sentences] = []
    changes = 0
    for workload in sorted({run.workload for run in runs}):
        of_it = [run for run in runs if run.workload == workload]
        courses = courses_of(of_it, figures)
        found = sorted((change for course in courses for change in course.changes), key=lambda each: each.run.started)
        changes += len(found)
        parts.append(
            _table(f"{workload}, {counted(len(of_it), 'run')} from {of_it[0].started} to {of_it[-1].started}", courses)
        )
        parts.append(Sentences(tuple(_sentence(change) for change in found) or (_no_change(len(of_it)),)))
    if left_out:
        parts.append(Sentences((f"left out: {counted(left_out, 'void run')}",)))
    return Page("", f"{counted(changes, 'change')} in {counted(len(runs), 'run')}", tuple(parts))


def _course(runs: Sequence[RecordedRun], figure: Figure) -> Course:
    having = [run for run in runs if run.figures.get(figure.path, 0.0) > 0]
    values = [run.figures[figure.path] for run in having]
    points = change_points(values, least_share=figure.least_share)
    edges = [0, *points, len(values)]
    changes = tuple(
        Change(
            figure,
            having[at - 1],
            having[at],
            float(np.median(values[begin:at])),
            float(np.median(values[at:end])),
        )
        for begin, at, end in zip(edges[:-2], points, edges[2:], strict=True)
    )
    return Course(figure, tuple(values), changes)


def _table(title: str, courses: Sequence[Course]) -> Table:
    rows = tuple(
        (
            f"{course.figure.title}, {course.figure.unit}" if course.figure.unit else course.figure.title,
            _bars(course.values[-_COURSE_MAX:]),
            course.figure.shown(course.values[0]),
            course.figure.shown(float(np.median(course.values))),
            course.figure.shown(course.values[-1]),
            str(len(course.changes)),
        )
        for course in courses
    )
    return Table(title, ("figure", "course", "first", "median", "last", "changes"), rows, text_columns=2)


def _bars(values: Sequence[float]) -> str:
    """The course as small bars, from the lowest value to the highest."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(_BARS[min(len(_BARS) - 1, int((value - low) / span * len(_BARS)))] for value in values)


def _sentence(change: Change) -> str:
    figure = change.figure
    direction = "better" if change.is_better else "worse"
    return (
        f"{figure.title} {direction} by {signed_percent(change.shift)} from run {change.run.run_id} on: "
        f"{figure.shown(change.before)} to {figure.shown(change.after)} {figure.unit}".rstrip()
        + _what_changed(change)
    )


def _what_changed(change: Change) -> str:
    """The facts that differ between the last run before and the first after it."""
    before, after = change.before_run.facts, change.run.facts
    names = [name for name in sorted({*before, *after}) if before.get(name, NOT_THERE) != after.get(name, NOT_THERE)]
    if not names:
        return "; the manifest says nothing new there"
    shown = [f"{name} {before.get(name, NOT_THERE)} → {after.get(name, NOT_THERE)}" for name in names[:_FACTS_MAX]]
    more = f" and {len(names) - _FACTS_MAX} more" if len(names) > _FACTS_MAX else ""
    return f"; there changed {', '.join(shown)}{more}"


def _no_change(runs: int) -> str:
    if runs < 2 * SEGMENT_MIN:
        return f"{counted(runs, 'run')}; a change is looked for from {2 * SEGMENT_MIN} on"
    return "no change that matters"
