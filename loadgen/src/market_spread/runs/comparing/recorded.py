"""A finished run as comparisons, searches and histories see it. All that they read of a run's folder is read here."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from market_spread.common.errors import UsageError

RESULT_FILE = "result.json"
MANIFEST_FILE = "manifest.json"
SCHEMA_VERSIONS = (1, 2)

# The check of validity that a system which does not keep up fails itself, and those that fail with it; all others are
# of the rig and the machine. Unsteadiness alone is a warm-up that was too short.
_LAG = "lag_growing"
_WITH_LAG = frozenset({_LAG, "not_steady", "undecided"})

_WRONG_ALERTS = ("alerts_missing", "alerts_unexpected", "alerts_wrong")


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run that has come to a result.

    void_reasons: what else than the system made its figures; lag_reasons: that the system did not keep up, so that they
    would be others in a longer run; wrong_reasons: what was wrong with its alerts; each empty if nothing. figures:
    every number of the result by its path (`latency_ns.p99`). facts: what the run was made with, by name
    (`workload.load.messages_per_s`), each as text.
    """

    run_id: str
    folder: Path
    workload: str
    started: str
    verdict: str
    reasons: tuple[str, ...]
    void_reasons: tuple[str, ...]
    lag_reasons: tuple[str, ...]
    wrong_reasons: tuple[str, ...]
    figures: Mapping[str, float]
    facts: Mapping[str, str]

    @property
    def is_void(self) -> bool:
        """Whether something else than the system under test made its figures."""
        return bool(self.void_reasons)


def is_run(folder: Path) -> bool:
    """Whether the folder is that of a run with a result."""
    return (folder / RESULT_FILE).is_file()


def runs_below(folder: Path) -> list[RecordedRun]:
    """The runs in the folder, by their start; what has no result is left out."""
    folders = sorted(path for path in folder.iterdir() if is_run(path)) if folder.is_dir() else []
    return sorted((read_run(path) for path in folders), key=lambda run: (run.started, run.run_id))


def read_run(folder: Path) -> RecordedRun:
    """The run of a folder. UsageError if its result cannot be read."""
    result = _document(folder / RESULT_FILE)
    version = result.get("schema_version")
    if version not in SCHEMA_VERSIONS:
        known = " or ".join(str(number) for number in SCHEMA_VERSIONS)
        raise UsageError(f"{folder / RESULT_FILE} has schema_version {version!r}; this version reads {known}")
    try:
        return _run_of(folder, result)
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{folder / RESULT_FILE} is no result of a run: {error}; leave the folder out") from error


def _run_of(folder: Path, result: Mapping[str, Any]) -> RecordedRun:
    reasons = tuple(result["reasons"])
    verdicts = result.get("verdicts") or {}
    return RecordedRun(
        run_id=result["run_id"],
        folder=folder,
        workload=result["workload"],
        started=result["started"],
        verdict=result["verdict"],
        reasons=reasons,
        void_reasons=_void_reasons(result),
        lag_reasons=_lag_reasons(result),
        wrong_reasons=_against(verdicts.get("correct")) or _wrong_alerts(result),
        figures=dict(_numbers(result)),
        facts=_facts(folder, result),
    )


def _void_reasons(result: Mapping[str, Any]) -> tuple[str, ...]:
    if "verdicts" not in result:
        return tuple(result["reasons"]) if result["verdict"] == "void" else ()
    return () if _lag_reasons(result) else _against(result["verdicts"].get("valid"))


def _lag_reasons(result: Mapping[str, Any]) -> tuple[str, ...]:
    """The sentences of validity if the lag grew, and nothing failed but what fails with it."""
    failed = _failed_evidence((result.get("verdicts") or {}).get("valid"))
    checks = {evidence["check"] for evidence in failed}
    if _LAG not in checks or checks - _WITH_LAG:
        return ()
    return tuple(evidence["text"] for evidence in sorted(failed, key=lambda evidence: evidence["check"] != _LAG))


def _against(verdict: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The sentences that speak against the run; empty if its verdict does not."""
    if verdict is None or verdict["holds"] is not False:
        return ()
    return tuple(evidence["text"] for evidence in _failed_evidence(verdict)) or ("the run's verdict gives no reason",)


def _failed_evidence(verdict: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    return [evidence for evidence in (verdict or {}).get("evidence", []) if evidence["holds"] is False]


def _wrong_alerts(result: Mapping[str, Any]) -> tuple[str, ...]:
    """What the first version of the document says of it."""
    if result["verdict"] == "void" or "verdicts" in result:
        return ()
    return tuple(
        f"{result[name]} alerts are {name.removeprefix('alerts_')}" for name in _WRONG_ALERTS if result.get(name)
    )


def _facts(folder: Path, result: Mapping[str, Any]) -> Mapping[str, str]:
    """Of the manifest if there is one, else what the result itself says."""
    manifest = folder / MANIFEST_FILE
    if manifest.is_file():
        return dict(_texts(_document(manifest).get("sections", {})))
    known = {"machine": result["machine"], "settings": result["settings"]}
    return {**dict(_texts(known)), "workload": result["workload"], "mode": result["mode"]}


def _numbers(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{path}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield path + name, float(value)


def _texts(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _texts(value, f"{path}{name}.")
        else:
            yield path + name, value if isinstance(value, str) else json.dumps(value)


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name a folder of runs") from error
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}; leave its run out") from error
    if not isinstance(document, dict):
        raise UsageError(f"{path} is no JSON object; leave its run out")
    return document
