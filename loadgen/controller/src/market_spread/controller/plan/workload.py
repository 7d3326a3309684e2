"""A workload: what a run offers and to which job. The dataclasses are its file: keys, ranges, defaults, meanings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from market_spread.common.hdr.histogram import CLUSTERS_MIN
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
from market_spread.common.load.schedule import AnyProfile, Constant
from market_spread.common.schema import ONLY_KNOWN_KEYS, Schema, choice, number, text
from market_spread.common.wire.layout import BUCKETS_MAX
from market_spread.controller.host.facts import PREFLIGHTS, MachineKeys
from market_spread.controller.plan.faults import Fault, FaultKeys
from market_spread.controller.plan.objectives import FALSE_STAMPS_SHARE_MAX, PERCENTILES, Limits, Objectives, VoidLimits
from market_spread.loadgen.market.parameters import REJECTED_SHARE, STATE_PARTITIONS_MAX
from market_spread.loadgen.market.symbols import SYMBOLS_MAX, SYMBOLS_MIN, accepting_count
from market_spread.v1.limits_pb2 import RunLimits

_BATCH_S_MAX = 3600
JIT_AUTO, _FAST_START = "auto", "fast-start"
# What the thorough compiler makes takes a quarter less CPU, but is not ready for a minute or two (docs/adr/0027).
_FAST_START_S_MAX, _FAST_START_PER_S_MAX = 180, 50_000
# Of each partition Spark keeps a thousand keys at hand in Real-Time Mode, and gets every other one from its store. More
# partitions than this take more of the cores than they save (docs/adr/0028).
_SYMBOLS_AT_HAND, _STATE_PARTITIONS_AUTO_MAX = 900, 16
_ACKNOWLEDGE_P99_US, _UNACKNOWLEDGED_US = 100_000, 1_000_000
_NANOSECOND_MS = 1e-6


def _share(given: object) -> object:
    """The share of the words `1 in N`; anything else as it is."""
    words = given.split(" ") if isinstance(given, str) else []
    is_one_in = len(words) == 3 and words[:2] == ["1", "in"] and words[2].isdecimal() and words[2][0] != "0"
    return 1 / int(words[2]) if is_one_in else given


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketKeys:
    """The messages. Shares are of their number."""

    symbols: Annotated[int, number(SYMBOLS_MIN, SYMBOLS_MAX, "Symbols; 15 of 350 reject, and the same share of more.")]
    changing_symbols: Annotated[int, number(0, SYMBOLS_MAX, "Accepting symbols, wide or tight by a coin.")] = 0
    rejected_orders: Annotated[
        float,
        number(0, 1, "Share of the orders, probes aside, that are rejected; `1 in N` is a share, too."),
        BeforeValidator(_share),
    ] = REJECTED_SHARE
    order_share: Annotated[float, number(0, 1, "Share of the messages that are orders.")] = 0.5
    probes_per_s: Annotated[int, number(1, 100_000, "Orders a second on [probes](measurement.md#the-market).")] = 200
    partitions: Annotated[int, number(1, BUCKETS_MAX, "Partitions of each of the two topics.")]

    @model_validator(mode="after")
    def _enough_accept(self) -> Self:
        accepting = accepting_count(self.symbols)
        if self.changing_symbols > accepting:
            raise ValueError(
                f"changing_symbols={self.changing_symbols}; "
                f"use at most {accepting}, the accepting ones of {self.symbols} symbols"
            )
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameKeys:
    """How messages share Kafka records."""

    messages: Annotated[int, number(1, 100_000, "Messages that a frame holds at most; 1 sends each alone.")]
    linger_ms: Annotated[float, number(0, 10_000, "A frame that is not full closes at the next multiple of this.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKeys:
    """How the job is started."""

    mode: Annotated[str, choice(MODES, "Mode of the job.")] = REAL_TIME
    batch_s: Annotated[
        float,
        number(
            0,
            _BATCH_S_MAX,
            f"Time from batch to batch. `{REAL_TIME}`: {BATCH_S_MIN[REAL_TIME]:g} or more; "
            f"`{MICRO_BATCH}`: by default {BATCH_S_DEFAULT[MICRO_BATCH]:g}.",
        ),
    ] = BATCH_S_DEFAULT[REAL_TIME]
    shuffle_partitions: Annotated[
        int | None,
        number(
            1,
            STATE_PARTITIONS_MAX,
            f"Partitions of the state. `{REAL_TIME}`: by default one for each {_SYMBOLS_AT_HAND} symbols, "
            f"{_STATE_PARTITIONS_AUTO_MAX} at most; `{MICRO_BATCH}`: by default 1.",
        ),
    ] = None
    replicas: Annotated[
        int, number(1, 2, f"Jobs that read the same topics; 2 need batches of {REPLICAS_BATCH_S_MIN:g} s or more.")
    ] = 1
    standby: Annotated[
        int, number(0, 1, "Drivers that stand by, warm, to go on from the checkpoint of one that dies.")
    ] = 0
    memory: Annotated[str, choice(("1g", "2g", "3g", "4g", "8g", "16g"), "Heap of the driver's JVM.")] = "2g"
    jit: Annotated[
        str,
        choice(
            (JIT_AUTO, _FAST_START, "peak"),
            f"Which compilers its JVM has: `{_FAST_START}` the quick one alone, `peak` both; `{JIT_AUTO}` takes the "
            f"first for `{REAL_TIME}`, up to {_FAST_START_S_MAX} s of {_FAST_START_PER_S_MAX:,} messages a second.",
        ),
    ] = JIT_AUTO

    @model_validator(mode="before")
    @classmethod
    def _with_batch_of_its_mode(cls, given: object) -> object:
        mode = given.get("mode") if isinstance(given, dict) else None
        return {"batch_s": BATCH_S_DEFAULT[mode], **given} if mode in MODES else given  # type: ignore[dict-item]

    @model_validator(mode="after")
    def _batches_are_long_enough(self) -> Self:
        least_s = BATCH_S_MIN[self.mode]
        if self.batch_s < least_s:
            raise ValueError(f"batch_s={self.batch_s:g}; use a number from {least_s:g} to {_BATCH_S_MAX}")
        if self.replicas > 1 and self.batch_s < REPLICAS_BATCH_S_MIN:
            raise ValueError(f"batch_s={self.batch_s:g}; with replicas use {REPLICAS_BATCH_S_MIN:g} s or more")
        if self.replicas > 1 and self.standby:
            raise ValueError(f"standby={self.standby}; with replicas use 0, as each is the other's")
        return self

    @property
    def drivers(self) -> int:
        """How many processes the job has."""
        return self.replicas + self.standby


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUpKeys:
    """What goes before the figures."""

    batches: Annotated[int, number(0, 1000, "Short batches that the job begins with, to be warm.")] = 30
    duration_s: Annotated[float, number(1, 3600, "Quotes and probes before orders start; not measured.")]
    settle_s: Annotated[float, number(0, 3600, "Begin of the load that is judged, but left out of latencies.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What a run offers, as its file says it. Keys end in their unit."""

    __pydantic_config__ = ONLY_KNOWN_KEYS

    # It becomes a part of the run's id, and so of a folder's name.
    name: Annotated[
        str,
        text(
            "Name of the workload, part of the run id.",
            pattern="[a-z0-9][a-z0-9-]{0,99}",
            remedy="use at most 100 small letters, digits and hyphens, and no hyphen first",
        ),
    ]
    purpose: Annotated[str, text("Why the workload is run; stands in `run.md`.")] = ""
    seed: Annotated[int, number(0, 2**63 - 1, "The same seed gives the same messages.")]
    load: AnyProfile
    market: MarketKeys
    decisions: Annotated[
        str, choice(tuple(APPLICATIONS), "Alerts alone, or besides [every order](measurement.md#all-decisions).")
    ] = REJECTED_DECISIONS
    frames: FrameKeys
    job: JobKeys
    warm_up: WarmUpKeys
    limits: Annotated[Limits, Field(validate_default=True)] = field(default_factory=Limits)
    slo: Annotated[Objectives, Field(validate_default=True)] = field(default_factory=Objectives)
    void: VoidLimits = field(default_factory=VoidLimits)
    preflight: Annotated[
        str, choice(PREFLIGHTS, "What happens if the machine [differs](run-document.md#preflight).")
    ] = "warn"
    machine: MachineKeys = field(default_factory=MachineKeys)
    faults: FaultKeys | None = None

    @model_validator(mode="after")
    def _faults_can_be_had(self) -> Self:
        wrong = self.faults.wrong(self.load.duration_ns / 1e9, self.untouchable) if self.faults else []
        if wrong:
            raise ValueError("\n".join(f".faults.{sentence}" for sentence in wrong))
        return self

    @property
    def untouchable(self) -> Mapping[str, str]:
        """The targets of faults whose processes are not the run's own, and why."""
        return {}

    @property
    def planned_faults(self) -> tuple[Fault, ...]:
        """What goes wrong on purpose, by its begin."""
        return self.faults.planned(self.load.duration_ns / 1e9, self.untouchable) if self.faults else ()

    def to_mapping(self) -> dict[str, Any]:
        """What its file holds."""
        return WORKLOAD.to_mapping(self)

    @property
    def subject(self) -> str:
        """What is under test, in a word or two: the mode of our job."""
        return self.job.mode

    def changed(self, **keys: Any) -> "Workload":
        """The workload with other keys, which are not checked: `changed(name="other", job={"batch_s": 30})`."""
        parts = {name: replace(getattr(self, name), **part) for name, part in keys.items() if isinstance(part, dict)}
        return replace(self, **{**keys, **parts})

    @property
    def starts_fast(self) -> bool:
        """Whether the job's JVM does without its thorough compiler, which else competes with the first minute."""
        if self.job.jit != JIT_AUTO:
            return self.job.jit == _FAST_START
        is_short = self.load.duration_ns <= _FAST_START_S_MAX * 1_000_000_000
        return self.job.mode == REAL_TIME and is_short and self.load.highest_per_s <= _FAST_START_PER_S_MAX

    @property
    def state_partitions(self) -> int:
        """How many partitions the job's state has."""
        if self.job.shuffle_partitions is not None:
            return self.job.shuffle_partitions
        wanted = ceil(self.market.symbols / _SYMBOLS_AT_HAND) if self.job.mode == REAL_TIME else 1
        return min(wanted, _STATE_PARTITIONS_AUTO_MAX)

    @property
    def objectives(self) -> Objectives:
        """What `slo` and `limits.p99_ms` ask for."""
        return self.slo.with_p99(self.limits.p99_ms)

    @field_validator("warm_up")
    @classmethod
    def _settles_within_the_load(cls, warm_up: WarmUpKeys, info: ValidationInfo) -> WarmUpKeys:
        load_s = _load_s(info)
        if warm_up.settle_s >= load_s:
            raise ValueError(f"settle_s={warm_up.settle_s:g}; use less than the load's {load_s:g} s")
        return warm_up

    @field_validator("limits")
    @classmethod
    def _stalls_can_be_seen(cls, limits: Limits, info: ValidationInfo) -> Limits:
        apart_ms = 1000 / info.data["market"].probes_per_s if "market" in info.data else 0
        # The default is right for every load, however short.
        most_ms = max(_load_s(info) * 1000, Limits().stall_ms)
        wrong = []
        if limits.stall_ms <= apart_ms:
            wrong.append(f"stall_ms={limits.stall_ms:g}; use more than {apart_ms:g}, the time between two probes")
        if limits.stall_ms - most_ms > _NANOSECOND_MS:  # a load's length is whole nanoseconds
            wrong.append(f"stall_ms={limits.stall_ms:g}; use at most {most_ms:g}, since the load ends before")
        if (linger_ms := _linger_ms(info)) > limits.stall_ms:
            wrong.append(f".frames.linger_ms={linger_ms:g}; use at most {limits.stall_ms:g}, what limits.stall_ms is")
        if wrong:
            raise ValueError("\n".join(wrong))
        return limits

    @field_validator("slo")
    @classmethod
    def _objectives_agree(cls, slo: Objectives, info: ValidationInfo) -> Objectives:
        p99_ms = info.data["limits"].p99_ms if "limits" in info.data else None
        if slo.p99_ms not in (None, p99_ms) and p99_ms is not None:
            raise ValueError(f"p99_ms={slo.p99_ms:g}; limits.p99_ms is {p99_ms:g}, so leave one of them out")

        def key(percentile: str) -> str:
            return ".limits.p99_ms" if percentile == "p99" and slo.p99_ms is None else f"{percentile}_ms"

        asked, linger_ms = slo.with_p99(p99_ms), _linger_ms(info)
        wrong = asked.contradictions(key) + [
            f"{key(name)}={limit_ms:g}; use {linger_ms:g} or more, since frames.linger_ms lets a message wait so long"
            for name, limit_ms in asked.latency_ms.items()
            if limit_ms < linger_ms
        ]
        if wrong:
            raise ValueError("\n".join(wrong))
        return slo


def _load_s(info: ValidationInfo) -> float:
    return info.data["load"].duration_ns / 1e9 if "load" in info.data else inf


def _linger_ms(info: ValidationInfo) -> float:
    return info.data["frames"].linger_ms if "frames" in info.data else 0


WORKLOAD = Schema(Workload)


def run_limits(workload: Workload) -> RunLimits:
    """What the run is judged by, as all who show it are told.

    In micro-batch mode alerts come once a batch, so the limit of a stall counts beyond the time between two. The broker
    may take 100 ms for a frame, and a second for one, or as long as a frame may be late, or the output stand still. A
    workload all of whose frames may be late judges the generator by the stall alone.
    """
    objectives = workload.objectives
    between_ms = workload.job.batch_s * 1000 if workload.job.mode == MICRO_BATCH else 0
    late_us, stall_us = round(workload.limits.late_ms * 1000), round((workload.limits.stall_ms + between_ms) * 1000)
    return RunLimits(
        late_us=late_us,
        late_share_max=workload.limits.late_share,
        settle_us=round(workload.warm_up.settle_s * 1e6),
        stall_us=stall_us,
        # Latencies are whole microseconds, so that one is above a limit if and only if it is above its whole part.
        latency_us_max={name: round(limit_ms * 1e6) // 1000 for name, limit_ms in objectives.latency_ms.items()},
        rate_share_min=objectives.rate_share,
        loss_max=objectives.loss,
        stolen_share_max=workload.void.stolen_share,
        acknowledge_p99_us_max=max(_ACKNOWLEDGE_P99_US, late_us, stall_us if workload.limits.late_share >= 1 else 0),
        unacknowledged_us_max=max(_UNACKNOWLEDGED_US, late_us, stall_us),
        clusters_min=CLUSTERS_MIN,
        missing_share_max=workload.void.missing_share,
        negative_share_max=FALSE_STAMPS_SHARE_MAX,
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


# Where none is named: the job and the frames of loadgen/workloads/quick.yaml.
DEFAULT_WORKLOAD = Workload(
    name="default", seed=1, load=Constant(20_000, 60), market=MarketKeys(symbols=350, partitions=1),
    frames=FrameKeys(messages=200, linger_ms=2), job=JobKeys(),
    warm_up=WarmUpKeys(batches=12, duration_s=8, settle_s=5),
)  # fmt: skip
