"""A redundant pair: latency across the batch boundaries of both jobs, and the silence when one is killed."""

import json
import subprocess
import time
from pathlib import Path

import numpy as np
import psutil
import whole_runs
from figure import Figure, Figures

from market_spread.common.wire.codec import decode_ledger
from market_spread.loadgen.columns import Alerts

WORKLOAD = "pair.yaml"
_KILL_AFTER_S = 60
_LOOK_US = 10_000_000


def undisturbed(runs: Path) -> Figures:
    """Both jobs alive for two minutes."""
    return whole_runs.latencies(whole_runs.run(runs, WORKLOAD))


def killed(runs: Path) -> Figures:
    """One of them is killed in the midst: the longest time without an alert in the seconds after it."""
    command = whole_runs.command(runs, WORKLOAD)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        while "measuring" not in (line := run.stderr.readline()):
            if not line:
                raise RuntimeError("the run ended before it began to measure")
        time.sleep(_KILL_AFTER_S)
        killed_us = _kill_a_job(run.pid)
        stdout, _ = run.communicate(timeout=whole_runs.TIMEOUT_S)
    result = json.loads(stdout)
    (ledger,) = (runs / result["run_id"]).glob("processes/receiver/*/alerts.ledger")
    rows = decode_ledger(ledger.read_bytes())
    alerts = Alerts.from_rows(rows.rows, rows.received_us)
    firsts = np.unique(alerts.order_id, return_index=True)[1]  # the ledger is in the order of receipt
    received_us = np.sort(alerts.received_us[firsts])
    near = received_us[(received_us > killed_us - 1_000_000) & (received_us < killed_us + _LOOK_US)]
    return [
        Figure("run passed", float(result["verdict"] == "passed"), "1 or 0"),
        Figure("longest silence after the kill", float(np.diff(near).max()) / 1000, "ms"),
        Figure("alerts missing", float(result["alerts_missing"]), "alerts"),
    ]


def _kill_a_job(controller: int) -> int:
    """Kill a driver and its JVM; when that was, Unix microseconds."""
    children = psutil.Process(controller).children(recursive=True)
    driver = next(child for child in children if "market_spread.streaming.driver" in child.cmdline())
    family = [*driver.children(recursive=True), driver]
    for process in family:
        process.kill()
    return time.time_ns() // 1000
