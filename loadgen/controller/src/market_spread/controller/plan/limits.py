"""Limits beyond which a run is void."""

from dataclasses import dataclass

from market_spread.common.mapping import MappingReader

DRIFT_SHARE_MAX = 1_000_000
_MS_MAX = 3_600_000


@dataclass(frozen=True, slots=True)
class VoidLimits:
    """Limits beyond which a run is void. Shares are of the measured time and of all of the machine's CPUs.

    stolen_share: CPU time that the hypervisor gave to others; foreign_share: CPU time of processes that are not the
    run's; throttled_share: time in which the cgroup was held back; clock_ms: error of the clocks against each other;
    missing_share: intervals that components owe; drift_share: by how much higher the median latency may be at first (a
    warm-up too short) or in the end (a lag), as a share of the run's own; swap_mb: read from and written to swap.
    """

    stolen_share: float = 0.1
    foreign_share: float = 0.25
    throttled_share: float = 0.05
    clock_ms: float = 10.0
    missing_share: float = 0.05
    drift_share: float = 1.0
    swap_mb: float = 16.0

    @staticmethod
    def read(reader: MappingReader) -> "VoidLimits":
        """Those of a part of a workload; the reader keeps what is wrong."""
        default = VoidLimits()
        return VoidLimits(
            stolen_share=reader.number("stolen_share", low=0, high=1, default=default.stolen_share),
            foreign_share=reader.number("foreign_share", low=0, high=1, default=default.foreign_share),
            throttled_share=reader.number("throttled_share", low=0, high=1, default=default.throttled_share),
            clock_ms=reader.number("clock_ms", low=0, high=_MS_MAX, default=default.clock_ms),
            missing_share=reader.number("missing_share", low=0, high=1, default=default.missing_share),
            drift_share=reader.number("drift_share", low=0, high=DRIFT_SHARE_MAX, default=default.drift_share),
            swap_mb=reader.number("swap_mb", low=0, high=1_000_000_000, default=default.swap_mb),
        )
