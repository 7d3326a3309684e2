"""What the manifest says of the machine, read from /proc and /sys, and what a result says of it."""

import os
import platform
import re
from pathlib import Path
from typing import Any

import psutil

from market_spread.common.processes import format_cpus
from market_spread.controller.run_folder import Section

_ROOT = Path("/")
# Of each CPU, and of all of them: facts by their files.
_OF_A_CPU = {
    "governor": "cpufreq/scaling_governor", "frequency_driver": "cpufreq/scaling_driver",
    "frequency_khz_max": "cpufreq/scaling_max_freq",
}  # fmt: skip
_OF_CPUS = {
    "smt": "smt/control", "siblings_of_cpu0": "cpu0/topology/thread_siblings_list", "online": "online",
    "isolated": "isolated", "nohz_full": "nohz_full", "idle_driver": "cpuidle/current_driver",
}  # fmt: skip
_OF_THE_CGROUP = {
    "cgroup_cpu_max": "cpu.max", "cgroup_cpu_weight": "cpu.weight", "cgroup_cpuset": "cpuset.cpus.effective",
    "cgroup_memory_max": "memory.max", "cgroup_swap_max": "memory.swap.max",
}  # fmt: skip
# Settings of the kernel that a figure depends on; the host tuner sets most of them.
_SYSCTLS = (
    "vm/swappiness", "vm/dirty_ratio", "vm/dirty_background_ratio", "vm/min_free_kbytes", "vm/zone_reclaim_mode",
    "kernel/sched_rt_runtime_us", "kernel/sched_autogroup_enabled", "kernel/numa_balancing", "kernel/nmi_watchdog",
    "kernel/timer_migration", "net/core/busy_poll", "net/core/busy_read", "net/core/rmem_max", "net/core/wmem_max",
    "net/core/somaxconn", "net/core/netdev_max_backlog", "net/core/default_qdisc",
    "net/ipv4/tcp_congestion_control", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem",
)  # fmt: skip


class Host:
    """Facts of a machine. What cannot be read is None: a container may hide it."""

    def __init__(self, root: Path = _ROOT) -> None:
        """`root` is where its /proc and /sys are."""
        self._root = root

    def sections(self) -> dict[str, Section]:
        return {name: getattr(self, name)() for name in ("cpu", "kernel", "memory", "clock", "limits")}

    def cpu(self) -> Section:
        """Model, topology, and what changes its speed."""
        blocks = [block.splitlines() for block in (self.read("proc/cpuinfo") or "").split("\n\n") if block.strip()]
        pairs = [[line.partition(":") for line in block] for block in blocks]
        info = [{key.strip(): value.strip() for key, _, value in block} for block in pairs]
        first = info[0] if info else {}
        flags = first.get("flags", "").split()
        sockets = {each.get("physical id", "0") for each in info}
        cores = {(each.get("physical id", "0"), each.get("core id", str(number))) for number, each in enumerate(info)}
        return {
            "model": first.get("model name"),
            "microcode": first.get("microcode"),
            "sockets": len(sockets),
            "cores": len(cores),
            "threads": len(info),
            "numa_nodes": len(list((self._root / "sys/devices/system/node").glob("node[0-9]*"))) or None,
            "hypervisor": "hypervisor" in flags,
            "tsc_reliable": "constant_tsc" in flags and "nonstop_tsc" in flags,
            "turbo": self.turbo(),
            **{name: self._of_all_cpus(file) for name, file in _OF_A_CPU.items()},
            **{name: self.read(f"sys/devices/system/cpu/{file}") for name, file in _OF_CPUS.items()},
        }

    def kernel(self) -> Section:
        """Release, command line, settings, and the drivers of its network: of what is hardware, or pretends to be."""
        drivers = {link.resolve().name for link in (self._root / "sys/class/net").glob("*/device/driver")}
        return {
            "release": self.read("proc/sys/kernel/osrelease"),
            "version": self.read("proc/sys/kernel/version"),
            "command_line": self.read("proc/cmdline"),
            "network_drivers": ",".join(sorted(drivers)) or None,
            **{name.replace("/", "."): self.read(f"proc/sys/{name}") for name in _SYSCTLS},
        }

    def memory(self) -> Section:
        sizes = dict(re.findall(r"^(\w+): *(\d+)", self.read("proc/meminfo") or "", re.MULTILINE))
        return {
            "total_kb": int(sizes["MemTotal"]) if "MemTotal" in sizes else None,
            "swap_kb": int(sizes["SwapTotal"]) if "SwapTotal" in sizes else None,
            "transparent_huge_pages": self.chosen("sys/kernel/mm/transparent_hugepage/enabled"),
            "transparent_huge_pages_defrag": self.chosen("sys/kernel/mm/transparent_hugepage/defrag"),
            "huge_pages": sizes.get("HugePages_Total"),
        }

    def clock(self) -> Section:
        """What the kernel takes time from."""
        read = "sys/devices/system/clocksource/clocksource0/{}_clocksource".format
        return {"source": self.read(read("current")), "available": self.read(read("available"))}

    def limits(self) -> Section:
        """What this process's cgroup may use, and the CPUs that it may run on."""
        folder = self.cgroup()
        return {
            **{name: self.read(str(folder / file)) if folder else None for name, file in _OF_THE_CGROUP.items()},
            "affinity": format_cpus(os.sched_getaffinity(0)) if self._root == _ROOT else None,
        }

    def cgroup(self) -> Path | None:
        """The folder of this process's cgroup (version 2); None if there is none."""
        whole = self._root / "sys/fs/cgroup"
        for line in (self.read("proc/self/cgroup") or "").splitlines():
            if line.startswith("0::"):
                folder = whole / line[3:].lstrip("/")
                return folder if folder.is_dir() else whole
        return None

    def turbo(self) -> str | None:
        """`on` or `off`."""
        if (off := self.read("sys/devices/system/cpu/intel_pstate/no_turbo")) is not None:
            return "off" if off == "1" else "on"
        boost = self.read("sys/devices/system/cpu/cpufreq/boost")
        return None if boost is None else "on" if boost == "1" else "off"

    def chosen(self, path: str) -> str | None:
        """The word in brackets of a file such as `always [madvise] never`."""
        text = self.read(path)
        return text and (text.partition("[")[2].partition("]")[0] or text)

    def read(self, path: str) -> str | None:
        """A file's text without blanks at its ends; None if it cannot be read."""
        try:
            return (self._root / path).read_text().strip()
        except (OSError, UnicodeDecodeError):
            return None

    def _of_all_cpus(self, name: str) -> str | None:
        """The value that all CPUs have, or all values that there are."""
        files = (self._root / "sys/devices/system/cpu").glob(f"cpu[0-9]*/{name}")
        return ",".join(sorted({value for file in files if (value := self.read(str(file))) is not None})) or None


def this_machine() -> dict[str, Any]:
    """Facts of the machine this runs on that a figure must be read with."""
    return {
        "cpu_model": str(Host().cpu()["model"] or platform.processor() or "unknown"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def stolen_cpu_s() -> float:
    """CPU seconds that the hypervisor has given to someone else since the machine started."""
    return psutil.cpu_times().steal
