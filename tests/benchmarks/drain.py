"""The drain of a backlog, warm: how fast the job works off what piled up while it stood still, and at which cost."""

import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from figure import Figure, Figures

from market_spread.common.clock import SystemClock
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.load.schedule import Constant
from market_spread.common.processes import cpu_us_of, family
from market_spread.controller.clients.services import Clients
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.plan.plan import PlannedLoad, plan_of_workload
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.loadgen.market.parameters import MARKET
from market_spread.v1.control_pb2 import Phase, StartSendingRequest

MESSAGES = 6_000_000
ROUNDS = 6
# How many rounds it takes until they no longer get shorter: in micro-batch mode each batch is planned, and Java goes on
# compiling the planner for a minute.
REAL_TIME_WARM_UP_ROUNDS = 3
MICRO_BATCH_WARM_UP_ROUNDS = 8
# A round of Real-Time Mode takes about a third of a batch, so that some meet a boundary and most do not.
REAL_TIME = {"job": {"mode": "real-time", "batch_s": 60}}
MICRO_BATCH = {"job": {"mode": "micro-batch", "batch_s": 0, "shuffle_partitions": 2}, "market": {"partitions": 2}}
_RATE_PER_S = 1_000_000
_TIMEOUT_S = 300
_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Round:
    """A backlog that was worked off."""

    rate_per_s: float
    cpu_us_per_message: float
    across_boundary: bool


def micro_batch(_runs: Path) -> Figures:
    """Medians over the rounds of one job in micro-batch mode, whose batches are short."""
    with tempfile.TemporaryDirectory() as folder:
        return _medians(list(drains(Path(folder), MICRO_BATCH, MICRO_BATCH_WARM_UP_ROUNDS)), "")


def real_time(_runs: Path) -> Figures:
    """Medians over the rounds of one job in Real-Time Mode, those that met a batch boundary apart."""
    with tempfile.TemporaryDirectory() as folder:
        rounds = list(drains(Path(folder), REAL_TIME, REAL_TIME_WARM_UP_ROUNDS))
    between = [found for found in rounds if not found.across_boundary]
    across = [found for found in rounds if found.across_boundary]
    return [*_medians(between, " between boundaries"), *_medians(across, " across a boundary")]


def _medians(rounds: Sequence[Round], which: str) -> Figures:
    if not rounds:
        return []
    return [
        Figure(f"rate{which}", median(found.rate_per_s for found in rounds), "messages/s"),
        Figure(f"CPU of the job{which}", median(found.cpu_us_per_message for found in rounds), "us/message"),
    ]


def drains(folder: Path, changes: Mapping[str, Any], warm_up_rounds: int) -> Iterator[Round]:
    """Rounds of one job, after some to warm it up. changes: what is not as in the sustained workload.

    The job's JVM is stopped by a signal while the backlog is produced, so it stays as warm as it was. The rate is taken
    from the continuation to the moment when the job's live count, which is up to a second old, has all messages; the
    CPU is that of the job's processes in this time.
    """
    profile = Overrides(rate_per_s=_RATE_PER_S, duration_s=MESSAGES / _RATE_PER_S)
    workload = read_workload(Path("loadgen/workloads/sustained.yaml"), profile).changed(**changes)
    plan = plan_of_workload(workload)
    stack = LocalStack(folder=folder, java=find_java(), jars=JarCache(), workload=workload, clock=_CLOCK)
    clients = Clients(stack.start())
    try:
        _wait_for_running_job(clients)
        clients.start_receiving("drain")
        total = _send(clients, plan.initial)
        parameters = MARKET.read(plan.measured.parameters)
        driver = psutil.Process(stack.children["job"].pid)
        java = next(child for child in driver.children(recursive=True) if "java" in child.name())
        for number in range(warm_up_rounds + ROUNDS):
            backlog = replace(parameters, seed=number, profile=Constant(_RATE_PER_S, MESSAGES / _RATE_PER_S))
            java.send_signal(signal.SIGSTOP)
            total += _send(clients, PlannedLoad("market", MARKET.to_mapping(backlog)))
            batch, before_us, begun_ns = clients.job_status().batch_id, _cpu_us(driver), _CLOCK.monotonic_ns()
            java.send_signal(signal.SIGCONT)
            _wait_until_processed(clients, total)
            rate_per_s = MESSAGES / ((_CLOCK.monotonic_ns() - begun_ns) / 1e9)
            used_us = _cpu_us(driver) - before_us
            if number >= warm_up_rounds:
                yield Round(rate_per_s, used_us / MESSAGES, clients.job_status().batch_id > batch)
    finally:
        clients.close()
        stack.stop()


def _cpu_us(driver: psutil.Process) -> int:
    return cpu_us_of(family(driver))


def _send(clients: Clients, load: PlannedLoad) -> int:
    clients.start_sending(load, StartSendingRequest(run_id="drain", linger_us=1_000_000, frame_messages=200))
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
