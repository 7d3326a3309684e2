"""What the tuner is told: by its environment, and of its pool's hosts by a profile, YAML that is checked as a whole."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema

from market_spread.common.schema import ONLY_KNOWN_KEYS, Schema, choice, flag, number, text
from market_spread.host_tuner.values import Cpus, parse_list

HOUSEKEEPING, AS_FOUND = "housekeeping", "as-found"

# It becomes a path below /proc/sys.
_SYSCTL = re.compile(r"(vm|kernel|net)(\.[a-z0-9_]+)+")
_SYSCTL_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTunerConfig:
    """Environment of the tuner."""

    profile: Annotated[Path, "The YAML file of what is wanted."]
    host_root: Annotated[Path, "Where the host's /proc and /sys are."] = Path("/host")
    state_folder: Annotated[Path, "Where the original settings are kept, on the host's disk."] = Path(
        "/var/lib/market-spread/host-tuner"
    )
    pod_resources_socket: Annotated[Path | None, "The kubelet's, to see which CPUs are whose."] = None
    node_name: Annotated[str | None, "This pod's node; unset outside Kubernetes."] = None
    namespace: Annotated[str | None, "This pod's; unset outside Kubernetes."] = None
    daemon_set: Annotated[str | None, "This pod's; unset outside Kubernetes."] = None
    interval_s: Annotated[float, "Seconds between two looks at the host, 0.1 to 3600."] = 10.0
    dry_run: Annotated[bool, "Only look: write nothing, on the host or to the node."] = False
    host: Annotated[str, "Address to listen on."] = "127.0.0.1"
    http_port: Annotated[int, "Port of health and metrics; 0 takes a free one."] = 9850
    ports_file: Annotated[Path | None, "Where to say which port was taken, as JSON."] = None

    def __post_init__(self) -> None:
        if not 0.1 <= self.interval_s <= 3600:
            raise ValueError(f"MARKET_SPREAD_INTERVAL_S={self.interval_s:g}; use 0.1 to 3600")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalConfig:
    """Environment of the removal."""

    namespace: Annotated[str, "The DaemonSet's."]
    daemon_set: Annotated[str, "The DaemonSet to remove."]
    deadline_s: Annotated[float, "Seconds that its pods have to put their hosts back."] = 120.0


@dataclass(frozen=True, slots=True)
class Sysctl:
    """A kernel parameter and its value; with at_most a smaller one is right, too."""

    name: str
    value: int
    at_most: bool = False


def _word(meaning: str) -> Any:
    return text(meaning, pattern="[a-z0-9_-]+", remedy="use small letters, digits, hyphens and underscores")


def _cpus(given: object) -> Cpus:
    try:
        return parse_list(given if isinstance(given, str) else "none")
    except ValueError:
        raise ValueError("use a list of CPUs such as '0,9' or '0-1'") from None


def _sysctls(given: object) -> tuple[Sysctl, ...]:
    if not isinstance(given, dict):
        raise ValueError("use an object")
    sysctls, wrong = [], []
    for name, limit in given.items():
        at_most = isinstance(limit, dict) and set(limit) == {"at_most"}
        value = limit["at_most"] if at_most else limit
        if not _SYSCTL.fullmatch(str(name)):
            wrong.append(f"{name} is not a name of a sysctl; use one such as vm.swappiness")
        elif not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _SYSCTL_MAX:
            of = f"{name}.at_most" if at_most else name
            wrong.append(f"{of}={value!r}; use a whole number from 0 to {_SYSCTL_MAX}")
        else:
            sysctls.append(Sysctl(name, value, at_most=at_most))
    if wrong:
        raise ValueError("\n".join(wrong))
    return tuple(sysctls)


_Sysctls = Annotated[tuple[Sysctl, ...], PlainValidator(_sysctls), WithJsonSchema({"type": "object"})]


@dataclass(frozen=True, slots=True)
class Applied:
    """What the tuner sets. None, and as-found, leave a setting alone.

    resume_latency_us: of the pinned CPUs; a C-state that takes longer to leave is not entered.
    """

    resume_latency_us: Annotated[int | None, number(0, 1_000_000, "Longest time to leave a C-state.")] = None
    governor: Annotated[str | None, _word("Of the frequency.")] = None
    turbo: Annotated[bool | None, flag("Whether it may be entered.")] = None
    transparent_hugepages: Annotated[str | None, choice(("always", "madvise", "never"), "When they are used.")] = None
    interrupts: Annotated[str, choice((HOUSEKEEPING, AS_FOUND), "On which CPUs they are kept.")] = AS_FOUND
    workqueues: Annotated[str, choice((HOUSEKEEPING, AS_FOUND), "On which CPUs they are kept.")] = AS_FOUND
    sysctls: _Sysctls = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """What is set at launch, if at all: the tuner only looks at it. None, and nothing, are not looked at.

    exclusive_cpus: whether the kubelet gives CPUs away for good, each container's on one NUMA node, and never a
    housekeeping one; frequency_mhz: of the pinned CPUs, within 1%; sysctls: those that only a privileged process may
    set, as kernel.numa_balancing.
    """

    smt: Annotated[bool | None, flag("Whether cores have two threads.")] = None
    kernel_arguments: tuple[
        Annotated[str, text("One.", pattern=r'[^\s"]+', remedy="use arguments without blanks, one each")], ...
    ] = ()
    swap: Annotated[bool | None, flag("Whether there is any.")] = None
    numa_nodes: Annotated[int | None, number(1, 1024, "How many.")] = None
    network_driver: Annotated[str | None, _word("Of the interface.")] = None
    frequency_mhz: Annotated[int | None, number(100, 10_000, "Of the pinned CPUs.")] = None
    exclusive_cpus: Annotated[bool, flag("Whether CPUs are given away for good.")] = False
    sysctls: _Sysctls = ()


@dataclass(frozen=True, slots=True)
class TuningProfile:
    """What the hosts of a pool should be like. All online CPUs but the housekeeping ones are called pinned."""

    __pydantic_config__ = ONLY_KNOWN_KEYS

    housekeeping_cpus: Annotated[Cpus, PlainValidator(_cpus), WithJsonSchema({"type": "string"})]
    applied: Annotated[Applied, Field(alias="apply")] = Applied()
    verified: Annotated[Verified, Field(alias="verify")] = Verified()


_PROFILE = Schema(TuningProfile)


def read_profile_file(path: Path) -> TuningProfile:
    """The profile of a file. UsageError naming every error with its line, and what would be right."""
    return _PROFILE.read_yaml(path, "tuning profile", "housekeeping_cpus")
