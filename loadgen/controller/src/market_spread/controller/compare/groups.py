"""Groups of runs, as a user names them: a folder of runs, a pattern, or ids of runs; and what they were made with."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from glob import glob
from itertools import groupby
from pathlib import Path

from market_spread.common.errors import UsageError
from market_spread.controller.compare.runs import RecordedRun, is_run, read_runs, run_folders

_PATTERN = set("*?[")
NOT_THERE = "-"


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that are meant to be of the same thing. left_out: those that take no part, because they are void;
    unreadable: of those that nobody can read, a sentence each.
    """

    name: str
    runs: tuple[RecordedRun, ...]
    left_out: tuple[RecordedRun, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def unusable(self) -> tuple[RecordedRun, ...]:
        """Those whose figures say nothing of how fast the system is: void runs, and runs with wrong alerts."""
        return tuple(run for run in self.runs if run.void_reasons or run.wrong_reasons)


def read_groups(named: Sequence[str], *, runs_folder: Path) -> tuple[Group, ...]:
    """The groups of these names, which are two or more. UsageError if a name has no runs, or two have the same run.

    named: each a folder of runs, the folder of a run, a pattern of such folders, or run ids with commas between, which
    are looked up in runs_folder. `NAME=` before it gives the group a name.
    """
    if len(named) < 2:
        raise UsageError("a comparison needs two groups of runs or more; name another one")
    groups = [_read_group(text, runs_folder) for text in named]
    seen: dict[tuple[object, ...], str] = {}
    for name, run in [(group.name, run) for group in groups for run in group.runs]:
        what = (run.run_id, run.started, *run.figures.values())  # a copy is the same run
        if what in seen:
            raise UsageError(f"run {run.run_id} is in {seen[what]} and in {name}; name groups without it")
        seen[what] = name
    short = Counter(group.name for group in groups)
    return tuple(
        group if short[group.name] == 1 else replace(group, name=text)
        for group, text in zip(groups, named, strict=True)
    )


def pairs_of(first: Group, other: Group) -> tuple[tuple[RecordedRun, RecordedRun], ...] | None:
    """The pairs that have a run in each group, in their order; None if the groups are not runs that `ab` has paired.

    A run whose partner is void or not there is in no pair, nor is one that `ab` has not made.
    """
    ours, theirs = (
        {(run.place.session, run.place.number): run for run in group.runs if run.place} for group in (first, other)
    )
    if not ours or not theirs:
        return None
    return tuple((ours[key], theirs[key]) for key in sorted(ours.keys() & theirs.keys()))


def are_in_turn(first: Group, other: Group) -> bool:
    """Whether, in the order of their starts, no more than two runs of the same group follow each other."""
    starts = [(run.started, run.run_id, place) for place, group in enumerate((first, other)) for run in group.runs]
    return all(len(list(runs)) <= 2 for _, runs in groupby(sorted(starts), key=lambda start: start[2]))


def without_void(group: Group) -> Group:
    """The group with its void runs left out, and remembered. UsageError if all are void."""
    kept = tuple(run for run in group.runs if not run.is_void)
    if not kept:
        raise UsageError(
            f"all {len(group.runs)} runs of {group.name} are void ({group.runs[0].void_reasons[0]}); make more"
        )
    return replace(group, runs=kept, left_out=tuple(run for run in group.runs if run.is_void))


def refuse_unusable(groups: Sequence[Group]) -> None:
    """UsageError if there is a void run, or one with wrong alerts."""
    found = [(group, run) for group in groups for run in group.unusable]
    if not found:
        return
    group, run = found[0]
    others = f", and so are {len(found) - 1} more" if len(found) > 1 else ""
    what, reasons = ("is void", run.void_reasons) if run.is_void else ("has wrong alerts", run.wrong_reasons)
    raise UsageError(
        f"run {run.run_id} of {group.name} {what} ({reasons[0]}){others}; "
        "leave void runs out with --skip-void, or let all of them in, marked, with --force"
    )


def _read_group(text: str, runs_folder: Path) -> Group:
    name, equals, rest = text.partition("=")
    spec = rest if equals and name and "/" not in name else text
    folders = _folders(spec, runs_folder) if spec else []
    if not folders:
        raise UsageError(
            f"{spec or repr(text)} has no finished run; name a folder of runs, a pattern in quotes, or run ids"
        )
    runs, unreadable = read_runs(folders)
    if not runs:
        raise UsageError(unreadable[0])
    return Group(name if spec is rest and equals else Path(spec).name or spec, tuple(runs), unreadable=unreadable)


def _folders(spec: str, runs_folder: Path) -> list[Path]:
    """The folders of the runs, each once, in the order of their names."""
    path = Path(spec)
    if is_run(path):
        return [path]
    if path.is_dir():
        return run_folders(path)
    if _PATTERN & set(spec):
        return sorted(found for found in map(Path, glob(spec)) if is_run(found))
    folders = []
    for run_id in map(str.strip, dict.fromkeys(spec.split(","))):
        found = [folder for folder in (Path(run_id), runs_folder / run_id) if run_id and is_run(folder)]
        if not found:
            what = f"{run_id or 'nothing'} is neither a folder of runs nor a run in {runs_folder}"
            raise UsageError(f"{what}; name one, or --runs-folder")
        folders.append(found[0])
    return folders


def differences_of(groups: Sequence[Group]) -> dict[str, list[dict[str, int]]]:
    """The facts of the manifests that differ between two runs or more, by name: of each group its values, the most
    common one first, with how many runs have each.
    """
    differences = {}
    for name in sorted({name for group in groups for run in group.runs for name in run.facts}):
        counts = [Counter(run.facts.get(name, NOT_THERE) for run in group.runs) for group in groups]
        if len(set[str]().union(*counts)) > 1:
            differences[name] = [dict(of.most_common()) for of in counts]
    return differences


def warnings_of(groups: Sequence[Group]) -> tuple[str, ...]:
    """What in the making of the groups can look like a difference of the systems, each a sentence."""
    mixed = ", ".join(name for name, each in differences_of(groups).items() if any(len(values) > 1 for values in each))
    warnings = [f"runs of one group differ in {mixed}"] if mixed else []
    return (*warnings, *(mark for group in groups for mark in marks_of(group)))


def marks_of(group: Group) -> tuple[str, ...]:
    """Which of its runs failed, but for wrong alerts, which are told elsewhere."""
    failed = [run for run in group.runs if run.lag_reasons or (run.verdict == "failed" and not run.wrong_reasons)]
    if not failed:
        return ()
    reason = next(iter((*failed[0].lag_reasons, *failed[0].reasons)), "it gives no reason")
    return (f"{len(failed)} of {len(group.runs)} runs of {group.name} failed: {reason}",)
