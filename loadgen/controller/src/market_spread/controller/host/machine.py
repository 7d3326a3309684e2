"""What machine a run was made on."""

import os
import platform
from dataclasses import dataclass

import psutil

from market_spread.controller.host.facts import Host


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts that a figure must be read with."""

    cpu_model: str
    cores: int
    memory_bytes: int
    kernel: str
    python: str


def this_machine() -> Machine:
    """The machine this runs on."""
    return Machine(
        cpu_model=str(Host().cpu()["model"] or platform.processor() or "unknown"),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=psutil.virtual_memory().total,
        kernel=platform.release(),
        python=platform.python_version(),
    )


def stolen_cpu_s() -> float:
    """CPU seconds that the hypervisor has given to someone else since the machine started."""
    return psutil.cpu_times().steal
