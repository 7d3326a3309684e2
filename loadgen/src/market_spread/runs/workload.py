"""A workload: what a run offers and to which job, read from YAML, checked as a whole."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from market_spread.common.errors import UsageError
from market_spread.common.mapping import MappingReader
from market_spread.common.schedule import Constant, Profile, read_profile
from market_spread.loadgen.parameters import REJECTED_SHARE
from market_spread.loadgen.symbols import BUCKETS_MAX, SYMBOLS_MAX, SYMBOLS_MIN, accepting_count
from market_spread.streaming.modes.settings import (
    BATCH_S_DEFAULT,
    BATCH_S_MIN,
    MODES,
    REAL_TIME,
    REPLICAS_BATCH_S_MIN,
)

FRAME_MESSAGES_MAX = 100_000
# It becomes a part of the run's id, and so of a folder's name.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_ONE_IN = re.compile(r"1 in ([1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Workload:
    """What a run offers. Times are seconds but for linger_ms."""

    name: str
    seed: int
    profile: Profile
    symbols: int
    changing_symbols: int
    rejected_share: float
    order_share: float
    probes_per_s: int
    partitions: int
    frame_messages: int
    linger_ms: float
    mode: str
    batch_s: float
    shuffle_partitions: int
    driver_memory: str
    replicas: int
    warm_up_batches: int
    warm_up_s: float
    settle_s: float
    late_ms: float
    late_share_max: float
    p99_ms_max: float | None

    @property
    def slots(self) -> int:
        """How many tasks of the job run at the same time."""
        return 2 * self.partitions + self.shuffle_partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What the command line changes of a workload; None leaves it."""

    rate_per_s: int | None = None
    duration_s: float | None = None
    mode: str | None = None
    symbols: int | None = None
    frame_messages: int | None = None


def read_workload(path: Path, overrides: Overrides | None = None) -> Workload:
    """The workload of a file. UsageError naming every error with its line, and what would be right."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"the workload {path} cannot be read: {reason}; name a YAML file") from error
    try:
        mapping = yaml.safe_load(text)
        lines = _lines(text)
    except yaml.YAMLError as error:
        raise UsageError(f"the workload {path} is no YAML: {' '.join(str(error).split())}") from error
    except _ContainsItselfError as error:
        raise UsageError(f"{path}:{error.line}: this part contains itself; write it out without the alias") from error
    if not isinstance(mapping, dict):
        raise UsageError(f"the workload {path} is no mapping; start with name:")
    reader = MappingReader(mapping)
    workload = _read(reader, mapping)
    errors = reader.errors()
    if errors:
        raise UsageError("\n".join(_with_line(path, sentence, lines) for sentence in errors))
    return overridden(workload, overrides or Overrides())


def _read(reader: MappingReader, mapping: Mapping[str, object]) -> Workload:
    """The workload of a parsed file; the reader keeps what is wrong with it."""
    market, frames, job = reader.part("market"), reader.part("frames"), reader.part("job")
    warm_up = reader.part("warm_up")
    limits = reader.optional_part("limits")
    profile = read_profile(reader.part("load"))
    mode = job.choice("mode", MODES, REAL_TIME)
    workload = Workload(
        name=_name(reader),
        seed=reader.integer("seed", low=0, high=2**63 - 1),
        profile=profile,
        symbols=market.integer("symbols", low=SYMBOLS_MIN, high=SYMBOLS_MAX),
        changing_symbols=market.integer("changing_symbols", low=0, high=SYMBOLS_MAX, default=0),
        rejected_share=_rejected_share(market, mapping),
        order_share=market.number("order_share", low=0, high=1, default=0.5),
        probes_per_s=market.integer("probes_per_s", low=1, high=100_000, default=200),
        partitions=market.integer("partitions", low=1, high=BUCKETS_MAX),
        frame_messages=frames.integer("messages", low=1, high=FRAME_MESSAGES_MAX),
        linger_ms=frames.number("linger_ms", low=0, high=10_000),
        mode=mode,
        batch_s=job.number("batch_s", low=BATCH_S_MIN[mode], high=3600, default=BATCH_S_DEFAULT[mode]),
        shuffle_partitions=job.integer("shuffle_partitions", low=1, high=1000, default=1),
        driver_memory=job.choice("memory", ("1g", "2g", "3g", "4g", "8g", "16g"), "2g"),
        replicas=job.integer("replicas", low=1, high=2, default=1),
        warm_up_batches=warm_up.integer("batches", low=0, high=1000, default=30),
        warm_up_s=warm_up.number("duration_s", low=1, high=3600),
        settle_s=warm_up.number("settle_s", low=0, high=3600, default=0),
        late_ms=limits.number("late_ms", low=1, high=10_000, default=10),
        late_share_max=limits.number("late_share", low=0, high=1, default=0.001),
        p99_ms_max=limits.number("p99_ms", low=0.001, high=3_600_000) if "p99_ms" in _part(mapping, "limits") else None,
    )
    if reader.clean:
        if workload.settle_s * 1e9 >= profile.duration_ns:
            warm_up.refuse(f"settle_s={workload.settle_s:g}; use less than the load's {profile.duration_ns / 1e9:g} s")
        if workload.replicas > 1 and workload.batch_s < REPLICAS_BATCH_S_MIN:
            job.refuse(f"batch_s={workload.batch_s:g}; with replicas use {REPLICAS_BATCH_S_MIN:g} s or more")
        if workload.changing_symbols > accepting_count(workload.symbols):
            market.refuse(
                f"changing_symbols={workload.changing_symbols}; "
                f"use at most {accepting_count(workload.symbols)}, the accepting ones of {workload.symbols} symbols"
            )
    return workload


def overridden(workload: Workload, overrides: Overrides) -> Workload:
    """The workload with what the command line says. UsageError if a value is out of its range."""
    profile = workload.profile
    if overrides.rate_per_s is not None or overrides.duration_s is not None:
        profile = _constant(profile, overrides)
    mode = overrides.mode or workload.mode
    changed = replace(
        workload,
        profile=profile,
        mode=mode,
        batch_s=workload.batch_s if mode == workload.mode else BATCH_S_DEFAULT.get(mode, workload.batch_s),
        symbols=overrides.symbols if overrides.symbols is not None else workload.symbols,
        frame_messages=overrides.frame_messages if overrides.frame_messages is not None else workload.frame_messages,
        settle_s=workload.settle_s
        if overrides.duration_s is None
        else min(workload.settle_s, overrides.duration_s / 4),
    )
    problems = []
    if changed.mode not in MODES:
        problems.append(f"--mode {changed.mode}; use one of {', '.join(MODES)}")
    if not SYMBOLS_MIN <= changed.symbols <= SYMBOLS_MAX:
        problems.append(f"--symbols {changed.symbols}; use {SYMBOLS_MIN} to {SYMBOLS_MAX}")
    elif changed.changing_symbols > accepting_count(changed.symbols):
        problems.append(
            f"--symbols {changed.symbols} has {accepting_count(changed.symbols)} accepting ones; "
            f"use more for the workload's changing_symbols={changed.changing_symbols}"
        )
    if changed.replicas > 1 and changed.batch_s < REPLICAS_BATCH_S_MIN:
        problems.append(f"--mode {changed.mode}; the workload's replicas need {REAL_TIME}")
    if not 1 <= changed.frame_messages <= FRAME_MESSAGES_MAX:
        problems.append(f"--frame-size {changed.frame_messages}; use 1 to {FRAME_MESSAGES_MAX}")
    if problems:
        raise UsageError("; ".join(problems))
    return changed


def _constant(profile: Profile, overrides: Overrides) -> Profile:
    """A constant profile: an overridden rate or duration makes no sense for any other."""
    if not isinstance(profile, Constant):
        raise UsageError("--rate and --duration need a workload with a constant profile; edit the workload instead")
    rate_per_s = profile.rate_per_s if overrides.rate_per_s is None else overrides.rate_per_s
    duration_s = profile.duration_s if overrides.duration_s is None else overrides.duration_s
    reader = MappingReader({"load": {"profile": "constant", "messages_per_s": rate_per_s, "duration_s": duration_s}})
    changed = read_profile(reader.part("load"))
    reader.finish()
    return changed


def _name(reader: MappingReader) -> str:
    name = reader.text("name")
    if name and not _NAME.fullmatch(name):
        reader.refuse(f"name={name!r}; use small letters, digits and hyphens, and no hyphen first")
    return name


def _rejected_share(market: MappingReader, mapping: Mapping[str, object]) -> float:
    """A share, or the words `1 in N`."""
    given = _part(mapping, "market").get("rejected_orders")
    match = _ONE_IN.fullmatch(given) if isinstance(given, str) else None
    if match:
        market.skip("rejected_orders")
        return 1 / int(match.group(1))
    return market.number("rejected_orders", low=0, high=1, default=REJECTED_SHARE)


def _part(mapping: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = mapping.get(name)
    return part if isinstance(part, Mapping) else {}


class _ContainsItselfError(Exception):
    """A part of the file that an alias puts within itself. `line` is where it begins."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _lines(text: str) -> dict[str, int]:
    """The line of each key by its path (`market.symbols`); what an alias repeats has the line of the alias's key."""
    lines: dict[str, int] = {}
    seen: set[int] = set()
    around: set[int] = set()

    def note(node: Any, path: str) -> None:
        if id(node) in around:
            raise _ContainsItselfError(node.start_mark.line + 1)
        if id(node) in seen:
            return
        seen.add(id(node))
        around.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                name = f"{path}{key.value}"
                lines[name] = key.start_mark.line + 1
                note(value, f"{name}.")
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                lines[f"{path[:-1]}[{index}]"] = value.start_mark.line + 1
                note(value, f"{path[:-1]}[{index}].")
        around.remove(id(node))

    note(yaml.compose(text, Loader=yaml.SafeLoader), "")
    return lines


def _with_line(path: Path, sentence: str, lines: Mapping[str, int]) -> str:
    """The sentence with the file and the line of what it speaks of, or of the part that lacks it."""
    name = re.split(r"[= ]", sentence, maxsplit=1)[0]
    while name and name not in lines:
        name = name.rpartition(".")[0]
    return f"{path}:{lines.get(name, 1)}: {sentence}"
