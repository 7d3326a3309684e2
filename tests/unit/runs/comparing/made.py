"""Runs and groups for tests, without a run having been made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from market_spread.runs.comparing.groups import Group
from market_spread.runs.comparing.recorded import RecordedRun

PERCENTILES = ("p50", "p95", "p99", "p99.9", "p99.99", "max")


def run(number: int = 0, figures: Mapping[str, float] | None = None, **changes: Any) -> RecordedRun:
    """A valid run that passed; runs with higher numbers are started later."""
    made = RecordedRun(
        run_id=f"run-{number}",
        folder=Path(f"/runs/run-{number}"),
        workload="quick",
        started=f"2026-01-01T{number // 60:02}:{number % 60:02}:00+00:00",
        verdict="passed",
        reasons=(),
        void_reasons=(),
        wrong_reasons=(),
        lag_reasons=(),
        figures=dict(figures or {}),
        facts={},
    )
    return replace(made, **changes)


def group(name: str, values: Sequence[float], path: str = "latency_ns.p99", first_number: int = 0) -> Group:
    """A group whose runs have these values of a figure."""
    return Group(name, tuple(run(first_number + 2 * number, {path: value}) for number, value in enumerate(values)))


def write_run(folder: Path, number: int = 0, p99_ms: float = 20.0, **changes: Any) -> Path:
    """Write the result of a run as the run controller does, and return its folder."""
    run_id = f"20260101-{number:06}-quick"
    latency = dict.fromkeys(PERCENTILES) | {"p50": round(p99_ms * 5e5), "p99": round(p99_ms * 1e6)}
    document = {
        "schema_version": 1,
        "run_id": run_id,
        "workload": "quick",
        "verdict": "passed",
        "reasons": [],
        "started": f"2026-01-01T{number // 60:02}:{number % 60:02}:00+00:00",
        "mode": "real-time",
        "alerts_missing": 0,
        "alerts_unexpected": 0,
        "alerts_wrong": 0,
        "messages_failed": 0,
        "offered_rate_per_s": 20_000.0,
        "achieved_rate_per_s": 19_990.0,
        "latency_ns": latency,
        "cpu_us_per_message": 5.0,
        "machine": {"cores": 2, "cpu_model": "A CPU"},
        "settings": {"seed": 1, "load": {"profile": "constant", "messages_per_s": 20_000}},
    } | changes
    (folder / run_id).mkdir(parents=True)
    (folder / run_id / "result.json").write_text(json.dumps(document))
    return folder / run_id


def second_schema(*, valid: bool = True, correct: bool = True, failed: Sequence[str] = ()) -> dict[str, Any]:
    """The verdicts of the second version of the document; the failed checks are those of what does not hold."""
    evidence = [
        {"check": check, "holds": False, "value": 1, "limit": 0, "unit": "share", "text": f"{check} says so"}
        for check in failed
    ]
    good = [{"check": "swap", "holds": True, "value": 0, "limit": 0, "unit": "bytes", "text": "nothing was swapped"}]
    return {
        "schema_version": 2,
        "verdict": "passed" if valid and correct else "failed" if valid else "void",
        "verdicts": {
            "valid": {"holds": valid, "evidence": good if valid else evidence + good},
            "correct": {"holds": correct, "evidence": [] if correct else evidence},
            "objectives": {"holds": None, "evidence": []},
        },
    }
