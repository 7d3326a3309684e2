"""The check of the host before a run: whether the machine is what the workload wants, and what differs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from market_spread.common.errors import UsageError
from market_spread.common.schema import choice, number
from market_spread.controller.host.facts import Host
from market_spread.controller.run_folder.manifest import Section

PREFLIGHTS = ("none", "warn", "strict")
# The checks of the reference's environment script, by the names that a workload leaves them out with.
MACHINE_CHECKS = (
    "governor", "turbo", "smt", "network", "system_cpus", "clock_source", "tsc_reliable", "huge_pages", "swappiness",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MachineKeys:
    """What machine a workload wants."""

    cores: Annotated[int, number(1, 4096, "CPUs that the machine must have.")] = 1
    memory_gb: Annotated[float, number(0, 1_000_000, "Memory that it must have.")] = 0
    without: Annotated[
        tuple[Annotated[str, choice(MACHINE_CHECKS, "")], ...],
        Field(description="Checks of a tuned host that are left out."),
    ] = ()


@dataclass(frozen=True, slots=True)
class HostCheck:
    """One check of the machine. holds: None if the machine does not say (a guest of a hypervisor hides much)."""

    name: str
    holds: bool | None
    found: str
    wanted: str

    @property
    def sentence(self) -> str:
        """What differs."""
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
    tuned = {name: _TUNED[name](seen) for name in MACHINE_CHECKS if name not in wanted.without}
    return tuple(HostCheck(name, *found) for name, found in (of_size | tuned).items())


def require_passed(checks: tuple[HostCheck, ...], preflight: str, say: Callable[[str], None]) -> None:
    """Say what differs. UsageError with all of it with `preflight: strict`."""
    differing = [check for check in checks if check.holds is False]
    if not differing:
        return
    sentence = "; ".join(check.sentence for check in differing)
    if preflight == "strict":
        raise UsageError(
            f"the machine is not what the workload wants: {sentence}; "
            "tune the host, choose another one, or set preflight: warn in the workload"
        )
    say(f"the machine differs from a tuned one in {len(differing)} of {len(checks)} checks: {sentence}")


Seen = Mapping[str, Section]
# Whether a check holds, what is found, and what is wanted, as a `HostCheck` has them.
_Found = tuple[bool | None, str, str]


def _equals(section: str, field: str, wanted: str) -> Callable[[Seen], _Found]:
    def check(seen: Seen) -> _Found:
        found = seen[section][field]
        return None if found is None else found == wanted, _text(found), wanted

    return check


def _smt(seen: Seen) -> _Found:
    found, siblings = seen["cpu"]["smt"], seen["cpu"]["siblings_of_cpu0"]
    if found is None:
        holds = None if siblings is None else str(siblings) == "0"
        return holds, _text(siblings and f"on: CPUs {siblings} share a core"), "off"
    return found != "on", _text(found), "off"


def _network(seen: Seen) -> _Found:
    found = seen["kernel"]["network_drivers"]
    holds = None if found is None else not {"vif", "xen_netfront"} & set(str(found).split(","))
    return holds, _text(found), "a driver with direct access, not vif"


def _system_cpus(seen: Seen) -> _Found:
    """The rest of the system has the hyper-threads of core 0, and everything else is kept for the run."""
    isolated, siblings = seen["cpu"]["isolated"], seen["cpu"]["siblings_of_cpu0"]
    if isolated is None or siblings is None:
        return None, "unknown", "the siblings of CPU 0"
    return bool(isolated), f"isolated: {isolated or 'none'}", f"all but {siblings} isolated"


def _tsc_reliable(seen: Seen) -> _Found:
    holds = bool(seen["cpu"]["tsc_reliable"]) or "tsc=reliable" in str(seen["kernel"]["command_line"])
    return holds, "reliable" if holds else "not known to be", "reliable"


def _text(found: object) -> str:
    return "unknown" if found is None or found == "" else str(found)


_TUNED: Mapping[str, Callable[[Seen], _Found]] = {
    "governor": _equals("cpu", "governor", "performance"),
    "turbo": _equals("cpu", "turbo", "off"),
    "smt": _smt,
    "network": _network,
    "system_cpus": _system_cpus,
    "clock_source": _equals("clock", "source", "tsc"),
    "tsc_reliable": _tsc_reliable,
    "huge_pages": _equals("memory", "transparent_huge_pages", "never"),
    "swappiness": _equals("kernel", "vm.swappiness", "0"),
}
