"""Limits of a run: of what it offers, of its latency, and those beyond which it is void."""

from dataclasses import dataclass
from typing import Annotated

from market_spread.common.schema import number

DRIFT_SHARE_MAX = 1_000_000
MS_MAX = 3_600_000
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
