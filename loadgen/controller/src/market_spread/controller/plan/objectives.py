"""What is asked of a system besides being correct."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from market_spread.common.errors import UsageError
from market_spread.common.mapping import MappingReader

PERCENTILES = ("p50", "p95", "p99", "p99.9", "p99.99", "max")
_MS_MAX = 3_600_000
_DURATION = re.compile(r"([0-9.]+)(us|ms|s)")
_UNIT_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


@dataclass(frozen=True, slots=True)
class Objectives:
    """What the workload's `slo`, or a search, asks for.

    latency_ms: the most that a percentile may be, by its name; rate_share: the least of the offered rate that must be
    achieved; loss: the most messages and alerts that may be lost. None: not asked for.
    """

    latency_ms: Mapping[str, float] = field(default_factory=dict)
    rate_share: float | None = None
    loss: int | None = None

    @staticmethod
    def read(reader: MappingReader, given: Mapping[str, object]) -> "Objectives":
        """Those of a part of a workload; the reader keeps what is wrong."""
        latency_ms = {
            name: reader.number(f"{name}_ms", low=0.001, high=_MS_MAX) for name in PERCENTILES if f"{name}_ms" in given
        }
        rate_share = reader.number("rate_share", low=0, high=1) if "rate_share" in given else None
        loss = reader.integer("loss", low=0, high=2**53) if "loss" in given else None
        return Objectives(latency_ms, rate_share, loss)

    @staticmethod
    def of_options(texts: Sequence[str]) -> "Objectives":
        """Those of `p99=50ms`, `rate=99%` and `loss=0`; no loss unless told. UsageError for what is none of these."""
        latency_ms: dict[str, float] = {}
        rate_share, loss = None, 0
        for text in texts:
            name, _, value = text.partition("=")
            if name in PERCENTILES and (matched := _DURATION.fullmatch(value)) and _number(matched[1]) > 0:
                latency_ms[name] = _number(matched[1]) * _UNIT_MS[matched[2]]
            elif name == "rate" and 0 < (share := _share_of(value)) <= 1:
                rate_share = share
            elif name == "loss" and value.isdecimal():
                loss = int(value)
            else:
                names = ", ".join(PERCENTILES)
                raise UsageError(f"--slo {text}; use {names} with a time (p99=50ms), rate=99% or loss=0")
        return Objectives(latency_ms, rate_share, loss)

    def to_mapping(self) -> dict[str, object]:
        """The part of the workload."""
        values: dict[str, object] = {f"{name}_ms": limit for name, limit in self.latency_ms.items()}
        values |= {"rate_share": self.rate_share, "loss": self.loss}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def text(self) -> str:
        """The objectives for people."""
        parts = [f"{name} ≤ {limit:,.10g} ms" for name, limit in self.latency_ms.items()]
        if self.rate_share is not None:
            parts.append(f"rate ≥ {self.rate_share:.4g} of the offered")
        if self.loss is not None:
            parts.append(f"loss ≤ {self.loss:,}")
        return ", ".join(parts)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _share_of(text: str) -> float:
    return _number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
