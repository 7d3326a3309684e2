"""The profile of a pool's hosts: what is applied, and what must have been set at launch; YAML, checked as a whole."""

import re
from dataclasses import dataclass
from pathlib import Path

from market_spread.common.mapping import MappingReader
from market_spread.common.yaml_file import read_yaml
from market_spread.host_tuner.cpus import Cpus, parse_list

HOUSEKEEPING = "housekeeping"
AS_FOUND = "as-found"

# It becomes a path below /proc/sys.
_SYSCTL = re.compile(r"(vm|kernel|net)(\.[a-z0-9_]+)+")
_SYSCTL_MAX = 2**31 - 1
_ARGUMENT = re.compile(r"[^\s\"]+")


@dataclass(frozen=True, slots=True)
class Sysctl:
    """A kernel parameter and its value; with at_most a smaller one is right, too."""

    name: str
    value: int
    at_most: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """What the tuner sets. None, and as-found, leave a setting alone.

    resume_latency_us: of the pinned CPUs; a C-state that takes longer to leave is not entered; interrupts, workqueues:
    whether they are kept on the housekeeping CPUs.
    """

    resume_latency_us: int | None = None
    governor: str | None = None
    turbo: bool | None = None
    transparent_hugepages: str | None = None
    interrupts: bool = False
    workqueues: bool = False
    sysctls: tuple[Sysctl, ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """What is set at launch, if at all: the tuner only looks at it. None, and nothing, are not looked at.

    exclusive_cpus: whether the kubelet gives CPUs away for good, each container's on one NUMA node, and never a
    housekeeping one; frequency_mhz: of the pinned CPUs, within 1%; sysctls: those that only a privileged process may
    set, as kernel.numa_balancing.
    """

    smt: bool | None = None
    kernel_arguments: tuple[str, ...] = ()
    swap: bool | None = None
    numa_nodes: int | None = None
    network_driver: str | None = None
    frequency_mhz: int | None = None
    exclusive_cpus: bool = False
    sysctls: tuple[Sysctl, ...] = ()


@dataclass(frozen=True, slots=True)
class TuningProfile:
    """What the hosts of a pool should be like. All online CPUs but the housekeeping ones are called pinned."""

    housekeeping_cpus: Cpus
    applied: Applied = Applied()
    verified: Verified = Verified()


def read_profile_file(path: Path) -> TuningProfile:
    """The profile of a file. UsageError naming every error with its line, and what would be right."""
    return read_yaml(path, "tuning profile", "housekeeping_cpus", lambda reader, _: _read(reader))


def _read(reader: MappingReader) -> TuningProfile:
    return TuningProfile(
        housekeeping_cpus=_cpus(reader),
        applied=_applied(reader.optional_part("apply")),
        verified=_verified(reader.optional_part("verify")),
    )


def _cpus(reader: MappingReader) -> Cpus:
    text = reader.text("housekeeping_cpus")
    try:
        return parse_list(text)
    except ValueError:
        reader.refuse(f"housekeeping_cpus={text!r}; use a list of CPUs such as '0,9' or '0-1'")
        return frozenset()


def _applied(reader: MappingReader) -> Applied:
    return Applied(
        resume_latency_us=_optional_integer(reader, "resume_latency_us", high=1_000_000),
        governor=_optional_word(reader, "governor"),
        turbo=reader.optional_boolean("turbo"),
        transparent_hugepages=reader.choice("transparent_hugepages", ("always", "madvise", "never"))
        if reader.has("transparent_hugepages")
        else None,
        interrupts=_on_housekeeping(reader, "interrupts"),
        workqueues=_on_housekeeping(reader, "workqueues"),
        sysctls=_sysctls(reader.optional_part("sysctls")),
    )


def _verified(reader: MappingReader) -> Verified:
    return Verified(
        smt=reader.optional_boolean("smt"),
        kernel_arguments=_arguments(reader),
        swap=reader.optional_boolean("swap"),
        numa_nodes=_optional_integer(reader, "numa_nodes", low=1, high=1024),
        network_driver=_optional_word(reader, "network_driver"),
        frequency_mhz=_optional_integer(reader, "frequency_mhz", low=100, high=10_000),
        exclusive_cpus=bool(reader.optional_boolean("exclusive_cpus")),
        sysctls=_sysctls(reader.optional_part("sysctls")),
    )


def _optional_integer(reader: MappingReader, name: str, *, low: int = 0, high: int) -> int | None:
    return reader.integer(name, low=low, high=high) if reader.has(name) else None


def _optional_word(reader: MappingReader, name: str) -> str | None:
    if not reader.has(name):
        return None
    word = reader.text(name)
    if word and not re.fullmatch(r"[a-z0-9_-]+", word):
        reader.refuse(f"{name}={word!r}; use small letters, digits, hyphens and underscores")
    return word


def _on_housekeeping(reader: MappingReader, name: str) -> bool:
    return reader.choice(name, (HOUSEKEEPING, AS_FOUND), AS_FOUND) == HOUSEKEEPING


def _arguments(reader: MappingReader) -> tuple[str, ...]:
    arguments = reader.texts("kernel_arguments") if reader.has("kernel_arguments") else []
    for argument in arguments:
        if not _ARGUMENT.fullmatch(argument):
            reader.refuse(f"kernel_arguments={argument!r}; use arguments without blanks, one each")
    return tuple(arguments)


def _sysctls(reader: MappingReader) -> tuple[Sysctl, ...]:
    sysctls = []
    for name in reader.names():
        if not _SYSCTL.fullmatch(name):
            reader.skip(name)
            reader.refuse(f"{name} is no name of a sysctl; use one such as vm.swappiness")
        elif reader.is_part(name):
            part = reader.part(name)
            sysctls.append(Sysctl(name, part.integer("at_most", low=0, high=_SYSCTL_MAX), at_most=True))
        else:
            sysctls.append(Sysctl(name, reader.integer(name, low=0, high=_SYSCTL_MAX)))
    return tuple(sysctls)
