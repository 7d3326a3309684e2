"""A whole run of a contender, judged and documented as any run: its latencies, and what a message cost."""

import threading
from dataclasses import dataclass
from pathlib import Path

from contenders import Contender
from rich.console import Console

from market_spread.common.clock import SystemClock
from market_spread.controller.analysis.result import Result
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.session.execute import launch


@dataclass(frozen=True, slots=True)
class Steady:
    """A run at a steady rate. Latencies in ms, None where there are too few; hot and cold: by an order's symbol."""

    p50_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    p99_hot_ms: float | None
    p99_cold_ms: float | None
    cpu_us_per_message: float | None
    verdict: str
    reasons: tuple[str, ...]
    run_id: str


def steady(contender: Contender, rate_per_s: int, *, commit_s: float, runs_folder: Path, scale: float = 1.0) -> Steady:
    """Run the workload at a rate."""
    result = run(contender, rate_per_s, commit_s=commit_s, runs_folder=runs_folder, scale=scale)
    latency, by_key = result.latency_ns, result.latency_by_key_ns
    return Steady(
        p50_ms=_ms(latency["p50"]),
        p99_ms=_ms(latency["p99"]),
        p999_ms=_ms(latency["p99.9"]),
        p99_hot_ms=_ms(by_key["hot"]["p99"]) if "hot" in by_key else None,
        p99_cold_ms=_ms(by_key["cold"]["p99"]) if "cold" in by_key else None,
        cpu_us_per_message=result.cpu_us_per_message,
        verdict=result.verdict.value,
        reasons=result.reasons,
        run_id=result.run_id,
    )


def run(contender: Contender, rate_per_s: int, *, commit_s: float, runs_folder: Path, scale: float = 1.0) -> Result:
    """The run's result; its document is in runs_folder."""
    workload = contender.workload(rate_per_s=rate_per_s, commit_s=commit_s, scale=scale)
    return launch(
        plan_of_workload(workload),
        environment_of=lambda run_id, folder: contender.stack(workload, folder / "processes", run_id, folder.parent),
        runs_folder=runs_folder,
        clock=SystemClock(),
        console=Console(stderr=True, quiet=True),
        interrupted=threading.Event(),
    )


def _ms(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6
