"""Runs and groups for tests, without a run having been made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from market_spread.controller.analysis.evidence import Achieved, Cause, Criterion, Verdict
from market_spread.controller.compare.groups import Group
from market_spread.controller.compare.runs import RecordedRun

PERCENTILES = ("p50", "p95", "p99", "p99.9", "p99.99", "max")


def run(number: int = 0, figures: Mapping[str, float] | None = None, **changes: Any) -> RecordedRun:
    """A valid run that passed; runs with higher numbers are started later."""
    made = RecordedRun(
        run_id=f"run-{number}",
        folder=Path(f"/runs/run-{number}"),
        workload="quick",
        started=f"2026-01-01T{number // 60:02}:{number % 60:02}:00+00:00",
        verdict=Verdict.PASSED,
        reasons=(),
        void_reasons=(),
        wrong_reasons=(),
        lag_reasons=(),
        figures=dict(figures or {}),
        facts={},
        achieved=Achieved({}, 20_000.0, 19_990.0, 0),
    )
    return replace(made, **changes)


def group(name: str, values: Sequence[float], path: str = "latency_ns.p99", first_number: int = 0) -> Group:
    """A group whose runs have these values of a figure."""
    return Group(name, tuple(run(first_number + 2 * number, {path: value}) for number, value in enumerate(values)))


def write_run(folder: Path, number: int = 0, p99_ms: float = 20.0, **changes: Any) -> Path:
    """Write the result of a run as the run controller does, and return its folder."""
    run_id = f"20260101-{number:06}-quick"
    latency = dict.fromkeys(PERCENTILES) | {"p50": round(p99_ms * 5e5), "p99": round(p99_ms * 1e6)}
    document: dict[str, Any] = {
        "schema_version": 4,
        "run_id": run_id,
        "workload": "quick",
        "verdict": "passed",
        "cause": None,
        "latencies_void": changes.get("verdict") == "void",
        "reasons": [],
        "verdicts": assessments(),
        "started": f"2026-01-01T{number // 60:02}:{number % 60:02}:00+00:00",
        "mode": "real-time",
        "alerts_missing": 0,
        "alerts_unexpected": 0,
        "alerts_wrong": 0,
        "messages_failed": 0,
        "messages_lost": 0,
        "offered_rate_per_s": 20_000.0,
        "achieved_rate_per_s": 19_990.0,
        "latency_ns": latency,
        "latency_clusters": {},
        "cpu_us_per_message": 5.0,
        "machine": {"cores": 2, "cpu_model": "A CPU"},
        "settings": {"seed": 1, "load": {"profile": "constant", "messages_per_s": 20_000}},
    } | changes
    evidence = [each for of in document["verdicts"].values() for each in of["evidence"]]
    document = {"decisive": [each["check"] for each in evidence if each["holds"] is False]} | document
    (folder / run_id).mkdir(parents=True)
    (folder / run_id / "result.json").write_text(json.dumps(document))
    return folder / run_id


def assessments(*failed: str) -> dict[str, Any]:
    """The assessments of a result in which these checks fail; each says so."""

    def assessed(criteria: Sequence[Criterion]) -> dict[str, Any]:
        failing = [
            {"check": check, "holds": False, "value": 1, "limit": 0, "unit": "share", "text": f"{check} says so"}
            for check in failed
            if check in criteria
        ]
        good = {"check": criteria[0], "holds": True, "value": 0, "limit": 0, "unit": "", "text": "all is well"}
        return {"holds": not failing, "evidence": [*failing, good]}

    system = [criterion for criterion in Criterion if criterion.cause is Cause.SYSTEM]
    rig = [criterion for criterion in Criterion if criterion.cause is Cause.RIG]
    lag = system.index(Criterion.LAG_GROWING)
    return {
        "correct": assessed(system[:lag]),
        "valid": assessed(rig),
        "objectives": assessed(system[lag:]),
    }


def judged(verdict: Verdict, *failed: str, latencies_void: bool | None = None) -> dict[str, Any]:
    """What a result says of a run in which these checks fail."""
    return {
        "verdict": verdict.value,
        "cause": {"passed": None, "failed": "system", "void": "rig"}[verdict.value],
        "latencies_void": verdict is Verdict.VOID if latencies_void is None else latencies_void,
        "reasons": [f"{check} says so" for check in failed],
        "verdicts": assessments(*failed),
    }
