"""The drain of a backlog, warm: how fast the job works off what piled up while it stood still, and at which cost."""

import signal
import tempfile
from dataclasses import replace
from pathlib import Path

import psutil
from figure import Figure, Figures

from market_spread.common.clock import SystemClock
from market_spread.common.layout import WARM_UP_ORDER_ID_MIN
from market_spread.common.processes import cpu_us
from market_spread.common.schedule import Constant
from market_spread.loadgen.parameters import MarketParameters
from market_spread.runs.clients import Clients
from market_spread.runs.ensemble import Ensemble, JobSettings
from market_spread.runs.jars import JarCache
from market_spread.runs.java import find_java
from market_spread.runs.plan import PlannedLoad, plan_of_workload
from market_spread.runs.workload import Overrides, read_workload
from market_spread.v1.control_pb2 import Phase

MESSAGES = 6_000_000
WARM_UP_ROUNDS = 2
_RATE_PER_S = 1_000_000
_TIMEOUT_S = 300
_CLOCK = SystemClock()


def figures(_runs: Path) -> Figures:
    """One drain of a backlog, after two others to warm up."""
    with tempfile.TemporaryDirectory() as folder:
        return measure_drain(Path(folder))


def measure_drain(folder: Path) -> Figures:
    """The job's JVM is stopped by a signal while the backlog is produced, so it stays as warm as it was.

    The rate is taken from the continuation to the moment when the job's live count, which is up to a second old, has
    all messages; the CPU is that of the job's processes in this time.
    """
    profile = Overrides(rate_per_s=_RATE_PER_S, duration_s=MESSAGES / _RATE_PER_S)
    workload = read_workload(Path("loadgen/workloads/steady.yaml"), profile)
    plan = plan_of_workload(workload)
    job = replace(JobSettings.of(workload), batch_s=60)
    ensemble = Ensemble(folder=folder, java=find_java(), jars=JarCache(), job=job, clock=_CLOCK)
    clients = Clients(ensemble.start())
    try:
        _wait_for_running_job(clients)
        clients.start_receiving("drain", WARM_UP_ORDER_ID_MIN)
        total = _send(clients, plan.initial)
        parameters = MarketParameters.from_mapping(plan.measured.parameters)
        for number in range(WARM_UP_ROUNDS + 1):
            driver = psutil.Process(ensemble.children["job"].pid)
            backlog = replace(parameters, seed=number, profile=Constant(_RATE_PER_S, MESSAGES / _RATE_PER_S))
            java = next(child for child in driver.children(recursive=True) if "java" in child.name())
            java.send_signal(signal.SIGSTOP)
            total += _send(clients, PlannedLoad("market", backlog.to_mapping()))
            before_us, begun_ns = cpu_us(driver, children=True), _CLOCK.monotonic_ns()
            java.send_signal(signal.SIGCONT)
            _wait_until_processed(clients, total)
            seconds = (_CLOCK.monotonic_ns() - begun_ns) / 1e9
            used_us = cpu_us(driver, children=True) - before_us
    finally:
        clients.close()
        ensemble.stop()
    return [
        Figure("rate", MESSAGES / seconds, "messages/s"),
        Figure("CPU of the job", used_us / MESSAGES, "us/message"),
    ]


def _send(clients: Clients, load: PlannedLoad) -> int:
    clients.start_sending(load, run_id="drain", linger_us=1_000_000, frame_messages=200)
    while (status := clients.sender_status()).phase != Phase.PHASE_FINISHED:
        if status.phase == Phase.PHASE_FAILED:
            raise RuntimeError(status.detail)
        _CLOCK.sleep_ns(100_000_000)
    return int(status.messages_sent)


def _wait_for_running_job(clients: Clients) -> None:
    while clients.job_status().phase != Phase.PHASE_RUNNING:
        _CLOCK.sleep_ns(100_000_000)


def _wait_until_processed(clients: Clients, messages: int) -> None:
    deadline_ns = _CLOCK.monotonic_ns() + _TIMEOUT_S * 10**9
    while clients.job_status().messages_processed < messages:
        if _CLOCK.monotonic_ns() > deadline_ns:
            raise TimeoutError(f"the backlog was not worked off within {_TIMEOUT_S} s")
        _CLOCK.sleep_ns(100_000_000)
