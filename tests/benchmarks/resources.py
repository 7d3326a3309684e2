"""What the job takes beside its work: CPU while nothing comes, and whether its memory stays as it is."""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil
import whole_runs
from figure import Figure, Figures

from market_spread.common.clock import SystemClock
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.processes import cpu_us_of, family
from market_spread.controller.clients.services import Clients
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.v1.control_pb2 import Phase

_STEADY = "steady.yaml"
_IDLE_WARM_UP_S = 60
_IDLE_S = 60
_MEMORY_RATE_PER_S = 100_000
_MEMORY_S = 600
_SAMPLE_S = 5.0
_COMPARED_S = 120


def idle(_runs: Path) -> Figures:
    """CPU of a job that is running and has nothing to do, in cores."""
    workload = read_workload(whole_runs.WORKLOADS / _STEADY, Overrides())
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as folder:
        workload = workload.changed(job={"batch_s": 30.0})
        stack = LocalStack(folder=Path(folder), java=find_java(), jars=JarCache(), workload=workload, clock=clock)
        clients = Clients(stack.start())
        try:
            while clients.job_status().phase != Phase.PHASE_RUNNING:
                time.sleep(0.5)
            time.sleep(_IDLE_WARM_UP_S)
            driver = psutil.Process(stack.children["job"].pid)
            before_us, begun_ns = cpu_us_of(family(driver)), clock.monotonic_ns()
            time.sleep(_IDLE_S)
            used_us, taken_us = cpu_us_of(family(driver)) - before_us, (clock.monotonic_ns() - begun_ns) / 1000
        finally:
            clients.close()
            stack.stop()
    return [Figure("CPU of an idle job", used_us / taken_us, "cores")]


def memory(runs: Path) -> Figures:
    """Resident memory of the job in a run of ten minutes: the first two minutes beside the last two."""
    load = ["--rate", str(_MEMORY_RATE_PER_S), "--duration", str(_MEMORY_S)]
    samples: list[tuple[float, int]] = []
    with subprocess.Popen(
        whole_runs.command(runs, _STEADY, *load), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        while "measuring" not in (line := run.stderr.readline()):
            if not line:
                raise RuntimeError("the run ended before it began to measure")
        begun_s = time.monotonic()
        job = _job_of(run.pid)
        while (elapsed_s := time.monotonic() - begun_s) < _MEMORY_S:
            samples.append((elapsed_s, _resident_bytes(job)))
            time.sleep(_SAMPLE_S)
        stdout, _ = run.communicate(timeout=whole_runs.TIMEOUT_S)
    result = json.loads(stdout)
    first = median(size for elapsed_s, size in samples if elapsed_s < _COMPARED_S)
    last = median(size for elapsed_s, size in samples if elapsed_s >= _MEMORY_S - _COMPARED_S)
    return [
        Figure("run passed", float(result["verdict"] == "passed"), "1 or 0"),
        Figure("memory in the first two minutes", first / 2**20, "MiB"),
        Figure("memory in the last two minutes", last / 2**20, "MiB"),
        Figure("growth", (last / first - 1) * 100, "%"),
        *whole_runs.latencies(result),
    ]


def _job_of(controller: int) -> psutil.Process:
    children = psutil.Process(controller).children(recursive=True)
    return next(child for child in children if "market_spread.streaming.driver" in child.cmdline())


def _resident_bytes(job: psutil.Process) -> int:
    return sum(process.memory_info().rss for process in (job, *job.children(recursive=True)))
