"""Which files of a host a profile means, and what each should hold."""

import errno
import re
from dataclasses import dataclass

from market_spread.common.processes import format_cpus
from market_spread.host_tuner.config import HOUSEKEEPING, Sysctl, TuningProfile
from market_spread.host_tuner.tree import HostTree
from market_spread.host_tuner.values import Cpus, Value, at_most, chosen, cpu_list, cpu_mask, exactly, parse_list

CPU, IRQ = "sys/devices/system/cpu", "proc/irq"
HUGE_PAGES = "sys/kernel/mm/transparent_hugepage"
WORKQUEUE_MASK = "sys/devices/virtual/workqueue/cpumask"

# How the kernel says that an interrupt is its own: one of a device's queue that belongs to a CPU, or of the CPU itself.
# Newer kernels take the write bits off such a file, too.
REFUSALS = frozenset({errno.EIO, errno.EPERM})

_NO_TURBO = f"{CPU}/intel_pstate/no_turbo"
_BOOST = f"{CPU}/cpufreq/boost"
_POLICY = re.compile(r"policy\d+")


@dataclass(frozen=True, slots=True)
class SettingFile:
    """A file of a setting. label: what tells it from the setting's others, for people."""

    path: str
    value: Value
    label: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that the tuner applies; without files the host has nothing to set.

    refusable: whether the kernel keeps some of the files to itself, which is no fault; see `REFUSALS`.
    """

    name: str
    wanted: str
    files: tuple[SettingFile, ...]
    refusable: bool = False


@dataclass(frozen=True, slots=True)
class HostCpus:
    """The host's online CPUs, and those of them that housekeeping stays on."""

    online: Cpus
    housekeeping: Cpus

    @property
    def pinned(self) -> Cpus:
        """Those that the kubelet may give away."""
        return self.online - self.housekeeping


def host_cpus(profile: TuningProfile, tree: HostTree) -> HostCpus:
    """The CPUs as they are now. OSError and ValueError if they cannot be read."""
    online = parse_list(tree.read(f"{CPU}/online"))
    return HostCpus(online, online & profile.housekeeping_cpus)


def settings(profile: TuningProfile, tree: HostTree, cpus: HostCpus) -> list[Setting]:
    """Everything that the profile has applied, with the files as they are there now: interrupts come and go."""
    applied = profile.applied
    found = (
        _c_states(applied.resume_latency_us, cpus.pinned) if applied.resume_latency_us is not None else None,
        _governor(applied.governor, tree) if applied.governor is not None else None,
        _turbo(applied.turbo, tree) if applied.turbo is not None else None,
        _huge_pages(applied.transparent_hugepages) if applied.transparent_hugepages is not None else None,
        _interrupts(cpus.housekeeping, tree) if applied.interrupts == HOUSEKEEPING else None,
        _workqueues(cpus.housekeeping) if applied.workqueues == HOUSEKEEPING else None,
    )
    return [*filter(None, found), *map(sysctl_setting, applied.sysctls)]


def _c_states(latency_us: int, pinned: Cpus) -> Setting:
    # The kernel reads 0 as "no constraint", and "n/a" as none but polling.
    text = str(latency_us) if latency_us else "n/a"
    files = (
        SettingFile(f"{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us", exactly(text), f"cpu{cpu}")
        for cpu in sorted(pinned)
    )
    return Setting("c_states", f"resume in {latency_us} us", tuple(files))


def _governor(governor: str, tree: HostTree) -> Setting:
    found = filter(_POLICY.fullmatch, tree.names(f"{CPU}/cpufreq"))
    policies = sorted(found, key=lambda name: int(re.sub(r"\D", "", name)))
    files = (SettingFile(f"{CPU}/cpufreq/{policy}/scaling_governor", exactly(governor), policy) for policy in policies)
    return Setting("governor", governor, tuple(files))


def _turbo(on: bool, tree: HostTree) -> Setting:
    files: list[SettingFile] = []
    if tree.has(_NO_TURBO):
        files.append(SettingFile(_NO_TURBO, exactly(str(int(not on))), "no_turbo"))
    elif tree.has(_BOOST):
        files.append(SettingFile(_BOOST, exactly(str(int(on))), "boost"))
    return Setting("turbo", "on" if on else "off", tuple(files))


def _huge_pages(word: str) -> Setting:
    files = tuple(SettingFile(f"{HUGE_PAGES}/{name}", chosen(word), name) for name in ("enabled", "defrag"))
    return Setting("transparent_hugepages", word, files)


def _interrupts(housekeeping: Cpus, tree: HostTree) -> Setting:
    files = [SettingFile(f"{IRQ}/default_smp_affinity", cpu_mask(housekeeping), "default")]
    numbers = sorted(filter(str.isdecimal, tree.names(IRQ)), key=int)
    files += (SettingFile(f"{IRQ}/{n}/smp_affinity_list", cpu_list(housekeeping), f"irq{n}") for n in numbers)
    wanted = f"on {format_cpus(housekeeping)}"
    return Setting("interrupts", wanted, tuple(files) if housekeeping else (), refusable=True)


def _workqueues(housekeeping: Cpus) -> Setting:
    files = (SettingFile(WORKQUEUE_MASK, cpu_mask(housekeeping), "cpumask"),)
    return Setting("workqueues", f"on {format_cpus(housekeeping)}", files if housekeeping else ())


def sysctl_setting(sysctl: Sysctl) -> Setting:
    """The file of a kernel parameter."""
    path = f"proc/sys/{sysctl.name.replace('.', '/')}"
    value = at_most(sysctl.value) if sysctl.at_most else exactly(str(sysctl.value))
    wanted = f"at most {sysctl.value}" if sysctl.at_most else str(sysctl.value)
    return Setting(sysctl.name, wanted, (SettingFile(path, value, sysctl.name),))
