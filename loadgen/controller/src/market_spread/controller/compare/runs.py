"""A finished run as comparisons, searches and histories see it. All that they read of a run's folder is read here."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from market_spread.common.documents import json_object
from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.schema import value_of
from market_spread.controller.analysis.evidence import Achieved, Criterion, Verdict
from market_spread.controller.analysis.result import SCHEMA_VERSION
from market_spread.controller.run_folder import RunFolder, flat

PAIR_FILE = "pair.json"
# What reading a document raises whose values are of other kinds than they should be.
DAMAGED = (KeyError, TypeError, AttributeError, ValueError, OverflowError)
_BEHIND = (Criterion.LAG_GROWING, Criterion.STALLED)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a run: its pair, by number in a session of `ab`, and its arm."""

    session: str
    number: int
    arm: str

    def write(self, folder: Path) -> None:
        (folder / PAIR_FILE).write_text(json.dumps(asdict(self)) + "\n", "utf-8")


def read_place(folder: Path) -> Place | None:
    """The place of the run in the folder; None if it was made by itself. UsageError if the file is damaged."""
    path = folder / PAIR_FILE
    if not path.exists():
        return None
    with usage_errors(f"{path} is damaged", "delete it, and the run is of no pair", (OSError, ValueError)):
        return value_of(Place, json_object(path.read_bytes()))


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run that has come to a result, as that says it.

    void_reasons: why its latencies say nothing; lag_reasons: that the system did not keep up or stood still, so that
    they would be others in a longer run; wrong_reasons: what was wrong with its output; each empty if nothing. figures:
    every number of the result by its path (`latency_ns.p99`). facts: what the run was made with, by name
    (`workload.load.messages_per_s`), each as text. is_interrupted: by the user. place: its pair, if `ab` has made it.
    """

    run_id: str
    folder: Path
    workload: str
    started: str
    verdict: Verdict
    reasons: tuple[str, ...]
    void_reasons: tuple[str, ...]
    lag_reasons: tuple[str, ...]
    wrong_reasons: tuple[str, ...]
    figures: Mapping[str, float]
    facts: Mapping[str, str]
    achieved: Achieved
    is_interrupted: bool = False
    place: Place | None = None

    @property
    def started_s(self) -> float:
        """When it began, Unix seconds."""
        return datetime.fromisoformat(self.started).timestamp()

    @property
    def is_void(self) -> bool:
        """Whether something else than the system under test made its latencies."""
        return bool(self.void_reasons)


def is_run(folder: Path) -> bool:
    """Whether the folder is that of a run with a result."""
    return RunFolder(folder).result.exists()


def run_folders(folder: Path) -> list[Path]:
    """The folders in it that are those of runs with a result, by name; none if there is no such folder."""
    return sorted(path for path in folder.iterdir() if is_run(path)) if folder.is_dir() else []


def read_runs(folders: Iterable[Path]) -> tuple[list[RecordedRun], tuple[str, ...]]:
    """The runs of the folders, by their start; and of those that cannot be read, a sentence each."""
    runs, unreadable = [], []
    for folder in folders:
        try:
            runs.append(read_run(folder))
        except UsageError as error:
            unreadable.append(str(error))
    return sorted(runs, key=lambda run: (run.started, run.run_id)), tuple(unreadable)


def runs_below(folder: Path) -> list[RecordedRun]:
    """The runs in the folder that can be read, by their start."""
    return read_runs(run_folders(folder))[0]


def read_run(folder: Path) -> RecordedRun:
    """The run of a folder. UsageError if its result cannot be read."""
    path = RunFolder(folder).result
    result = _document(path)
    if (version := result.get("schema_version")) != SCHEMA_VERSION:
        raise UsageError(f"{path} has schema_version {version!r}; this version reads {SCHEMA_VERSION}, so use its own")
    with usage_errors(f"{path} is no result of a run", "leave the folder out", DAMAGED):
        return _run_of(folder, result)


def _run_of(folder: Path, result: Mapping[str, Any]) -> RecordedRun:
    verdict, reasons = Verdict(result["verdict"]), tuple(result["reasons"])
    rates = result["offered_rate_per_s"], result["achieved_rate_per_s"], result["messages_lost"]
    path = "latency_without_faults_ns" if result.get("latency_without_faults_ns") else "latency_ns"  # as it was judged
    achieved = Achieved(result[path], *rates, result["latency_clusters"].get(path, {}))
    if wrong := [each for each in (result["run_id"], result["workload"], *reasons) if not isinstance(each, str)]:
        raise TypeError(f"{wrong[0]!r} is no text")
    values = (*achieved.latency_ns.values(), *rates, *achieved.clusters.values())
    if wrong := [each for each in values if each is not None and type(each) not in (int, float)]:
        raise TypeError(f"{wrong[0]!r} is no number")
    datetime.fromisoformat(result["started"]).timestamp()
    failing = {
        question: [each for each in assessment["evidence"] if each["holds"] is False]
        for question, assessment in result["verdicts"].items()
    }
    behind = [each["text"] for of in failing.values() for each in of if each["check"] in _BEHIND]
    void = reasons if verdict is Verdict.VOID else [each["text"] for each in failing["valid"]]
    latencies_void = verdict is Verdict.VOID or result["latencies_void"]
    return RecordedRun(
        run_id=result["run_id"], folder=folder, workload=result["workload"], started=result["started"],
        verdict=verdict, reasons=reasons,
        void_reasons=tuple(void or ("it does not say why",)) if latencies_void else (),
        lag_reasons=tuple(behind) if verdict is Verdict.FAILED and not latencies_void else (),
        wrong_reasons=tuple(each["text"] for each in failing["correct"] if each["check"] in result["decisive"])
        if verdict is Verdict.FAILED else (),
        is_interrupted=any(each["check"] == Criterion.INTERRUPTED for each in failing["valid"]),
        figures={
            path: float(value)
            for path, value in flat(result).items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        },
        facts=_facts(folder, result), achieved=achieved, place=read_place(folder),
    )  # fmt: skip


def _facts(folder: Path, result: Mapping[str, Any]) -> Mapping[str, str]:
    """Of the manifest if there is one, else what the result itself says."""
    manifest = RunFolder(folder).manifest
    if manifest.exists():
        values = _document(manifest).get("sections", {})
    else:
        values = {name: result[name] for name in ("machine", "settings", "workload", "mode")}
    return {path: value if isinstance(value, str) else json.dumps(value) for path, value in flat(values).items()}


def _document(path: Path) -> dict[str, Any]:
    with usage_errors(f"{path} is no document of a run", "leave its run out", (OSError, ValueError)):
        return json_object(path.read_bytes())
