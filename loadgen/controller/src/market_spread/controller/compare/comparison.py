"""The verdict of a comparison: better, worse, same or undecided, figure by figure, group against group.

Unit is the run. A figure is better or worse only if the test, adjusted for all figures and groups of the comparison,
says that there is a difference, and the difference is one that matters. It is the same if the interval of the
difference has no room for one that matters. All else is undecided.

Runs that `ab` has paired are tested in their pairs, so that a drift of the machine, which meets both of a pair, does
not hide a difference. Other groups are tested by ranks if their runs were made in turn. Groups made one after the
other, or of which one has more void runs, are undecided: their difference can be the machine's, or of the
choice of runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from market_spread.common.words import counted
from market_spread.controller.compare.figures import Figure
from market_spread.controller.compare.groups import Group, are_in_turn, pairs_of
from market_spread.controller.compare.runs import RecordedRun
from market_spread.controller.statistics import inference
from market_spread.controller.statistics.inference import ConfidenceInterval

RUNS_MIN, SIGNIFICANCE = 8, 0.05

# Void runs that are as unequal as this between two groups, or as many, choose the runs that are left. Both err on the
# side of no verdict: a dozen runs show only a large inequality.
VOID_SIGNIFICANCE, VOID_SHARE_MAX = 0.2, 0.25
# A figure that more of the pairs lack is of a choice of runs, too.
LACKING_SHARE_MAX = 0.25


class Direction(Enum):
    """What a figure did from the first group to another one."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNDECIDED = "undecided"


_WORST_FIRST = (Direction.WORSE, Direction.UNDECIDED, Direction.BETTER, Direction.SAME)


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure in two groups.

    shift: how much the other group is above the first, as a share. superiority: how likely a run of the other group is
    above one of the first, or above its partner. p, corrected_p: of the test, alone and adjusted for the whole
    comparison. note: why it is undecided. Shift, superiority and p are None where values are missing or not positive.
    """

    figure: Figure
    before: ConfidenceInterval | None
    after: ConfidenceInterval | None
    runs: tuple[int, int]
    change: Direction
    shift: ConfidenceInterval | None = None
    superiority: float | None = None
    p: float | None = None
    corrected_p: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two groups against each other; the first is what the other is judged by.

    pairs: how many pairs of runs were tested; None if they are not paired. obstacle: why there is no verdict at all.
    """

    first: Group
    other: Group
    judged: tuple[Judged, ...]
    pairs: int | None = None
    obstacle: str = ""

    @property
    def change(self) -> Direction:
        """Of the whole contrast: the worst that one of its figures did; better only if none is worse or undecided."""
        return min((judged.change for judged in self.judged), key=_WORST_FIRST.index, default=Direction.UNDECIDED)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Groups compared with the first of them."""

    groups: tuple[Group, ...]
    contrasts: tuple[Contrast, ...]

    @property
    def is_forced(self) -> bool:
        """Whether a run takes part whose figures are not usable."""
        return any(group.unusable for group in self.groups)

    @property
    def change(self) -> Direction:
        """The worst of the contrasts."""
        return min((contrast.change for contrast in self.contrasts), key=_WORST_FIRST.index, default=Direction.SAME)

    @property
    def exit_status(self) -> int:
        """0 every figure the same or better, 1 one worse or an output wrong, 3 one undecided or not usable."""
        if any(run.wrong_reasons for group in self.groups[1:] for run in (*group.runs, *group.left_out)):
            return 1
        return 3 if self.is_forced else {Direction.WORSE: 1, Direction.UNDECIDED: 3}.get(self.change, 0)


def compare(groups: Sequence[Group], figures: Sequence[Figure]) -> Comparison:
    """Every group after the first against the first. Figures that no run has are left out, unless they were chosen."""
    first, *others = groups
    had = {path for group in groups for run in group.runs for path in run.figures}
    there = [figure for figure in figures if figure.is_chosen or figure.path in had]
    contrasts = []
    for other in others:
        pairs, obstacle = pairs_of(first, other), _void_obstacle(first, other)
        if not obstacle and not pairs and (pairs is not None or not are_in_turn(first, other)):
            obstacle = (
                "the runs of the groups were not made in turn, or are of other pairs, so a difference can be the "
                "machine's; make them in turn: market-spread ab A.yaml B.yaml"
            )
        measured = _unpaired(first, other, there) if pairs is None else _paired(pairs, there)
        judged = tuple(_decided(each, pairs is not None, len(others), obstacle) for each in measured)
        contrasts.append(Contrast(first, other, judged, None if pairs is None else len(pairs), obstacle))
    return Comparison(tuple(groups), tuple(contrasts))


def pairs_needed(contrasts: int = 1) -> int:
    """How many pairs a verdict needs: with fewer, even signs that are all the same are no rarity (2 / 2**pairs)."""
    return 2 + math.floor(math.log2(contrasts / SIGNIFICANCE))


def void_counts(group: Group) -> tuple[int, int]:
    """How many runs of the group are void, and how many are not; runs that the user interrupted are neither."""
    void = sum(run.is_void and not run.is_interrupted for run in (*group.runs, *group.left_out))
    return void, sum(not run.is_void for run in group.runs)


def _void_obstacle(first: Group, other: Group) -> str:
    both = (first, other)
    counts = [void_counts(group) for group in both]
    void, runs = sum(void for void, _ in counts), sum(map(sum, counts))
    remedy = "mend what makes them void, or lower the rate"
    if void and inference.counts_differ_p(*counts) < VOID_SIGNIFICANCE:
        more = max(both, key=lambda group: void_counts(group)[0] / (sum(void_counts(group)) or 1)).name
        text = ", ".join(f"{of[0]} of {sum(of)} of {group.name}" for group, of in zip(both, counts, strict=True))
        return f"runs of {more} are void more often ({text}), so those that are left may be its fast ones; {remedy}"
    if void > VOID_SHARE_MAX * runs:
        return f"{void} of {runs} runs are void, so those that are left may be the fast ones; {remedy}"
    return ""


def _paired(pairs: Sequence[tuple[RecordedRun, RecordedRun]], figures: Sequence[Figure]) -> list[Judged]:
    """All but the verdicts, of runs in pairs."""
    log_ratios = np.full((len(pairs), len(figures)), np.nan)
    measured = []
    for column, figure in enumerate(figures):
        both = [row for row, pair in enumerate(pairs) if all(figure.path in run.figures for run in pair)]
        before, after = ([pairs[row][side].figures[figure.path] for row in both] for side in (0, 1))
        judged = _medians(figure, before, after)
        if len(pairs) - len(both) > LACKING_SHARE_MAX * len(pairs):
            judged = replace(judged, note=f"{len(pairs) - len(both)} of {counted(len(pairs), 'pair')} lack it")
        elif not judged.note:
            log_ratios[both, column] = logs = np.log(after) - np.log(before)
            above = float((logs > 0).mean() + (logs == 0).mean() / 2)
            judged = replace(judged, shift=inference.paired_shift(logs.tolist()), superiority=above)
        measured.append(judged)
    tested = [column for column, judged in enumerate(measured) if not judged.note]
    if tested:
        for column, alone, adjusted in zip(tested, *inference.max_t(log_ratios[:, tested]), strict=True):
            measured[column] = replace(measured[column], p=alone, corrected_p=adjusted)
    return measured


def _unpaired(first: Group, other: Group, figures: Sequence[Figure]) -> list[Judged]:
    """All but the verdicts, of runs that are in no pairs."""
    measured = []
    for figure in figures:
        before, after = (
            [run.figures[figure.path] for run in group.runs if figure.path in run.figures] for group in (first, other)
        )
        judged = _medians(figure, before, after)
        if not judged.note:
            p, above = inference.rank_sum(before, after)
            judged = replace(judged, shift=inference.unpaired_shift(before, after), superiority=above, p=p)
        measured.append(judged)
    corrected = iter(inference.holm([judged.p for judged in measured if judged.p is not None]))
    return [judged if judged.p is None else replace(judged, corrected_p=next(corrected)) for judged in measured]


def _medians(figure: Figure, before: Sequence[float], after: Sequence[float]) -> Judged:
    """What can be said of the groups each by itself, and why no more can be."""
    note = ""
    if not before or not after:
        note = "no values to compare"
    elif min(*before, *after) <= 0:
        note = "not all its values are above 0, so there is no ratio"
    medians = [inference.median_interval(values) if values else None for values in (before, after)]
    return Judged(figure, medians[0], medians[1], (len(before), len(after)), Direction.UNDECIDED, note=note)


def _decided(judged: Judged, are_paired: bool, contrasts: int, obstacle: str) -> Judged:
    """The verdict. contrasts: how many groups are compared with the first, for which p is corrected, too."""
    shift = judged.shift
    if shift is None or judged.corrected_p is None:
        return replace(judged, note=obstacle or judged.note)
    p, least = min(1.0, contrasts * judged.corrected_p), judged.figure.least_share
    judged = replace(judged, corrected_p=p)
    needed, what = (pairs_needed(contrasts), "pair") if are_paired else (RUNS_MIN, "run")
    if not obstacle and (have := min(judged.runs)) < needed:
        obstacle = f"{counted(have, what)}; a verdict needs {needed}{'' if are_paired else ' in each group'}"
    if obstacle:
        return replace(judged, note=obstacle)
    if p < SIGNIFICANCE and abs(shift.estimate) >= least:
        rose = shift.estimate > 0
        return replace(judged, change=Direction.BETTER if rose == judged.figure.higher_is_better else Direction.WORSE)
    if shift.low is not None and shift.high is not None and -least <= shift.low and shift.high <= least:
        return replace(judged, change=Direction.SAME)
    if p < SIGNIFICANCE:
        return replace(judged, note="there is a difference, but perhaps none that matters")
    return replace(judged, note="the runs differ too much among themselves; make more")
