"""The files of a run's folder, by name; its state and its manifest; and a folder of runs that is gone on with."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from market_spread.common.clock import Clock
from market_spread.common.documents import json_object, write_whole
from market_spread.common.errors import UsageError, usage_errors

_VERSION = 1  # of state and manifest
_LOCK = ".lock"
_KINDS = {"step": str, "source": str, "can_be_judged": bool, "resumed": int}

Scalar = str | int | float | bool | None
Section = Mapping[str, Scalar]


class RunFolder:
    """Where what is kept of a run is. Nothing need exist. run_id: the run's id, which is the folder's name."""

    def __init__(self, path: Path) -> None:
        self.path, self.run_id = path, path.name
        self.result = path / "result.json"  # the result, JSON
        self.manifest = path / "manifest.json"  # what the run was made of, JSON, hashed
        self.workload = path / "workload.yaml"  # the workload exactly as it was run
        self.state = path / "state.json"  # the step that the run is at
        self.evidence = path / "evidence.json"  # what the processes said, from which the result is made
        self.ledger = path / "alerts.ledger"  # all alerts as they were received
        self.decisions_ledger = path / "decisions.ledger"  # all decisions as they were received, if they are sent
        self.metrics = path / "metrics.hlog"  # everything that the processes pushed
        self.samples = path / "timeline.arrows"  # the timeline as it grows, an Arrow stream
        self.timeline = path / "timeline.parquet"  # each second of every component, Parquet
        self.histograms = path / "histograms"  # folder of the interval logs
        self.logs = path / "logs"  # folder of the processes' logs
        self.document = path / "run.md"  # the run document that a person reads, Markdown
        self.report = path / "report.html"  # the report, one HTML file
        self.processes = path / "processes"  # what the processes write while they run


@dataclass(eq=False)
class State:
    """The current step of a run, on disk at each change, to diagnose an interrupted run and resume it. Not thread-safe.

    source: where the run's load comes from, as its plan says; resumed: how often the run was begun or judged before, by
    what is there already; steps: of each its name, when it was started, and `duration_s`, None while it lasts.
    """

    # The step from the moment when everything needed to judge the run is on disk.
    JUDGING = "judging"
    CAPTURING = "capturing"
    DONE = "done"

    path: Path
    _: KW_ONLY
    clock: Clock
    source: str = "market"
    can_be_judged: bool = False
    error: str = field(default="", init=False)
    steps: list[dict[str, Any]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        before = State.read(self.path)
        self.resumed = int(before["resumed"]) + 1 if before else 0
        self._since_ns = self.clock.monotonic_ns()

    @property
    def step(self) -> str:
        """The newest step; empty before the first."""
        return self.steps[-1]["name"] if self.steps else ""

    def enter(self, name: str) -> None:
        """Begin a step, if it is another one than the newest. OSError if it cannot be written down."""
        if name == self.step:
            return
        now_ns = self.clock.monotonic_ns()
        if self.steps:
            self.steps[-1]["duration_s"] = round((now_ns - self._since_ns) / 1e9, 3)
        self._since_ns = now_ns
        started = datetime.fromtimestamp(self.clock.unix_ns() / 1e9, UTC).isoformat(timespec="milliseconds")
        self.steps.append({"name": name, "started": started, "duration_s": None})
        self.write()

    def fail(self, error: str) -> None:
        self.error = error
        self.write()

    def write(self) -> None:
        """Write it down. OSError if that fails."""
        names = ("step", "source", "can_be_judged", "resumed", "error", "steps")
        document = {"version": _VERSION, **{name: getattr(self, name) for name in names}}
        write_whole(self.path, json.dumps(document, indent=2) + "\n")

    @staticmethod
    def read(path: Path) -> Mapping[str, Any] | None:
        """What was written; None if there is nothing. UsageError if it cannot be read."""
        with usage_errors(f"{path} cannot be read", "start the run anew", (OSError, ValueError)):
            document = json_object(path.read_bytes(), version=_VERSION) if path.exists() else None
            if document and (wrong := [name for name, kind in _KINDS.items() if type(document.get(name)) is not kind]):
                raise ValueError(f"its {wrong[0]} is damaged")
            return document


@dataclass(frozen=True)
class Manifest:
    """Sections of names and values. Two runs of the same thing have the same ones: no times, ports or paths."""

    sections: Mapping[str, Section]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON of the sections, in hexadecimal."""
        canonical = json.dumps(self.sections, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def write(self, path: Path) -> Path:
        """Write it whole, as `read` takes it. OSError if that fails."""
        sections = {name: dict(sorted(values.items())) for name, values in self.sections.items()}
        document = {"version": _VERSION, "sha256": self.sha256, "sections": sections}
        return write_whole(path, json.dumps(document, indent=2) + "\n")

    @staticmethod
    def read(path: Path) -> "Manifest":
        """What was written. UsageError if it cannot be read, is of another version, or does not fit its hash."""
        what, kinds = f"the manifest {path} cannot be used", (OSError, ValueError, TypeError, KeyError)
        with usage_errors(what, "name the folder of another run", kinds):
            values = json_object(path.read_bytes(), version=_VERSION)
            manifest = Manifest(values["sections"])
            if manifest.sha256 != values["sha256"]:
                raise ValueError("its values do not fit its hash: it was changed after the run")
            return manifest


def flat(values: Mapping[str, object], path: str = "") -> dict[str, Scalar]:
    """Nested mappings and lists as flat names with dots; `a.b` is b of a, `a.0` the first of a list a."""
    result: dict[str, Scalar] = {}
    for name, value in values.items():
        inner = {str(at): each for at, each in enumerate(value)} if isinstance(value, list | tuple) else value
        if isinstance(inner, Mapping):
            result |= flat(inner, f"{path}{name}.")
        else:
            result[f"{path}{name}"] = value if value is None or isinstance(value, str | int | float) else str(value)
    return result


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
def held(lock: Path, refusal: str) -> Iterator[None]:
    """Hold a file that one process at a time can hold. UsageError with the refusal if another one does."""
    with lock.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(refusal) from error
        yield


@contextmanager
def locked(folder: RunFolder) -> Iterator[None]:
    """Have the run for this process alone; of one that was refused before it began no folder stays.

    UsageError if another process carries it out.
    """
    with held(folder.path / _LOCK, f"the run {folder.run_id} is going on in another process; wait for its end"):
        try:
            yield
        finally:
            if os.listdir(folder.path) == [_LOCK]:
                shutil.rmtree(folder.path)


def is_locked(folder: Path) -> bool:
    """Whether a process of this machine carries out the run of the folder."""
    try:
        with (folder / _LOCK).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def new_run_folder(runs_folder: Path, name: str) -> Path:
    """A new folder, whose name is a run id that no run has yet. UsageError if it cannot be made."""
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}"
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        folder = runs_folder / (stem + suffix)
        with usage_errors(f"the run's folder {folder} cannot be made"), suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder.resolve()
    raise UsageError(f"{runs_folder} has 99 runs of this second; wait a moment")


def begin_or_go_on(
    plan_file: Path, workloads: Mapping[str, str], options: Sequence[str], **kinds: type
) -> dict[str, Any] | None:
    """The plan of the folder; None if there was none, and the folder is begun: who called has to write its plan.

    It keeps the workloads as they were at first. workloads: their texts, by their names in the folder. kinds: of what
    the plan must have besides its options. UsageError if the folder has other workloads by these names, or was begun
    with other options of runs, or its plan is damaged.
    """
    folder, is_begun = plan_file.parent, plan_file.exists()
    for name, workload in workloads.items():
        kept = folder / f"{name}.yaml"
        if (is_begun or kept.exists()) and not (kept.exists() and kept.read_bytes() == workload.encode()):
            raise UsageError(f"{folder} has another workload, {kept}; name another --runs-folder")
    if not is_begun:
        with usage_errors(f"{folder} cannot be made", "name another --runs-folder"):
            folder.mkdir(parents=True, exist_ok=True)
            for name, workload in workloads.items():
                write_whole(folder / f"{name}.yaml", workload)
        return None
    with usage_errors(f"{plan_file} is damaged", "name another --runs-folder", (OSError, ValueError)):
        plan = json_object(plan_file.read_bytes())
        if wrong := [key for key, kind in {"options": list, **kinds}.items() if type(plan.get(key)) is not kind]:
            raise ValueError(f"its {wrong[0]} is damaged")
    before = list(map(str, plan["options"]))
    if before != list(options):
        given = " ".join(before) or "(none)"
        raise UsageError(f"{folder} was begun with the run options {given}; use them, or another --runs-folder")
    return plan
