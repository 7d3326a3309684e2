"""The history of a figure over many runs of one workload: where it changed, and what the runs were made with there."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from market_spread.common.words import counted
from market_spread.controller.compare.figures import Figure
from market_spread.controller.compare.groups import Group, differences_of, marks_of
from market_spread.controller.compare.page import signed_percent
from market_spread.controller.compare.runs import RecordedRun
from market_spread.controller.statistics.inference import MEMORY_MIN, SEGMENT_MIN, SIGNIFICANCE, change_points
from market_spread.controller.views.output import Page, Sentences, Table

SCHEMA_VERSION = 1
_BARS = "▁▂▃▄▅▆▇█"
_TREND_MAX, _FACTS_MAX = 40, 6


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change: the first run after it, medians of the values from the change before and to the next one."""

    figure: Figure
    before_run: RecordedRun
    run: RecordedRun
    parts: tuple[tuple[float, float], ...]  # from when to when these values are, Unix seconds
    before: float
    after: float

    @property
    def shift(self) -> float:
        """How much the figure rose, as a share."""
        return self.after / self.before - 1


@dataclass(frozen=True, slots=True)
class Trend:
    """The values of one figure, in the order of the runs' starts, and its changes."""

    figure: Figure
    values: tuple[float, ...]
    changes: tuple[ChangePoint, ...]


def trends_of(
    runs: Sequence[RecordedRun], figures: Sequence[Figure], *, memory_min: float = MEMORY_MIN
) -> tuple[Trend, ...]:
    """The trends of the figures that the runs have; runs must be of one workload, in the order of their starts.

    Figures that the same runs have are tested together, and share how often any of them may be wrong.
    """
    by_runs: dict[tuple[int, ...], list[Figure]] = defaultdict(list)
    for figure in figures:
        if numbers := tuple(number for number, run in enumerate(runs) if run.figures.get(figure.path, 0.0) > 0):
            by_runs[numbers].append(figure)
    tested = sum(map(len, by_runs.values()))
    trends = {}
    for numbers, together in by_runs.items():
        series = [[runs[number].figures[figure.path] for number in numbers] for figure in together]
        found = change_points(
            series,
            least_shares=[figure.least_share for figure in together],
            memory_min=memory_min,
            significance=SIGNIFICANCE * len(together) / tested,
        )
        for figure, values, points in zip(together, series, found, strict=True):
            bounds = list(pairwise([0, *points, len(values)]))
            medians = [float(np.median(values[begin:end])) for begin, end in bounds]
            at_s = [-np.inf, *(runs[number].started_s for number in numbers[1:-1]), np.inf]
            spans = [(at_s[begin], at_s[end - 1]) for begin, end in bounds]
            changes = (
                ChangePoint(figure, runs[numbers[at - 1]], runs[numbers[at]], parts, before, after)
                for at, parts, (before, after) in zip(points, pairwise(spans), pairwise(medians), strict=True)
            )
            trends[figure] = Trend(figure, tuple(values), tuple(changes))
    return tuple(trends[figure] for figure in figures if figure in trends)


def by_anchor(
    runs: Sequence[RecordedRun], anchors: Sequence[RecordedRun], figures: Sequence[Figure]
) -> tuple[list[RecordedRun], tuple[Figure, ...]]:
    """The runs with figures that are ratios to the anchor's at the same time, and those figures.

    The anchor's is interpolated between the runs of it before and after, as a logarithm. A figure that no anchor has is
    left out.
    """
    at_s = [run.started_s for run in runs]
    ratios: list[dict[str, float]] = [{} for _ in runs]
    kept = []
    for figure in figures:
        path = figure.path
        known = [(anchor.started_s, anchor.figures[path]) for anchor in anchors if anchor.figures.get(path, 0.0) > 0]
        if known:
            kept.append(replace(figure, title=f"{figure.title}, by the anchor's", unit="", divisor=1.0))
            times, values = zip(*sorted(known), strict=True)
            levels = np.exp(np.interp(at_s, times, np.log(values)))
            for run, level, ratio in zip(runs, levels, ratios, strict=True):
                if path in run.figures:
                    ratio[path] = run.figures[path] / float(level)
    return [replace(run, figures=ratio) for run, ratio in zip(runs, ratios, strict=True)], tuple(kept)


def history_of(
    runs: Sequence[RecordedRun], figures: Sequence[Figure], *, left_out: Sequence[RecordedRun] = (),
    unreadable: Sequence[str] = (), anchors: Sequence[RecordedRun] = (),
) -> tuple[Page, dict[str, Any]]:  # fmt: skip
    """The histories of all workloads of the runs: for a person, and for programs, versioned by `schema_version`.

    left_out: runs that are not among them, since they are void or have wrong alerts; unreadable: of those that cannot
    be read, a sentence each. anchors: runs of a workload that has not changed; the figures are then ratios to theirs.
    """
    parts: list[Table | Sentences] = []
    workloads: list[dict[str, Any]] = []
    changes, memory_min = 0, MEMORY_MIN
    if anchors:
        runs, figures = by_anchor(runs, anchors, figures)
        memory_min = 0.0
    for workload in sorted({run.workload for run in runs}):
        of_it = [run for run in runs if run.workload == workload]
        trends = trends_of(of_it, figures, memory_min=memory_min)
        workloads.append({"workload": workload, "figures": [_trend_json(trend, of_it) for trend in trends]})
        shown = {trend.figure for trend in trends}
        lacking = [f"no run has {figure.path}" for figure in figures if figure.is_chosen and figure not in shown]
        found = sorted((at for trend in trends for at in trend.changes), key=lambda each: each.run.started)
        changes += len(found)
        title = f"{workload}, {counted(len(of_it), 'run')} from {of_it[0].started} to {of_it[-1].started}"
        parts.append(_table(title, trends))
        nothing = "no change that matters"
        if len(of_it) < 2 * SEGMENT_MIN:
            nothing = f"{counted(len(of_it), 'run')}; a change is looked for from {2 * SEGMENT_MIN} on"
        said = tuple(_sentence(each, anchors) for each in found) or (nothing,)
        parts.append(Sentences((*said, *lacking, *marks_of(Group(workload, tuple(of_it))))))
    for why, is_void in (("as void", True), ("for wrong alerts", False)):
        if of_it := [run for run in left_out if run.is_void is is_void]:
            reason = (*of_it[0].void_reasons, *of_it[0].wrong_reasons)[0]
            first = f"the first is {of_it[0].run_id}: {reason}"
            parts.append(Sentences((f"left out {why}: {counted(len(of_it), 'run')}; {first}",)))
    if unreadable:
        parts.append(Sentences(tuple(f"left out: {sentence}" for sentence in unreadable)))
    if not anchors:
        made = "between these runs make market-spread selftest --anchor --rate RATE"
        remedy = f"{made}, and show them with --anchor null"
        parts.append(Sentences((f"a change of the machine looks like one of the code here: {remedy}",)))
    document = {
        "schema_version": SCHEMA_VERSION,
        "workloads": workloads,
        "left_out": [run.run_id for run in left_out],
        "unreadable": list(unreadable),
    }
    return Page("", f"{counted(changes, 'change')} in {counted(len(runs), 'run')}", tuple(parts)), document


def _trend_json(trend: Trend, runs: Sequence[RecordedRun]) -> dict[str, Any]:
    figure, path = trend.figure, trend.figure.path
    return {
        "path": path,
        "title": figure.title_in_unit,
        "divisor": figure.divisor,
        "values": {run.run_id: run.figures[path] for run in runs if run.figures.get(path, 0.0) > 0},
        "changes": [
            {"run_id": at.run.run_id, "before": at.before, "after": at.after, "shift": at.shift} for at in trend.changes
        ],
    }


def _table(title: str, trends: Sequence[Trend]) -> Table:
    rows = []
    for trend in trends:
        figure, values = trend.figure, trend.values
        shown = map(figure.shown, (values[0], float(np.median(values)), values[-1]))
        rows.append((figure.title_in_unit, _bars(values[-_TREND_MAX:]), *shown, str(len(trend.changes))))
    return Table(title, ("figure", "trend", "first", "median", "last", "changes"), tuple(rows), text_columns=2)


def _bars(values: Sequence[float]) -> str:
    """The trend as small bars, from the lowest value to the highest."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(_BARS[min(len(_BARS) - 1, int((value - low) / span * len(_BARS)))] for value in values)


def _sentence(change: ChangePoint, anchors: Sequence[RecordedRun]) -> str:
    """The change, and the facts that differ between the last run before and the first after it."""
    figure = change.figure
    known = [at for at in anchors if at.figures.get(figure.path, 0.0) > 0]
    is_told = [any(begin_s <= at.started_s <= end_s for at in known) for begin_s, end_s in change.parts]
    what = f"{'better' if (change.shift > 0) == figure.higher_is_better else 'worse'} by"
    if figure.unit:  # another machine has other times and rates, but the same ratios and counts
        what = "undecided, the machine's or the code's:"
    elif anchors and not all(is_told):
        what = f"undecided, as no anchor was run {'after' if is_told[0] else 'before'} it, between these runs:"
    differences = differences_of([Group("", (run,)) for run in (change.before_run, change.run)])
    facts = [f"{name} {' → '.join(value for of_run in each for value in of_run)}" for name, each in differences.items()]
    more = f" and {len(facts) - _FACTS_MAX} more" if len(facts) > _FACTS_MAX else ""
    there = f"there changed {', '.join(facts[:_FACTS_MAX])}{more}" if facts else "the manifest says nothing new there"
    return (
        f"{figure.title} {what} {signed_percent(change.shift)} from run {change.run.run_id} on: "
        f"{figure.shown(change.before)} to {figure.shown(change.after)} {figure.unit}".rstrip()
        + f"; {there}"
    )
