"""The files of a run's folder, by name; and a folder of runs that is gone on with."""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from market_spread.common.documents import json_object, write_whole
from market_spread.common.errors import UsageError, usage_errors


class _Inside:
    """A file or folder in a run's folder: read from a RunFolder, its path."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: "RunFolder", owner: type) -> Path:
        return folder.path / self._name


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where what is kept of a run is. Nothing need exist."""

    path: Path

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.path.name

    result = _Inside("result.json")  # the result, JSON
    manifest = _Inside("manifest.json")  # what the run was made of, JSON, hashed
    workload = _Inside("workload.yaml")  # the workload exactly as it was run
    state = _Inside("state.json")  # the step that the run is at
    evidence = _Inside("evidence.json")  # what the processes said, from which the result is made
    ledger = _Inside("alerts.ledger")  # all alerts as they were received
    decisions_ledger = _Inside("decisions.ledger")  # all decisions as they were received, of a run that sends them
    metrics = _Inside("metrics.hlog")  # everything that the processes pushed
    samples = _Inside("timeline.arrows")  # the timeline as it grows, an Arrow stream
    timeline = _Inside("timeline.parquet")  # each second of every component, Parquet
    histograms = _Inside("histograms")  # folder of the interval logs
    logs = _Inside("logs")  # folder of the processes' logs
    document = _Inside("run.md")  # the run document that a person reads, Markdown
    report = _Inside("report.html")  # the report, one HTML file
    processes = _Inside("processes")  # what the processes write while they run


def gather_logs(processes: Path, logs: Path) -> None:
    """Every log below the folder of the processes in one. Hard links where the file system has them: no copies."""
    logs.mkdir(parents=True, exist_ok=True)
    for path in (*processes.glob("*.log"), *processes.glob("broker/*.log")):
        target = logs / path.name
        target.unlink(missing_ok=True)
        try:
            os.link(path, target)
        except OSError:
            shutil.copyfile(path, target)


@contextmanager
def locked(folder: RunFolder) -> Iterator[None]:
    """Have the run for this process alone. UsageError if another process carries it out."""
    descriptor = os.open(folder.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise UsageError(f"the run {folder.run_id} is going on in another process; wait for its end") from error
    finally:
        os.close(descriptor)


def new_run_folder(runs_folder: Path, name: str) -> Path:
    """A new folder, whose name is a run id that no run has yet. UsageError if it cannot be made."""
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}"
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        folder = runs_folder / (stem + suffix)
        try:
            folder.mkdir(parents=True)
            return folder.resolve()
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(f"the run's folder {folder} cannot be made: {error.strerror}") from error
    raise UsageError(f"{runs_folder} has 99 runs of this second; wait a moment")


def begin_or_go_on(
    plan_file: Path, workloads: Mapping[str, Path], options: Sequence[str], **kinds: type
) -> dict[str, Any] | None:
    """The plan of the folder; None if there was none, and the folder is begun: who called has to write its plan.

    It keeps the workloads as they were at first. workloads: by their names in the folder. kinds: of what the plan must
    have besides its options. UsageError if it was begun with other workloads or options of runs, or is damaged.
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
