"""What groups of runs were made with, where it is not the same; and what speaks against comparing them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from market_spread.controller.compare.groups import Group
from market_spread.controller.compare.runs import SCHEMA_VERSIONS

NOT_THERE = "-"


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact of the manifest that is not the same everywhere: by group its values, and how many runs have each."""

    name: str
    values: tuple[tuple[tuple[str, int], ...], ...]

    @property
    def is_within_a_group(self) -> bool:
        """Whether runs of one group differ, so that the group is not of one thing."""
        return any(len(counted) > 1 for counted in self.values)


def differences_of(groups: Sequence[Group]) -> tuple[Difference, ...]:
    """The facts that differ between two runs or more, by name."""
    names = sorted({name for group in groups for run in group.runs for name in run.facts})
    facts = {
        name: [Counter(run.facts.get(name, NOT_THERE) for run in group.runs) for group in groups] for name in names
    }
    found = (Difference(name, tuple(tuple(of.most_common()) for of in counts)) for name, counts in facts.items())
    return tuple(difference for difference in found if len({value for of in difference.values for value, _ in of}) > 1)


def warnings_of(groups: Sequence[Group]) -> tuple[str, ...]:
    """What in the making of the groups can look like a difference of the systems, each a sentence."""
    warnings = []
    mixed = [difference.name for difference in differences_of(groups) if difference.is_within_a_group]
    if mixed:
        warnings.append(f"runs of one group differ in {', '.join(mixed)}")
    return (*warnings, *(mark for group in groups for mark in marks_of(group)))


def marks_of(group: Group) -> tuple[str, ...]:
    """Which of its runs failed, but for wrong alerts, which are told elsewhere, or are of an older schema."""
    marks, of = [], f"of {len(group.runs)} runs of {group.name}"
    failed = [run for run in group.runs if run.lag_reasons or (run.verdict == "failed" and not run.wrong_reasons)]
    if failed:
        reason = next(iter((*failed[0].lag_reasons, *failed[0].reasons)), "it gives no reason")
        marks.append(f"{len(failed)} {of} failed: {reason}")
    if old := [run for run in group.runs if run.schema_version != SCHEMA_VERSIONS[-1]]:
        versions = " and ".join(sorted({str(run.schema_version) for run in old}))
        marks.append(f"{len(old)} {of} have results of schema {versions}, which other rules may have judged")
    return tuple(marks)
