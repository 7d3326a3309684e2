"""The verdict of a comparison: better, worse, same or undecided, figure by figure, group against group.

Unit is the run. A figure is better or worse only if the rank test, corrected for all figures and groups of the whole
comparison, says that there is a difference, and the difference is one that matters. It is the same if the interval of
the difference has no room for one that matters. All else is undecided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from market_spread.runs.comparing.figures import Figure
from market_spread.runs.comparing.groups import Group
from market_spread.runs.comparing.ranks import (
    Interval,
    holm,
    median_interval,
    rank_sum_p,
    ratio_interval,
    superiority,
)
from market_spread.runs.pages.words import counted

RUNS_MIN = 8
SIGNIFICANCE = 0.05


class Change(Enum):
    """What a figure did from the first group to another one."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure in two groups.

    shift: how much the other group is above the first, as a share. superiority: how likely a run of the other group is
    above one of the first. p, corrected_p: of the rank test, alone and corrected for the whole comparison. note: why it
    is undecided. Shift, superiority and p are None where values are missing or not positive.
    """

    figure: Figure
    before: Interval | None
    after: Interval | None
    runs: tuple[int, int]
    change: Change
    shift: Interval | None = None
    superiority: float | None = None
    p: float | None = None
    corrected_p: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two groups against each other; the first is what the other is judged by."""

    first: Group
    other: Group
    judged: tuple[Judged, ...]

    def count(self, change: Change) -> int:
        """How many figures did that."""
        return sum(judged.change is change for judged in self.judged)

    @property
    def change(self) -> Change:
        """Of the whole pair: the worst that one of its figures did; better only if none is worse or undecided."""
        for change in (Change.WORSE, Change.UNDECIDED, Change.BETTER):
            if self.count(change):
                return change
        return Change.SAME if self.judged else Change.UNDECIDED


@dataclass(frozen=True, slots=True)
class Comparison:
    """Groups compared with the first of them."""

    groups: tuple[Group, ...]
    pairs: tuple[Pair, ...]

    @property
    def is_forced(self) -> bool:
        """Whether a run takes part whose figures are not to be believed."""
        return any(group.unbelievable for group in self.groups)

    @property
    def exit_status(self) -> int:
        """0 every figure is the same or better, 1 one is worse, 3 one is undecided or a run is not to be believed."""
        changes = {pair.change for pair in self.pairs}
        if self.is_forced or (Change.UNDECIDED in changes and Change.WORSE not in changes):
            return 3
        return 1 if Change.WORSE in changes else 0


def compare(groups: Sequence[Group], figures: Sequence[Figure]) -> Comparison:
    """Every group after the first against the first. Figures that no run has are left out."""
    first, *others = groups
    measured = [[_measured(figure, first, other) for figure in figures if _exists(figure, groups)] for other in others]
    tested = [judged for column in measured for judged in column if judged.p is not None]
    corrected = iter(holm([judged.p for judged in tested if judged.p is not None]))
    pairs = []
    for other, column in zip(others, measured, strict=True):
        judged_all = tuple(
            _decided(judged if judged.p is None else replace(judged, corrected_p=next(corrected))) for judged in column
        )
        pairs.append(Pair(first, other, judged_all))
    return Comparison(tuple(groups), tuple(pairs))


def _exists(figure: Figure, groups: Sequence[Group]) -> bool:
    return any(figure.path in run.figures for group in groups for run in group.runs)


def _measured(figure: Figure, first: Group, other: Group) -> Judged:
    """All but the verdict and the correction, which the others figures have a say in."""
    before, after = _values(figure, first), _values(figure, other)
    judged = Judged(
        figure=figure,
        before=median_interval(before) if before else None,
        after=median_interval(after) if after else None,
        runs=(len(before), len(after)),
        change=Change.UNDECIDED,
    )
    if not before or not after:
        return replace(judged, note=f"no run of {(other if before else first).name} has it")
    if min(*before, *after) <= 0:
        return replace(judged, note="not all its values are above 0, so there is no ratio")
    return replace(
        judged,
        shift=ratio_interval(before, after),
        superiority=superiority(before, after),
        p=rank_sum_p(before, after),
    )


def _values(figure: Figure, group: Group) -> list[float]:
    return [run.figures[figure.path] for run in group.runs if figure.path in run.figures]


def _decided(judged: Judged) -> Judged:
    if judged.shift is None or judged.corrected_p is None:
        return judged
    if min(judged.runs) < RUNS_MIN:
        return replace(judged, note=f"{counted(min(judged.runs), 'run')}; a verdict needs {RUNS_MIN} in each group")
    least = judged.figure.least_share
    if judged.corrected_p < SIGNIFICANCE and abs(judged.shift.estimate) >= least:
        rose = judged.shift.estimate > 0
        return replace(judged, change=Change.BETTER if rose == judged.figure.higher_is_better else Change.WORSE)
    if judged.shift.lies_within(least):
        return replace(judged, change=Change.SAME)
    return replace(judged, note=_why_undecided(judged))


def _why_undecided(judged: Judged) -> str:
    if judged.corrected_p is not None and judged.corrected_p < SIGNIFICANCE:
        return "there is a difference, but perhaps none that matters"
    return "the runs differ too much among themselves; make more"
