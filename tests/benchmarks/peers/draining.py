"""How fast a contender works off what piled up while it stood still, warm, and what a message costs it then."""

import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from contenders import Contender
from rig import CLOCK, Rig, rig

from market_spread.common.processes import cpu_us_of
from market_spread.controller.plan.plan import PlannedLoad

MESSAGES = 3_000_000
WARM_UP_ROUNDS = 4
ROUNDS = 3
_RATE_PER_S = 1_000_000  # of the production; it ends before a consumer that stands still is given up for dead


@dataclass(frozen=True, slots=True)
class Drained:
    """Medians of the rounds of one process."""

    rate_per_s: float
    cpu_us_per_message: float


def drained(contender: Contender, *, scale: float = 1.0) -> Drained:
    """Let one process work off some backlogs; the first ones warm it up. scale: of the messages in a backlog."""
    workload = contender.workload(rate_per_s=20_000)
    messages = round(MESSAGES * scale)
    with tempfile.TemporaryDirectory() as folder, rig(contender, workload, Path(folder)) as running:
        rounds = [_round(running, messages, seed) for seed in range(WARM_UP_ROUNDS + ROUNDS)][WARM_UP_ROUNDS:]
    return Drained(median(it.rate_per_s for it in rounds), median(it.cpu_us_per_message for it in rounds))


def _round(running: Rig, messages: int, seed: int) -> Drained:
    """From the signal that lets it go on to the receipt of the last alert: what the receiver sees, not what it says."""
    load = _backlog(running, messages, seed)
    workers = running.workers()
    before = running.alerts_and_repeats()
    for process in workers:
        process.send_signal(signal.SIGSTOP)
    running.send(load)
    expected = running.rejected(load)
    used_us = _cpu_us(running)
    begun_us = CLOCK.unix_ns() // 1000
    for process in workers:
        process.send_signal(signal.SIGCONT)
    running.wait_for_alerts(before + expected)
    used_us = _cpu_us(running) - used_us
    elapsed_us = int(running.received_us()[-1]) - begun_us
    running.drain()  # the commit behind it is not waited for in the figure, but before the next round
    return Drained(messages / (elapsed_us / 1e6), used_us / messages)


def _backlog(running: Rig, messages: int, seed: int) -> PlannedLoad:
    profile = {"profile": "constant", "messages_per_s": _RATE_PER_S, "duration_s": messages / _RATE_PER_S}
    # Quotes and orders of a backlog race: only where no verdict changes is it known how many alerts to wait for.
    return running.plan.measured.with_parameters(seed=seed, profile=profile, tight_share=0)


def _cpu_us(running: Rig) -> int:
    return cpu_us_of(process for process in running.processes() if process.status() != psutil.STATUS_ZOMBIE)
