"""The objectives of a search, and whether a run meets them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from market_spread.common.errors import UsageError
from market_spread.runs.comparing.figures import PERCENTILES, short_number
from market_spread.runs.comparing.recorded import RecordedRun

# A standstill between two batches leaves messages of about a second, and works them off later: a backlog that grows by
# less than that in the whole load does not grow, as far as can be seen.
GROWTH_S_MAX = 1.0

_LIMITS_MS = {**{name: f"latency_ns.{name}" for name in PERCENTILES}, "max": "latency_ns.max"}
_DURATION = re.compile(r"([0-9.]+)(us|ms|s)")
_UNIT_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


class Outcome(Enum):
    """What a run at a rate says."""

    HELD = "held"
    BROKEN = "broken"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Finding:
    """An outcome, and why, in the first sentence that speaks for it; empty if it is held."""

    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Objectives:
    """What must hold at a rate. latency_ms: limits by percentile; loss_max: messages and alerts lost."""

    latency_ms: tuple[tuple[str, float], ...] = ()
    rate_share_min: float | None = None
    loss_max: int = 0

    @property
    def text(self) -> str:
        """The objectives for people."""
        parts = [f"{name} ≤ {short_number(limit)} ms" for name, limit in self.latency_ms]
        if self.rate_share_min is not None:
            parts.append(f"rate ≥ {self.rate_share_min:.4g} of the offered")
        parts.append(f"loss ≤ {self.loss_max:,}")
        return ", ".join(parts)


def read_objectives(texts: Sequence[str]) -> Objectives:
    """The objectives of `p99=50ms`, `rate=99%` and `loss=0`. UsageError for what is none of these."""
    latency_ms: dict[str, float] = {}
    rate_share, loss = None, 0
    for text in texts:
        name, _, value = text.partition("=")
        if name in _LIMITS_MS and (matched := _DURATION.fullmatch(value)) and _is_positive(matched[1]):
            latency_ms[name] = float(matched[1]) * _UNIT_MS[matched[2]]
        elif name == "rate" and 0 < (share := _share_of(value)) <= 1:
            rate_share = share
        elif name == "loss" and value.isdecimal():
            loss = int(value)
        else:
            names = ", ".join(_LIMITS_MS)
            raise UsageError(f"--slo {text}; use {names} with a time (p99=50ms), rate=99% or loss=0")
    return Objectives(tuple(latency_ms.items()), rate_share, loss)


def judge(run: RecordedRun, objectives: Objectives) -> Finding:
    """Whether the run's rate is held, from its validity, loss, lag, latencies and rate, in this order.

    UsageError if it has too few alerts for a percentile that is asked for.
    """
    if run.is_void:
        return Finding(Outcome.VOID, run.void_reasons[0])
    for reason in _reasons(run, objectives):
        return Finding(Outcome.BROKEN, reason)
    return Finding(Outcome.HELD)


def _reasons(run: RecordedRun, objectives: Objectives) -> list[str]:
    return [
        *_loss(run, objectives.loss_max),
        *run.lag_reasons,
        *_growth(run),
        *_latencies(run, objectives),
        *_rate(run, objectives.rate_share_min),
        *(run.reasons if run.verdict == "failed" else ()),
    ]


def _loss(run: RecordedRun, loss_max: int) -> list[str]:
    lost = round(run.figures.get("alerts_missing", 0) + run.figures.get("messages_failed", 0))
    wrong = [reason for reason in run.wrong_reasons if "missing" not in reason]
    return [f"{lost:,} messages or alerts are lost"] * (lost > loss_max) + wrong


def _growth(run: RecordedRun) -> list[str]:
    """The backlog grows if even by the low end of its slope's interval it has grown by more than a batch leaves."""
    low_per_s = run.figures.get("backlog.slope_per_s_low")
    offered_per_s = run.figures.get("offered_rate_per_s", 0.0)
    if low_per_s is None or low_per_s * run.figures.get("duration_s", 0.0) <= GROWTH_S_MAX * offered_per_s:
        return []
    return [f"the backlog grows by {run.figures.get('backlog.slope_per_s', low_per_s):,.0f} messages a second"]


def _latencies(run: RecordedRun, objectives: Objectives) -> list[str]:
    reasons = []
    for name, limit_ms in objectives.latency_ms:
        value_ns = run.figures.get(_LIMITS_MS[name])
        if value_ns is None:
            raise UsageError(
                f"--slo {name}: run {run.run_id} has too few alerts for it; "
                "make the runs longer with -- --duration, or have more probes in the workload"
            )
        if value_ns > limit_ms * 1e6:
            reasons.append(f"{name} is {short_number(value_ns / 1e6)} ms")
    return reasons


def _rate(run: RecordedRun, share_min: float | None) -> list[str]:
    achieved, offered = run.figures.get("achieved_rate_per_s", 0.0), run.figures.get("offered_rate_per_s", 0.0)
    if share_min is None or achieved >= share_min * offered:
        return []
    return [f"{achieved:,.0f} messages a second are achieved"]


def _is_positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def _share_of(text: str) -> float:
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return 0.0
