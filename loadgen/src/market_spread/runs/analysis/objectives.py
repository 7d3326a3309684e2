"""What is asked of a system besides being correct, and whether it was met: one formula each, for runs and sweeps."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from market_spread.common.errors import UsageError
from market_spread.common.mapping import MappingReader
from market_spread.runs.analysis.evidence import Criterion, Evidence, at_most
from market_spread.runs.analysis.intervals import CLUSTERS_MIN
from market_spread.runs.pages.words import counted

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


@dataclass(frozen=True, slots=True)
class Achieved:
    """What a run came to. latency_ns: by percentile, None where too few alerts support it; lost: None if not known;
    clusters: of the percentiles of the tail, in how many clusters of time they lie.
    """

    latency_ns: Mapping[str, int | None]
    offered_rate_per_s: float
    achieved_rate_per_s: float | None
    lost: int | None
    clusters: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of_result(result: Mapping[str, object]) -> "Achieved":
        """Of a result as JSON has it."""
        clusters: Mapping[str, Mapping[str, int]] = result.get("latency_clusters", {})  # type: ignore[assignment]
        values: dict[str, object] = {name: result[name] for name in ("offered_rate_per_s", "achieved_rate_per_s")}
        values |= {"lost": result.get("messages_lost"), "clusters": clusters.get("latency_ns", {})}
        return Achieved(latency_ns=result["latency_ns"], **values)  # type: ignore[arg-type]


NOTHING_ACHIEVED = Achieved({}, 0.0, None, None)


def assess(objectives: Objectives, achieved: Achieved) -> tuple[Evidence, ...]:
    """Evidence on each objective; one that cannot be evaluated neither holds nor fails."""
    evidence = [_percentile(name, limit, achieved) for name, limit in objectives.latency_ms.items()]
    if objectives.rate_share is not None:
        evidence.append(_rate(objectives.rate_share, achieved))
    if objectives.loss is not None:
        evidence.append(_loss(objectives.loss, achieved.lost))
    return tuple(evidence)


def _percentile(name: str, limit_ms: float, achieved: Achieved) -> Evidence:
    criterion = Criterion(f"latency_{name}")
    found_ns = achieved.latency_ns.get(name)
    if found_ns is None:
        text = f"not evaluated: there are too few alerts for {name}; the objective is {limit_ms:g} ms"
        return Evidence(criterion, None, text, None, limit_ms, "ms")
    text = f"{name} is {found_ns / 1e6:.1f} ms; the objective is {limit_ms:g} ms"
    if (clusters := achieved.clusters.get(name, CLUSTERS_MIN)) < CLUSTERS_MIN:
        # What was observed meets a limit or does not; only an estimate of other runs needs the clusters.
        text += f" (of this run alone: {counted(clusters, 'cluster')}, {CLUSTERS_MIN} needed for more)"
    return at_most(criterion, found_ns / 1e6, limit_ms, unit="ms", text=text)


def _rate(share: float, achieved: Achieved) -> Evidence:
    found, offered = achieved.achieved_rate_per_s, achieved.offered_rate_per_s
    if found is None:
        return Evidence(Criterion.RATE, None, "no rate was achieved", None, share * offered, "messages/s")
    text = f"{found:,.0f} messages/s were achieved; the objective is {share:.1%} of {offered:,.0f}"
    return Evidence(Criterion.RATE, found >= share * offered, text, found, share * offered, "messages/s")


def _loss(allowed: int, lost: int | None) -> Evidence:
    if lost is None:
        text = "not evaluated: the run was not judged, so no loss is known"
        return Evidence(Criterion.LOSS, None, text, None, allowed, "messages")
    text = f"{lost:,} messages and alerts were lost; the objective is {allowed:,}"
    return at_most(Criterion.LOSS, lost, allowed, unit="messages", text=text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _share_of(text: str) -> float:
    return _number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
