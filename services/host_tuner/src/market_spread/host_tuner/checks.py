"""What the tuner only looks at, because it is set when the host is launched, or is the kubelet's."""

import re
from collections.abc import Callable, Iterator, Mapping

from market_spread.host_tuner.cpus import Cpus, format_list, parse_list
from market_spread.host_tuner.kubelet import Resources
from market_spread.host_tuner.profile import TuningProfile
from market_spread.host_tuner.report import AT_LAUNCH, BY_KUBELET, SettingOutcome, shown_together
from market_spread.host_tuner.settings import CPU, HostCpus, Setting, sysctl_setting
from market_spread.host_tuner.tree import Tree

NODES = "sys/devices/system/node"
BUSES = "sys/bus"

_NODE = re.compile(r"node\d+")
_FREQUENCY_TOLERANCE = 0.01
# What a driver's folder holds besides the devices that it drives.
_NO_DEVICES = frozenset({"bind", "unbind", "new_id", "remove_id", "uevent", "module"})


def checks(profile: TuningProfile, tree: Tree, cpus: HostCpus, resources: Resources | None) -> list[SettingOutcome]:
    """An outcome for everything that the profile has verified. No error of a single file ends it."""
    verified = profile.verified
    found = [_housekeeping(profile.housekeeping_cpus, cpus)]
    if verified.smt is not None:
        found.append(_guarded("smt", _on_off(verified.smt), lambda: _smt(tree)))
    found += (_kernel_argument(tree, argument) for argument in verified.kernel_arguments)
    if verified.swap is not None:
        found.append(_guarded("swap", _on_off(verified.swap), lambda: _swap(tree)))
    if verified.numa_nodes is not None:
        found.append(_guarded("numa_nodes", str(verified.numa_nodes), lambda: str(len(_numa_nodes(tree)))))
    if verified.network_driver is not None:
        driver = verified.network_driver
        found.append(_guarded("network_driver", driver, lambda: driver if _drives(tree, driver) else "no device of it"))
    if verified.frequency_mhz is not None:
        found.append(_frequency(verified.frequency_mhz, tree, cpus.pinned))
    found += (_sysctl(tree, sysctl_setting(sysctl)) for sysctl in verified.sysctls)
    if verified.exclusive_cpus:
        found += _placement(tree, cpus, resources)
    return found


def _guarded(name: str, wanted: str, look: Callable[[], str]) -> SettingOutcome:
    """An outcome that is right if what is found is what is wanted."""
    try:
        found = look()
    except (OSError, ValueError) as error:
        return SettingOutcome(
            name, wanted, "unreadable", AT_LAUNCH, ok=False, errors=(f"{name} cannot be read: {error}",)
        )
    return SettingOutcome(name, wanted, found, AT_LAUNCH, ok=found == wanted)


def _on_off(on: bool) -> str:
    return "on" if on else "off"


def _housekeeping(wanted: Cpus, cpus: HostCpus) -> SettingOutcome:
    ok = wanted == cpus.housekeeping and bool(wanted) and bool(cpus.pinned)
    return SettingOutcome(
        "housekeeping_cpus",
        f"{format_list(wanted)} and others",
        f"online are {format_list(cpus.online)}",
        AT_LAUNCH,
        ok=ok,
    )


def _smt(tree: Tree) -> str:
    return _on_off(tree.read(f"{CPU}/smt/active").strip() == "1")


def _kernel_argument(tree: Tree, argument: str) -> SettingOutcome:
    def look() -> str:
        return "given" if argument in tree.read("proc/cmdline").split() else "missing"

    return _guarded(f"kernel argument {argument}", "given", look)


def _sysctl(tree: Tree, setting: Setting) -> SettingOutcome:
    file = setting.files[0]
    try:
        text = tree.read(file.path)
    except OSError as error:
        reason = f"{file.path} cannot be read: {error.strerror}"
        return SettingOutcome(setting.name, setting.wanted, "unreadable", AT_LAUNCH, ok=False, errors=(reason,))
    return SettingOutcome(setting.name, setting.wanted, file.value.shown(text), AT_LAUNCH, ok=file.value.accepts(text))


def _swap(tree: Tree) -> str:
    # The first line is a heading.
    return _on_off(len(tree.read("proc/swaps").strip().splitlines()) > 1)


def _numa_nodes(tree: Tree) -> dict[str, Cpus]:
    """The CPUs of each node that has some."""
    nodes = (name for name in tree.names(NODES) if _NODE.fullmatch(name))
    found = {name: parse_list(tree.read(f"{NODES}/{name}/cpulist")) for name in nodes}
    return {name: cpus for name, cpus in found.items() if cpus}


def _drives(tree: Tree, driver: str) -> bool:
    """Whether any device is bound to the driver, whichever bus it is on."""
    return any(set(tree.names(f"{BUSES}/{bus}/drivers/{driver}")) - _NO_DEVICES for bus in tree.names(BUSES))


def _frequency(wanted_mhz: int, tree: Tree, pinned: Cpus) -> SettingOutcome:
    wanted = f"{wanted_mhz} MHz"
    found_mhz: dict[int, float] = {}
    try:
        for cpu in sorted(pinned):
            found_mhz[cpu] = int(tree.read(f"{CPU}/cpu{cpu}/cpufreq/scaling_cur_freq")) / 1000
    except (OSError, ValueError) as error:
        reason = f"the frequency cannot be read: {error}"
        return SettingOutcome("frequency", wanted, "unreadable", AT_LAUNCH, ok=False, errors=(reason,))
    ok = all(abs(mhz - wanted_mhz) <= wanted_mhz * _FREQUENCY_TOLERANCE for mhz in found_mhz.values())
    shown = shown_together((f"cpu{cpu}", f"{mhz:.0f} MHz") for cpu, mhz in found_mhz.items())
    return SettingOutcome("frequency", wanted, shown, AT_LAUNCH, ok=ok)


def _placement(tree: Tree, cpus: HostCpus, resources: Resources | None) -> Iterator[SettingOutcome]:
    """What the kubelet gives away is what we tune, and no container's CPUs are on two NUMA nodes."""
    wanted = format_list(cpus.pinned)
    if resources is None or resources.error is not None:
        reason = "the kubelet's socket is not configured" if resources is None else resources.error or ""
        yield SettingOutcome("exclusive_cpus", wanted, "unknown", BY_KUBELET, ok=False, errors=(reason,))
        return
    found = format_list(resources.allocatable) or "none: its CPU manager is not static"
    yield SettingOutcome("exclusive_cpus", wanted, found, BY_KUBELET, ok=_within(resources.allocatable, cpus.pinned))
    yield _on_one_node(tree, resources.exclusive)


def _within(allocatable: Cpus, pinned: Cpus) -> bool:
    return bool(allocatable) and allocatable <= pinned


def _on_one_node(tree: Tree, exclusive: Mapping[str, Cpus]) -> SettingOutcome:
    wanted = "a NUMA node each"
    try:
        nodes = _numa_nodes(tree)
    except (OSError, ValueError) as error:
        reason = f"the NUMA nodes cannot be read: {error}"
        return SettingOutcome("placement", wanted, "unreadable", BY_KUBELET, ok=False, errors=(reason,))
    apart = sorted(name for name, cpus in exclusive.items() if not any(cpus <= node for node in nodes.values()))
    found = f"{len(exclusive)} pinned containers, {len(apart)} of them on several nodes"
    errors = tuple(f"{name} has CPUs of several NUMA nodes: {format_list(exclusive[name])}" for name in apart)
    return SettingOutcome("placement", wanted, found, BY_KUBELET, ok=not apart, errors=errors)
