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
    cpu, memory = host.cpu(), host.memory()
    cores, gigabytes = cpu["threads"], (memory["total_kb"] or 0)
    assert isinstance(cores, int)
    assert isinstance(gigabytes, int)
    checks = [
        HostCheck("cores", cores >= wanted.cores, str(cores), f"{wanted.cores} or more"),
        HostCheck(
            "memory",
            gigabytes >= wanted.memory_gb * 1e9 / 1024,
            f"{gigabytes * 1024 / 1e9:.1f} GB",
            f"{wanted.memory_gb:g} GB or more",
        ),
    ]
    seen = {"cpu": cpu, "memory": memory, "kernel": host.kernel(), "clock": host.clock()}
    return (*checks, *(_TUNED[name](seen) for name in MACHINE_CHECKS if name not in wanted.without))


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


def _equals(name: str, section: str, field: str, wanted: str) -> Callable[[Seen], HostCheck]:
    def check(seen: Seen) -> HostCheck:
        found = seen[section][field]
        return HostCheck(name, None if found is None else found == wanted, _text(found), wanted)

    return check


def _smt(seen: Seen) -> HostCheck:
    found = seen["cpu"]["smt"]
    siblings = seen["cpu"]["siblings_of_cpu0"]
    if found is None:
        holds = None if siblings is None else str(siblings) == "0"
        return HostCheck("smt", holds, _text(siblings and f"on: CPUs {siblings} share a core"), "off")
    return HostCheck("smt", found not in ("on",), _text(found), "off")


def _network(seen: Seen) -> HostCheck:
    found = seen["kernel"]["network_drivers"]
    holds = None if found is None else not {"vif", "xen_netfront"} & set(str(found).split(","))
    return HostCheck("network", holds, _text(found), "a driver with direct access, not vif")


def _system_cpus(seen: Seen) -> HostCheck:
    """The rest of the system has the hyper-threads of core 0, and everything else is kept for the run."""
    isolated, siblings = seen["cpu"]["isolated"], seen["cpu"]["siblings_of_cpu0"]
    if isolated is None or siblings is None:
        return HostCheck("system_cpus", None, "unknown", "the siblings of CPU 0")
    return HostCheck("system_cpus", bool(isolated), f"isolated: {isolated or 'none'}", f"all but {siblings} isolated")


def _tsc_reliable(seen: Seen) -> HostCheck:
    holds = bool(seen["cpu"]["tsc_reliable"]) or "tsc=reliable" in str(seen["kernel"]["command_line"])
    return HostCheck("tsc_reliable", holds, "reliable" if holds else "not known to be", "reliable")


def _text(found: object) -> str:
    return "unknown" if found is None or found == "" else str(found)


_TUNED: Mapping[str, Callable[[Seen], HostCheck]] = {
    "governor": _equals("governor", "cpu", "governor", "performance"),
    "turbo": _equals("turbo", "cpu", "turbo", "off"),
    "smt": _smt,
    "network": _network,
    "system_cpus": _system_cpus,
    "clock_source": _equals("clock_source", "clock", "source", "tsc"),
    "tsc_reliable": _tsc_reliable,
    "huge_pages": _equals("huge_pages", "memory", "transparent_huge_pages", "never"),
    "swappiness": _equals("swappiness", "kernel", "vm.swappiness", "0"),
}
