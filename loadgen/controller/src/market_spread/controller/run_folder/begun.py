"""A folder of runs that is gone on with: it keeps its workloads as they were at first, and a plan with the options."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from market_spread.common.documents import json_object, write_whole
from market_spread.common.errors import UsageError, usage_errors


def begin_or_go_on(
    plan_file: Path, workloads: Mapping[str, Path], options: Sequence[str], **kinds: type
) -> dict[str, Any] | None:
    """The plan of the folder; None if there was none, and the folder is begun: who called has to write its plan.

    workloads: by their names in the folder. kinds: of what the plan must have besides its options. UsageError if it was
    begun with other workloads or options of runs, or is damaged.
    """
    folder = plan_file.parent
    if not plan_file.exists():
        with usage_errors(f"{folder} cannot be made", "name another --folder"):
            folder.mkdir(parents=True, exist_ok=True)
            for name, workload in workloads.items():
                write_whole(folder / f"{name}.yaml", workload.read_text())
        return None
    for name, workload in workloads.items():
        kept = folder / f"{name}.yaml"
        if not kept.exists() or kept.read_text() != workload.read_text():
            what = f"{workload} as {name}" if len(workloads) > 1 else workload
            raise UsageError(f"{folder} was begun with another workload than {what}; name another --folder")
    try:
        plan = json_object(plan_file.read_bytes())
        if any(type(plan[key]) is not kind for key, kind in {"options": list, **kinds}.items()):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{plan_file} is damaged; name another --folder") from error
    before = list(map(str, plan["options"]))
    if before != list(options):
        given = " ".join(before) or "(none)"
        raise UsageError(f"{folder} was begun with the run options {given}; use them, or another --folder")
    return plan
