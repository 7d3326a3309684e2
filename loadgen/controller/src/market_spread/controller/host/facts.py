"""What the manifest says of the machine, read from /proc and /sys, and whether it is what a workload wants."""

import os
import platform
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psutil
import yaml
from pydantic import Field

from market_spread.common.errors import UsageError
from market_spread.common.processes import format_cpus
from market_spread.common.schema import choice, number
from market_spread.controller.run_folder import Scalar, Section

_ROOT = Path("/")
# By section, the facts that are what a file says.
_FILES = Path(__file__).with_name("facts.yaml")
PREFLIGHTS = ("none", "warn", "strict")
# The checks of the reference's environment script, by the names that a workload leaves them out with.
MACHINE_CHECKS = (
    "governor", "turbo", "smt", "network", "system_cpus", "clock_source", "tsc_reliable", "huge_pages", "swappiness",
)  # fmt: skip
_MachineCheck = Annotated[str, choice(MACHINE_CHECKS, "")]


class Host:
    """Facts of a machine. What cannot be read is None: a container may hide it."""

    def __init__(self, root: Path = _ROOT) -> None:
        """`root` is where its /proc and /sys are."""
        self._root = root

    def sections(self) -> dict[str, Section]:
        """The facts by section: cpu, kernel, memory, clock and limits."""
        cgroup = self.cgroup() or "none"
        # The drivers of its network: of what is hardware, or pretends to be. The CPUs that this process may run on.
        drivers = {link.resolve().name for link in (self._root / "sys/class/net").glob("*/device/driver")}
        affinity = format_cpus(os.sched_getaffinity(0)) if self._root == _ROOT else None
        computed: dict[str, dict[str, Scalar]] = {
            "cpu": self.cpu(), "memory": self._memory(), "limits": {"affinity": affinity},
            "kernel": {"network_drivers": ",".join(sorted(drivers)) or None},
        }  # fmt: skip
        return {
            section: {name: self._shown(path.format(cgroup=cgroup)) for name, path in files.items()}
            | computed.get(section, {})
            for section, files in yaml.safe_load(_FILES.read_text("utf-8")).items()
        }

    def cpu(self) -> dict[str, Scalar]:
        """Model, topology, and what changes its speed."""
        blocks = [block.splitlines() for block in (self.read("proc/cpuinfo") or "").split("\n\n") if block.strip()]
        pairs = [[line.partition(":") for line in block] for block in blocks]
        info = [{key.strip(): value.strip() for key, _, value in block} for block in pairs]
        first = info[0] if info else {}
        flags = first.get("flags", "").split()
        sockets = {each.get("physical id", "0") for each in info}
        cores = {(each.get("physical id", "0"), each.get("core id", str(number))) for number, each in enumerate(info)}
        return {
            "model": first.get("model name"), "microcode": first.get("microcode"), "sockets": len(sockets),
            "cores": len(cores), "threads": len(info),
            "numa_nodes": len(list((self._root / "sys/devices/system/node").glob("node[0-9]*"))) or None,
            "hypervisor": "hypervisor" in flags, "tsc_reliable": "constant_tsc" in flags and "nonstop_tsc" in flags,
            "turbo": self._turbo(),
        }  # fmt: skip

    def _memory(self) -> dict[str, Scalar]:
        sizes = dict(re.findall(r"^(\w+): *(\d+)", self.read("proc/meminfo") or "", re.MULTILINE))
        return {
            "total_kb": int(sizes["MemTotal"]) if "MemTotal" in sizes else None,
            "swap_kb": int(sizes["SwapTotal"]) if "SwapTotal" in sizes else None,
            "transparent_huge_pages": self._chosen("sys/kernel/mm/transparent_hugepage/enabled"),
            "transparent_huge_pages_defrag": self._chosen("sys/kernel/mm/transparent_hugepage/defrag"),
            "huge_pages": sizes.get("HugePages_Total"),
        }

    def cgroup(self) -> Path | None:
        """The folder of this process's cgroup (version 2); None if there is none."""
        whole = self._root / "sys/fs/cgroup"
        for line in (self.read("proc/self/cgroup") or "").splitlines():
            if line.startswith("0::"):
                folder = whole / line[3:].lstrip("/")
                return folder if folder.is_dir() else whole
        return None

    def _turbo(self) -> str | None:
        """`on` or `off`."""
        if (off := self.read("sys/devices/system/cpu/intel_pstate/no_turbo")) is not None:
            return "off" if off == "1" else "on"
        boost = self.read("sys/devices/system/cpu/cpufreq/boost")
        return None if boost is None else "on" if boost == "1" else "off"

    def _shown(self, path: str) -> str | None:
        """The value that all files of the path have, or all values that there are; None if none can be read."""
        if "*" not in path:
            return self.read(path)
        found = {self.read(str(file)) for file in self._root.glob(path)} - {None}
        return ",".join(sorted(map(str, found))) or None

    def read(self, path: str) -> str | None:
        """A file's text without blanks at its ends; None if it cannot be read."""
        try:
            return (self._root / path).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None

    def _chosen(self, path: str) -> str | None:
        """The word in brackets of a file such as `always [madvise] never`."""
        text = self.read(path)
        return text and (text.partition("[")[2].partition("]")[0] or text)


def this_machine() -> dict[str, Any]:
    """Facts of the machine this runs on that a figure must be read with."""
    return {
        "cpu_model": str(Host().cpu()["model"] or platform.processor() or "unknown"),
        "cores": len(os.sched_getaffinity(0)), "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(), "python": platform.python_version(),
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class MachineKeys:
    """What machine a workload wants."""

    cores: Annotated[int, number(1, 4096, "CPUs that the machine must have.")] = 1
    memory_gb: Annotated[float, number(0, 1_000_000, "Memory that it must have.")] = 0
    without: Annotated[tuple[_MachineCheck, ...], Field(description="Checks of a tuned host that are left out.")] = ()


@dataclass(frozen=True, slots=True)
class HostCheck:
    """One check of the machine. holds: None if the machine does not say (a guest of a hypervisor hides much)."""

    name: str
    holds: bool | None
    found: str
    wanted: str

    @property
    def sentence(self) -> str:
        return f"{self.name} is {self.found}, wanted is {self.wanted}"


def check_host(host: Host, wanted: MachineKeys, preflight: str) -> tuple[HostCheck, ...]:
    """All checks that the workload wants; none with `preflight: none`."""
    if preflight == "none":
        return ()
    seen = host.sections()
    cores, gigabytes = int(seen["cpu"]["threads"] or 0), int(seen["memory"]["total_kb"] or 0) * 1024 / 1e9
    of_size = {
        "cores": (cores >= wanted.cores, str(cores), f"{wanted.cores} or more"),
        "memory": (gigabytes >= wanted.memory_gb, f"{gigabytes:.1f} GB", f"{wanted.memory_gb:g} GB or more"),
    }
    checks = of_size | _tuning(seen)
    return tuple(HostCheck(name, *found) for name, found in checks.items() if name not in wanted.without)


def require_passed(checks: tuple[HostCheck, ...], preflight: str, say: Callable[[str], None]) -> None:
    """Say what differs. UsageError with all of it with `preflight: strict`."""
    if not (differing := [check for check in checks if check.holds is False]):
        return
    sentence = "; ".join(check.sentence for check in differing)
    if preflight == "strict":
        raise UsageError(
            f"the machine is not what the workload wants: {sentence}; "
            "tune the host, choose another one, or set preflight: warn in the workload"
        )
    say(f"the machine differs from a tuned one in {len(differing)} of {len(checks)} checks: {sentence}")


def _tuning(seen: Mapping[str, Section]) -> dict[str, tuple[bool | None, str, str]]:
    """Whether each check of a tuned host holds, what is found, and what is wanted, as a `HostCheck` has them."""
    cpu, kernel = seen["cpu"], seen["kernel"]
    smt, siblings, isolated, drivers = cpu["smt"], cpu["siblings_of_cpu0"], cpu["isolated"], kernel["network_drivers"]
    smt_is_off = smt != "on"
    if smt is None:
        smt, smt_is_off = siblings and f"on: CPUs {siblings} share a core", str(siblings) == "0"
    # The rest of the system has the hyper-threads of core 0, and everything else is kept for the run.
    found = f"all but {isolated}" if isolated else "all, as none is isolated"
    isolation = bool(isolated), found, f"{siblings} alone, all others isolated"
    tsc_is_reliable = bool(cpu["tsc_reliable"]) or "tsc=reliable" in str(kernel["command_line"])

    def equals(found: Scalar, wanted: str) -> tuple[bool | None, str, str]:
        return None if found is None else found == wanted, _text(found), wanted

    return {
        "governor": equals(cpu["governor"], "performance"),
        "turbo": equals(cpu["turbo"], "off"),
        "smt": (None if smt is None else smt_is_off, _text(smt), "off"),
        "network": (
            None if drivers is None else not {"vif", "xen_netfront"} & set(str(drivers).split(",")),
            _text(drivers),
            "a driver with direct access, not vif",
        ),
        "system_cpus": (None, "unknown", "the siblings of CPU 0") if None in (isolated, siblings) else isolation,
        "clock_source": equals(seen["clock"]["source"], "tsc"),
        "tsc_reliable": (tsc_is_reliable, "reliable" if tsc_is_reliable else "not known to be", "reliable"),
        "huge_pages": equals(seen["memory"]["transparent_huge_pages"], "never"),
        "swappiness": equals(kernel["vm.swappiness"], "0"),
    }


def _text(found: object) -> str:
    return "unknown" if found is None or found == "" else str(found)
