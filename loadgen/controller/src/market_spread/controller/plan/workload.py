"""A workload: what a run offers and to which job, read from YAML, checked as a whole."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import yaml

from market_spread.common.errors import UsageError
from market_spread.common.job_contract import (
    APPLICATIONS,
    BATCH_S_DEFAULT,
    BATCH_S_MIN,
    MICRO_BATCH,
    MODES,
    REAL_TIME,
    REJECTED_DECISIONS,
    REPLICAS_BATCH_S_MIN,
)
from market_spread.common.load.schedule import Constant, Profile, read_profile
from market_spread.common.mapping import MappingReader
from market_spread.common.wire.layout import BUCKETS_MAX
from market_spread.common.yaml_file import read_yaml
from market_spread.controller.host.preflight import MACHINE_CHECKS, Wanted
from market_spread.controller.plan.limits import VoidLimits
from market_spread.controller.plan.objectives import PERCENTILES, Objectives
from market_spread.controller.statistics.intervals import CLUSTERS_MIN
from market_spread.loadgen.market.parameters import REJECTED_SHARE
from market_spread.loadgen.market.symbols import SYMBOLS_MAX, SYMBOLS_MIN, accepting_count
from market_spread.v1.limits_pb2 import RunLimits

FRAME_MESSAGES_MAX = 100_000
_ACKNOWLEDGE_P99_US = 100_000
_UNACKNOWLEDGED_US = 1_000_000
# It becomes a part of the run's id, and so of a folder's name.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_ONE_IN = re.compile(r"1 in ([1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Workload:
    """What a run offers. Times are seconds unless they say milliseconds.

    late_ms, late_share_max, stall_ms, p99_ms_max, slo: the limits, see `run_limits`.
    """

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
    stall_ms: float = 2000.0
    purpose: str = ""
    decisions: str = REJECTED_DECISIONS
    slo: Objectives = field(default_factory=Objectives)
    void: VoidLimits = field(default_factory=VoidLimits)
    wanted: Wanted = field(default_factory=Wanted)

    @property
    def objectives(self) -> Objectives:
        """What `slo` and `limits.p99_ms` ask for, lowest percentile first."""
        given = dict(self.slo.latency_ms)
        if self.p99_ms_max is not None:
            given["p99"] = self.p99_ms_max
        return replace(self.slo, latency_ms={name: given[name] for name in PERCENTILES if name in given})


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
    workload = read_yaml(path, "workload", "name", _read)
    return overridden(workload, overrides or Overrides())


def _read(reader: MappingReader, mapping: Mapping[str, object]) -> Workload:
    """The workload of a parsed file; the reader keeps what is wrong with it."""
    market, frames, job = reader.part("market"), reader.part("frames"), reader.part("job")
    warm_up = reader.part("warm_up")
    limits, slo = reader.optional_part("limits"), reader.optional_part("slo")
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
        stall_ms=limits.number("stall_ms", low=100, high=3_600_000, default=2000.0),
        purpose=reader.text("purpose") if "purpose" in mapping else "",
        decisions=reader.choice("decisions", tuple(APPLICATIONS), REJECTED_DECISIONS),
        slo=Objectives.read(slo, _part(mapping, "slo")),
        void=VoidLimits.read(reader.optional_part("void")),
        wanted=Wanted.read(reader, reader.optional_part("machine")),
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
        _refuse_contradictions(workload, limits, slo)
    return workload


def run_limits(workload: Workload) -> RunLimits:
    """What the run is judged by, as all who show it are told.

    In micro-batch mode alerts come once a batch, so the limit of a stall counts beyond the time between two. The broker
    may take 100 ms for a frame, and a second for one, or as long as a frame may be late, or the output stand still. A
    workload all of whose frames may be late judges the generator by the stall alone.
    """
    objectives = workload.objectives
    between_ms = workload.batch_s * 1000 if workload.mode == MICRO_BATCH else 0
    late_us, stall_us = round(workload.late_ms * 1000), round((workload.stall_ms + between_ms) * 1000)
    return RunLimits(
        late_us=late_us,
        late_share_max=workload.late_share_max,
        settle_us=round(workload.settle_s * 1e6),
        stall_us=stall_us,
        # Latencies are whole microseconds, so that one is above a limit if and only if it is above its whole part.
        latency_us_max={name: round(limit_ms * 1e6) // 1000 for name, limit_ms in objectives.latency_ms.items()},
        rate_share_min=objectives.rate_share,
        loss_max=objectives.loss,
        stolen_share_max=workload.void.stolen_share,
        acknowledge_p99_us_max=max(_ACKNOWLEDGE_P99_US, late_us, stall_us if workload.late_share_max >= 1 else 0),
        unacknowledged_us_max=max(_UNACKNOWLEDGED_US, late_us, stall_us),
        clusters_min=CLUSTERS_MIN,
    )


def in_words(limits: RunLimits) -> str:
    """A run's limits for people."""
    latencies = [f"{name} at most {limit_us / 1000:g} ms" for name, limit_us in limits.latency_us_max.items()]
    return "; ".join(
        [
            f"at most {limits.late_share_max:.2%} of the frames more than {limits.late_us / 1000:g} ms late",
            f"no alert for at most {limits.stall_us / 1e6:g} s",
            *sorted(latencies, key=lambda text: PERCENTILES.index(text.split(" ")[0])),
            *([f"at least {limits.rate_share_min:.1%} of the rate"] if limits.HasField("rate_share_min") else []),
            *([f"at most {limits.loss_max} lost"] if limits.HasField("loss_max") else []),
        ]
    )


def to_yaml(workload: Workload) -> str:
    """The file of which `read_workload` makes the same workload."""
    optional: dict[str, object] = {}
    if workload.purpose:
        optional["purpose"] = workload.purpose
    if workload.slo != Objectives():
        optional["slo"] = workload.slo.to_mapping()
    limits = {"late_ms": workload.late_ms, "late_share": workload.late_share_max, "stall_ms": workload.stall_ms}
    document = {
        "name": workload.name,
        "seed": workload.seed,
        "load": dict(workload.profile.to_mapping()),
        "market": {
            "symbols": workload.symbols,
            "changing_symbols": workload.changing_symbols,
            "rejected_orders": workload.rejected_share,
            "order_share": workload.order_share,
            "probes_per_s": workload.probes_per_s,
            "partitions": workload.partitions,
        },
        "decisions": workload.decisions,
        "frames": {"messages": workload.frame_messages, "linger_ms": workload.linger_ms},
        "job": {
            "mode": workload.mode,
            "batch_s": workload.batch_s,
            "shuffle_partitions": workload.shuffle_partitions,
            "memory": workload.driver_memory,
            "replicas": workload.replicas,
        },
        "warm_up": {
            "batches": workload.warm_up_batches,
            "duration_s": workload.warm_up_s,
            "settle_s": workload.settle_s,
        },
        "limits": limits if workload.p99_ms_max is None else {**limits, "p99_ms": workload.p99_ms_max},
        "void": asdict(workload.void),
        "gate": workload.wanted.gate,
        "machine": {
            "cores": workload.wanted.cores,
            "memory_gb": workload.wanted.memory_gb,
            "without": [name for name in MACHINE_CHECKS if name not in workload.wanted.tuned],
        },
        **optional,
    }
    return yaml.safe_dump(document, sort_keys=False)


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


def _refuse_contradictions(workload: Workload, limits: MappingReader, slo: MappingReader) -> None:
    """Refuse limits of which one makes another one meaningless."""
    apart_ms = 1000 / workload.probes_per_s
    if workload.stall_ms <= apart_ms:
        limits.refuse(f"stall_ms={workload.stall_ms:g}; use more than {apart_ms:g}, the time between two probes")
    p99_ms = workload.slo.latency_ms.get("p99")
    if None not in (p99_ms, workload.p99_ms_max) and p99_ms != workload.p99_ms_max:
        slo.refuse(f"p99_ms={p99_ms:g}; limits.p99_ms is {workload.p99_ms_max:g}, so leave one of them out")
        return
    for (lower, lower_ms), (higher, higher_ms) in pairwise(workload.objectives.latency_ms.items()):
        if lower_ms > higher_ms:
            reader = slo if lower in workload.slo.latency_ms else limits
            reader.refuse(f"{lower}_ms={lower_ms:g}; use at most {higher_ms:g}, the limit of {higher}")


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
