"""Figures of whole runs: the command is run as a user runs it, and its result read."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from figure import Figure, Figures

COMMAND = str(Path(sys.executable).parent / "market-spread")
WORKLOADS = Path("loadgen/workloads")
TIMEOUT_S = 3600
_PERCENTILES = ("p50", "p95", "p99", "p99.9", "max")


def latency(runs: Path) -> Figures:
    """Spark's published method: 1,000 messages a second, a record each, batches of five minutes."""
    return latencies(run(runs, "latency.yaml"))


def at_rate(rate_per_s: int) -> Callable[[Path], Figures]:
    """Latencies at a rate, frames of 2 ms."""
    return lambda runs: latencies(run(runs, "steady.yaml", "--rate", str(rate_per_s)))


def sustained(rate_per_s: int, workload: str = "sustained.yaml") -> Callable[[Path], Figures]:
    """Whether a rate is held for a minute: the rate achieved, and 1 if the run passed."""

    def measure(runs: Path) -> Figures:
        result = run(runs, workload, "--rate", str(rate_per_s))
        return [
            Figure("run passed", float(result["verdict"] == "passed"), "1 or 0"),
            Figure("achieved rate", result["achieved_rate_per_s"] or 0.0, "messages/s"),
            *latencies(result),
        ]

    return measure


def command(runs: Path, workload: str, *options: str) -> list[str]:
    """The command of a run, as a user gives it."""
    return [COMMAND, "run", str(WORKLOADS / workload), "--runs-folder", str(runs), "--json", *options]


def run(runs: Path, workload: str, *options: str) -> dict[str, Any]:
    """The result of a run, whatever its verdict."""
    ended = subprocess.run(
        command(runs, workload, *options), stdout=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT_S
    )
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def latencies(result: dict[str, Any]) -> Figures:
    """The figures of a run's result."""
    by_part = {"": result["latency_ns"], " between boundaries": result["latency_between_boundaries_ns"]}
    figures = [
        Figure(f"latency {percentile}{which}", values[percentile] / 1e6, "ms")
        for which, values in by_part.items()
        for percentile in _PERCENTILES
        if values[percentile] is not None
    ]
    extra = {
        "commit pause, longest": (result["boundary_gap_ns_max"], 1e6, "ms"),
        "commit pause, median": (result["boundary_gap_ns_median"], 1e6, "ms"),
        "batches, median": (result["batch_duration_ns_median"], 1e6, "ms"),
        "batches, longest": (result["batch_duration_ns_max"], 1e6, "ms"),
        "CPU of the job": (result["cpu_us_per_message"], 1, "us/message"),
        "CPU of the broker": (result["broker_cpu_us_per_message"], 1, "us/message"),
        "late frames": (result["frames_late"] / max(1, result["frames_sent"]), 0.01, "%"),
    }
    figures += [Figure(name, value / scale, unit) for name, (value, scale, unit) in extra.items() if value is not None]
    return figures
