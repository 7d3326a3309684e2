"""What machine a run was made on."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path


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
        cpu_model=_field(Path("/proc/cpuinfo"), "model name") or platform.processor() or "unknown",
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=platform.release(),
        python=platform.python_version(),
    )


def stolen_cpu_s() -> float:
    """CPU seconds that the hypervisor has given to someone else since the machine started."""
    first = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(first[8]) / float(os.sysconf("SC_CLK_TCK"))


def _field(path: Path, name: str) -> str | None:
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None
