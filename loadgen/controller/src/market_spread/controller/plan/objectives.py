"""What is asked of a system besides being correct, and of a run so that it counts: limits and objectives."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import model_validator

from market_spread.common.errors import UsageError
from market_spread.common.schema import ONLY_KNOWN_KEYS, Schema, number

DRIFT_SHARE_MAX, MS_MAX = 1_000_000, 3_600_000
# The largest share of the alerts that may end a stage before they begin it.
FALSE_STAMPS_SHARE_MAX = 0.001


@dataclass(frozen=True, slots=True)
class Limits:
    """What is asked of the generator and of the output."""

    late_ms: Annotated[float, number(1, 10_000, "How late a frame may be.")] = 10
    late_share: Annotated[float, number(0, 1, "Share of frames that may be later; more make the run void.")] = 0.001
    stall_ms: Annotated[float, number(1000, MS_MAX, "Longest time without alerts; micro-batch mode adds a batch.")] = (
        2000
    )
    rise_share: Annotated[
        float,
        number(0, DRIFT_SHARE_MAX, "Rise of the median latency in the end, as a share of the run's; more is failed."),
    ] = 1
    p99_ms: Annotated[float | None, number(0.001, MS_MAX, "Above this p99 the run is failed.")] = None


@dataclass(frozen=True, slots=True)
class VoidLimits:
    """Limits beyond which a run is void. Shares are of the measured time and of all of the machine's CPUs."""

    stolen_share: Annotated[float, number(0, 1, "CPU time that other guests of the host may take.")] = 0.1
    foreign_share: Annotated[float, number(0, 1, "CPU time that processes may use that are not the run's.")] = 0.25
    throttled_share: Annotated[float, number(0, 1, "Time for which the cgroup may be held back.")] = 0.05
    clock_ms: Annotated[float, number(0, MS_MAX, "How far the clocks may be moved, or differ.")] = 10
    missing_share: Annotated[float, number(0, 1, "Share of samples and pushes that may be missing.")] = 0.05
    drift_share: Annotated[
        float,
        number(0, DRIFT_SHARE_MAX, "How much higher the median latency may be at first, as a share of the run's."),
    ] = 1
    swap_mb: Annotated[float, number(0, 1_000_000_000, "What may be read from swap and written to it.")] = 16


PERCENTILES = ("p50", "p95", "p99", "p99.9", "p99.99", "max")
_DURATION = re.compile(r"([0-9.]+)(us|ms|s)")
_UNIT_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


def _latency(percentile: str, meaning: str = "The same.") -> Any:
    return number(0.001, MS_MAX, meaning, name=f"{percentile}_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Objectives:
    """What the workload's `slo`, or a search, asks for. None: not asked for."""

    __pydantic_config__ = ONLY_KNOWN_KEYS

    p50_ms: Annotated[float | None, _latency("p50", "Objective: what this percentile of the latency is at most.")] = (
        None
    )
    p95_ms: Annotated[float | None, _latency("p95")] = None
    p99_ms: Annotated[float | None, _latency("p99")] = None
    p99_9_ms: Annotated[float | None, _latency("p99.9")] = None
    p99_99_ms: Annotated[float | None, _latency("p99.99")] = None
    max_ms: Annotated[float | None, _latency("max")] = None
    rate_share: Annotated[
        float | None, number(0, 1, "Objective: share of the offered rate that is achieved, less than 1.")
    ] = None
    loss: Annotated[int | None, number(0, 2**53, "Objective: messages and alerts that may be lost.")] = None

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        wrong = self.contradictions()
        if self.rate_share == 1:
            wrong.append("rate_share=1; use less than 1, since the last alert comes after the last message was sent")
        if wrong:
            raise ValueError("\n".join(wrong))
        return self

    def contradictions(self, key: Callable[[str], str] = "{}_ms".format) -> list[str]:
        """A sentence for each percentile that may be less than a lower one; key: what the limit of one is called."""
        return [
            f"{key(higher)}={higher_ms:g}; use {lower_ms:g} or more, the limit of {lower}"
            for (lower, lower_ms), (higher, higher_ms) in pairwise(self.latency_ms.items())
            if lower_ms > higher_ms
        ]

    def with_p99(self, p99_ms: float | None) -> "Objectives":
        """These, with another 99th percentile unless it is None."""
        return self if p99_ms is None else replace(self, p99_ms=p99_ms)

    @property
    def latency_ms(self) -> dict[str, float]:
        """The most that a percentile may be, by its name, lowest percentile first."""
        limits = {name: getattr(self, f"{name.replace('.', '_')}_ms") for name in PERCENTILES}
        return {name: limit for name, limit in limits.items() if limit is not None}

    @staticmethod
    def of_options(texts: Sequence[str]) -> "Objectives":
        """Those of `p99=50ms`, `rate=99%` and `loss=0`; no loss unless told.

        UsageError for what is none of these, stands twice, or contradicts another one.
        """
        values: dict[str, float] = {}
        given: dict[str, str] = {}
        for text in texts:
            name, _, value = text.partition("=")
            if name in PERCENTILES and (matched := _DURATION.fullmatch(value)) and _number(matched[1]) > 0:
                key, values[key] = f"{name}_ms", _number(matched[1]) * _UNIT_MS[matched[2]]
            elif name == "rate" and 0 < (share := share_of(value)) <= 1:
                key, values[key] = "rate_share", share
            elif name == "loss" and value.isdecimal():
                key, values[key] = "loss", int(value)
            else:
                names = ", ".join(PERCENTILES)
                raise UsageError(f"--slo {text}; use {names} with a time (p99=50ms), rate=99% or loss=0")
            if key in given:
                raise UsageError(f"--slo {text}; --slo {given[key]} asks for that already; leave one of them out")
            given[key] = text
        try:
            return _OBJECTIVES.read({"loss": 0, **values})
        except UsageError as error:
            sentence = str(error)
            for key, text in given.items():
                sentence = re.sub(rf"(^|; ){re.escape(key)}=[^;]*;", rf"\1--slo {text};", sentence)
            raise UsageError(re.sub(r"use (\S+) or more", r"use \1ms or more", sentence)) from None

    def to_mapping(self) -> dict[str, object]:
        """The part of the workload."""
        return _OBJECTIVES.to_mapping(self)

    @property
    def text(self) -> str:
        """The objectives for people."""
        parts = [f"{name} ≤ {limit:,.10g} ms" for name, limit in self.latency_ms.items()]
        if self.rate_share is not None:
            parts.append(f"rate ≥ {self.rate_share:.4g} of the offered")
        if self.loss is not None:
            parts.append(f"loss ≤ {self.loss:,}")
        return ", ".join(parts)


_OBJECTIVES = Schema(Objectives)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def share_of(text: str) -> float:
    """The share of a text such as `0.05` or `5%`; 0 for what is no number."""
    return _number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
