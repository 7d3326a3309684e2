"""A host that is not there: files that behave as the kernel's do, faults, and crashes between any two steps."""

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from market_spread.common.processes import format_cpus
from market_spread.host_tuner.cluster import KubeletSocket, Resources
from market_spread.host_tuner.tree import HostTree, Originals, RecordFile
from market_spread.host_tuner.values import parse_list, parse_mask

CPU = "sys/devices/system/cpu"
THP = "sys/kernel/mm/transparent_hugepage"
BOOT_ID = "fd3edfe3-a80e-4a05-a1b2-10a318427322"


class Crash(BaseException):
    """The process is gone; nothing may catch it."""


class Steps:
    """Counts what a process does to the world, and kills it before the step whose turn it is."""

    def __init__(self) -> None:
        self.done = 0
        self.crash_at: int | None = None

    def step(self) -> None:
        if self.done == self.crash_at:
            raise Crash
        self.done += 1


@dataclass
class FakeKernel:
    """The host's files in memory. How a file takes a write follows from its name, as in the kernel.

    kept: interrupts that the kernel keeps, by path, with the errno that a write gets, or None for a file without write
    bits; faults: errnos that any access, and write_faults that a write, gets.
    """

    files: dict[str, str]
    kept: Mapping[str, int | None] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    write_faults: dict[str, int] = field(default_factory=dict)
    steps: Steps = field(default_factory=Steps)
    writes: list[str] = field(default_factory=list)

    def read(self, path: str) -> str:
        self.steps.step()
        self._access(path)
        return self.files[path]

    def write(self, path: str, text: str) -> None:
        self.steps.step()
        self._access(path)
        fault = self.write_faults.get(path) or (path in self.kept and (self.kept[path] or errno.EACCES))
        if fault:
            raise OSError(fault, os.strerror(fault), path)
        self.files[path] = self._taken(path, text)
        self.writes.append(path)

    def writable(self, path: str) -> bool:
        self._access(path)
        return self.kept.get(path, errno.EIO) is not None

    def has(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name in self.names(folder)

    def names(self, folder: str) -> list[str]:
        inside = (path.removeprefix(f"{folder}/") for path in self.files if path.startswith(f"{folder}/"))
        return sorted({name.split("/")[0] for name in inside})

    def _access(self, path: str) -> None:
        fault = self.faults.get(path) or (errno.ENOENT if path not in self.files else 0)
        if fault:
            raise OSError(fault, os.strerror(fault), path)

    def _taken(self, path: str, text: str) -> str:
        """What the file reads after this was written into it."""
        text = text.strip()
        if path.startswith(THP):
            words = self.files[path].replace("[", "").replace("]", "").split()
            if text not in words:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
            return " ".join(f"[{word}]" if word == text else word for word in words) + "\n"
        if path.endswith("smp_affinity_list"):
            return f"{format_cpus(parse_list(text))}\n"
        if path.endswith(("default_smp_affinity", "cpumask")):
            width = len(self.files[path].strip())
            return f"{sum(1 << cpu for cpu in parse_mask(text)):0{width}x}\n"
        return f"{text}\n"


@dataclass
class FakeRecord:
    """A record that outlives the process, and can fail or be the place of a crash."""

    text: str | None = None
    steps: Steps = field(default_factory=Steps)
    fault: int = 0

    def read(self) -> str:
        if self.text is None:
            raise FileNotFoundError
        return self.text

    def replace(self, text: str) -> None:
        self._step()
        self.text = text

    def remove(self) -> None:
        self._step()
        self.text = None

    def _step(self) -> None:
        self.steps.step()
        if self.fault:
            raise OSError(self.fault, os.strerror(self.fault))


@dataclass
class FakeKubelet:
    """A kubelet that says what it is told to."""

    said: Resources = field(default_factory=Resources)

    def resources(self) -> Resources:
        return self.said


def tree(kernel: FakeKernel) -> HostTree:
    """The kernel, as what it stands for."""
    return cast(HostTree, kernel)


def socket(kubelet: FakeKubelet) -> KubeletSocket:
    """The kubelet, as what it stands for."""
    return cast(KubeletSocket, kubelet)


def originals(record: FakeRecord, boot_id: str = BOOT_ID) -> Originals:
    """What a process that starts now knows of the host as it was."""
    return Originals(cast(RecordFile, record), boot_id)


def host(*, cpus: int = 4, interrupts: Iterable[int] = (24, 25, 26), governor: str = "powersave") -> dict[str, str]:
    """The files of a host with all that the tuner knows, none of it as a latency node wants it."""
    last = cpus - 1
    everywhere = f"0-{last}\n" if last else "0\n"
    mask = f"{(1 << cpus) - 1:08x}\n"
    files = {
        f"{CPU}/online": everywhere,
        f"{CPU}/smt/active": "0\n",
        f"{CPU}/intel_pstate/no_turbo": "0\n",
        f"{THP}/enabled": "[always] madvise never\n",
        f"{THP}/defrag": "always defer defer+madvise [madvise] never\n",
        "proc/irq/default_smp_affinity": mask,
        "sys/devices/virtual/workqueue/cpumask": mask,
        "proc/sys/vm/swappiness": "60\n",
        "proc/sys/vm/stat_interval": "1\n",
        "proc/sys/kernel/numa_balancing": "1\n",
        "proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
        "proc/cmdline": "ro quiet intel_idle.max_cstate=1\n",
        "sys/devices/system/node/node0/cpulist": everywhere,
        "sys/bus/pci/drivers/ixgbevf/0000:00:03.0": "",
        "sys/bus/pci/drivers/ixgbevf/bind": "",
        "sys/bus/pci/drivers/e1000/bind": "",
    }
    for cpu in range(cpus):
        files[f"{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us"] = "0\n"
        files[f"{CPU}/cpufreq/policy{cpu}/scaling_governor"] = f"{governor}\n"
        files[f"{CPU}/cpu{cpu}/cpufreq/scaling_cur_freq"] = "2899000\n"
    for number in interrupts:
        files[f"proc/irq/{number}/smp_affinity_list"] = everywhere
    return files


def until_crash(steps: Steps, at: int, process: Callable[[], object]) -> bool:
    """Run what a process does, and kill it before its step of this number. Whether it was killed."""
    steps.done, steps.crash_at = 0, at
    try:
        process()
    except Crash:
        return True
    finally:
        steps.crash_at = None
    return False
