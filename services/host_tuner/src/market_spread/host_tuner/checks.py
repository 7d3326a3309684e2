"""What the tuner only looks at, because it is set when the host is launched, or is the kubelet's."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from market_spread.common.processes import format_cpus
from market_spread.host_tuner.cluster import Resources
from market_spread.host_tuner.config import TuningProfile
from market_spread.host_tuner.settings import CPU, HostCpus, SettingFile, sysctl_setting
from market_spread.host_tuner.tree import HostTree
from market_spread.host_tuner.values import AT_LAUNCH, BY_KUBELET, Cpus, SettingOutcome, parse_list, shown_together

NODES = "sys/devices/system/node"
BUSES = "sys/bus"

_NODE = re.compile(r"node\d+")
_FREQUENCY_TOLERANCE = 0.01
# What a driver's folder holds besides the devices that it drives.
_NO_DEVICES = frozenset({"bind", "unbind", "new_id", "remove_id", "uevent", "module"})

# What is found, whether it is right, and what went wrong, a sentence each.
_Found = tuple[str, bool, tuple[str, ...]]


def checks(profile: TuningProfile, tree: HostTree, cpus: HostCpus, resources: Resources) -> list[SettingOutcome]:
    """An outcome for everything that the profile has verified. No error of a single file ends it."""
    verified = profile.verified
    driver = verified.network_driver
    # What is wanted, None if it is not looked at, and what is found, which must be the same.
    simple: tuple[tuple[str, str | None, Callable[[], str]], ...] = (
        ("smt", _wanted(verified.smt), lambda: _on_off(tree.read(f"{CPU}/smt/active").strip() == "1")),
        *((f"kernel argument {it}", "given", partial(_kernel_argument, tree, it)) for it in verified.kernel_arguments),
        # The first line is a heading.
        ("swap", _wanted(verified.swap), lambda: _on_off(len(tree.read("proc/swaps").strip().splitlines()) > 1)),
        ("numa_nodes", _wanted(verified.numa_nodes), lambda: str(len(_numa_nodes(tree)))),
        ("network_driver", driver, lambda: driver if driver and _drives(tree, driver) else "no device of it"),
    )
    wanted = profile.housekeeping_cpus
    ok = wanted == cpus.housekeeping and bool(wanted) and bool(cpus.pinned)
    online = f"online are {format_cpus(cpus.online)}"
    found = [SettingOutcome("housekeeping_cpus", f"{format_cpus(wanted)} and others", online, AT_LAUNCH, ok=ok)]
    found += (_guarded(name, want, look) for name, want, look in simple if want is not None)
    if (mhz := verified.frequency_mhz) is not None:
        found.append(_guarded("frequency", f"{mhz} MHz", partial(_frequency, mhz, tree, cpus.pinned)))
    for setting in map(sysctl_setting, verified.sysctls):
        found.append(_guarded(setting.name, setting.wanted, partial(_sysctl, tree, *setting.files)))
    if verified.exclusive_cpus:
        found += _placement(tree, cpus, resources)
    return found


def _guarded(name: str, wanted: str, look: Callable[[], _Found | str], how: str = AT_LAUNCH) -> SettingOutcome:
    """The outcome of a look at the host; what is found alone is right if it is what is wanted."""
    try:
        told = look()
    except (OSError, ValueError) as error:
        told = "unreadable", False, (f"{name} cannot be read: {error}",)
    found, ok, errors = (told, told == wanted, ()) if isinstance(told, str) else told
    return SettingOutcome(name, wanted, found, how, ok=ok, errors=errors)


def _wanted(value: bool | int | None) -> str | None:
    return None if value is None else _on_off(value) if isinstance(value, bool) else str(value)


def _on_off(on: bool) -> str:
    return "on" if on else "off"


def _kernel_argument(tree: HostTree, argument: str) -> str:
    return "given" if argument in tree.read("proc/cmdline").split() else "missing"


def _sysctl(tree: HostTree, file: SettingFile) -> _Found:
    text = tree.read(file.path)
    return file.value.shown(text), file.value.accepts(text), ()


def _numa_nodes(tree: HostTree) -> dict[str, Cpus]:
    """The CPUs of each node that has some."""
    nodes = (name for name in tree.names(NODES) if _NODE.fullmatch(name))
    found = {name: parse_list(tree.read(f"{NODES}/{name}/cpulist")) for name in nodes}
    return {name: cpus for name, cpus in found.items() if cpus}


def _drives(tree: HostTree, driver: str) -> bool:
    """Whether any device is bound to the driver, whichever bus it is on."""
    return any(set(tree.names(f"{BUSES}/{bus}/drivers/{driver}")) - _NO_DEVICES for bus in tree.names(BUSES))


def _frequency(wanted_mhz: int, tree: HostTree, pinned: Cpus) -> _Found:
    found_mhz = {cpu: int(tree.read(f"{CPU}/cpu{cpu}/cpufreq/scaling_cur_freq")) / 1000 for cpu in sorted(pinned)}
    ok = all(abs(mhz - wanted_mhz) <= wanted_mhz * _FREQUENCY_TOLERANCE for mhz in found_mhz.values())
    return shown_together((f"cpu{cpu}", f"{mhz:.0f} MHz") for cpu, mhz in found_mhz.items()), ok, ()


def _placement(tree: HostTree, cpus: HostCpus, resources: Resources) -> Iterator[SettingOutcome]:
    """What the kubelet gives away is what we tune, and no container's CPUs are on two NUMA nodes."""
    wanted = format_cpus(cpus.pinned)
    if resources.error is not None:
        yield SettingOutcome("exclusive_cpus", wanted, "unknown", BY_KUBELET, ok=False, errors=(resources.error,))
        return
    found = format_cpus(resources.allocatable) or "none: its CPU manager is not static"
    ok = bool(resources.allocatable) and resources.allocatable <= cpus.pinned
    yield SettingOutcome("exclusive_cpus", wanted, found, BY_KUBELET, ok=ok)
    yield _guarded("placement", "a NUMA node each", partial(_on_one_node, tree, resources.exclusive), BY_KUBELET)


def _on_one_node(tree: HostTree, exclusive: Mapping[str, Cpus]) -> _Found:
    nodes = _numa_nodes(tree).values()
    apart = sorted(name for name, cpus in exclusive.items() if not any(cpus <= node for node in nodes))
    found = f"{len(exclusive)} pinned containers, {len(apart)} of them on several nodes"
    errors = tuple(f"{name} has CPUs of several NUMA nodes: {format_cpus(exclusive[name])}" for name in apart)
    return found, not apart, errors
