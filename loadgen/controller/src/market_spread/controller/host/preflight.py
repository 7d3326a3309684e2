"""The check of the host before a run: whether the machine is what the workload wants, and what differs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from market_spread.common.errors import UsageError
from market_spread.common.schema import choice, number
from market_spread.controller.host.facts import Host
from market_spread.controller.run_folder import Scalar, Section

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
