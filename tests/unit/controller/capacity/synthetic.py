"""Runs whose costs are known."""

from collections.abc import Mapping, Sequence

import numpy as np

from market_spread.controller.capacity.plan import TERMS, Demand, Observation

# Seconds of CPU, by the terms of each process.
SECONDS = {
    "job": (0.3, 0.02, 50e-6, 2e-6, 6e-6),
    "broker": (0.05, 100e-6, 0.5e-6),
    "sender": (0.05, 100e-6, 2e-6),
    "receiver": (0.02, 500e-6),
}
# Messages and alerts a second, messages of a frame, linger (ms), symbols, partitions, partitions of the state.
CUTS = [
    (5_000, 160, 200, 2, 350, 1, 1), (20_000, 320, 10, 2, 350, 1, 1), (60_000, 160, 200, 5, 3500, 1, 4),
    (100_000, 160, 200, 2, 350, 1, 1), (20_000, 800, 200, 2, 350, 2, 1), (40_000, 160, 200, 2, 3500, 1, 1),
    (10_000, 160, 100, 20, 350, 1, 1), (60_000, 160, 20, 2, 350, 1, 1), (150_000, 160, 900, 5, 350, 1, 1),
    (20_000, 160, 200, 10, 350, 1, 1), (30_000, 160, 200, 2, 35_000, 1, 16), (40_000, 800, 50, 2, 350, 2, 1),
]  # fmt: skip
HELD_OUT = [(30_000, 160, 200, 3, 350, 1, 1), (80_000, 400, 100, 2, 350, 2, 1), (50_000, 160, 200, 4, 7000, 1, 4)]


def load(
    messages: float, alerts: float, of_frame: int, linger_ms: float, symbols: int, partitions: int, parts: int
) -> Demand:
    return Demand(
        messages_per_s=messages, alerts_per_s=alerts, frame_messages=of_frame, linger_ms=linger_ms, symbols=symbols,
        partitions=partitions, state_partitions=parts,
    )  # fmt: skip


def cores(of: Demand, process: str, seconds: Mapping[str, Sequence[float]] = SECONDS) -> float:
    return float(np.dot([of.numbers()[term] for term in TERMS[process]], seconds[process]))


def observation(of: Demand, speed: float = 1.0, *, held_out: bool = False, p99_ms: float = 20.0) -> Observation:
    """A run whose machine took so many times the CPU."""
    return Observation(
        run={},
        mode="real-time",
        held_out=held_out,
        load=of,
        cores={name: speed * cores(of, name) for name in TERMS},
        latencies={"p99 between commits, ms": p99_ms, "pause of a commit, ms": 500.0},
    )


def observations(speeds: Sequence[float] = (1.0,) * len(CUTS)) -> list[Observation]:
    """The grid, whose machine took so many times the CPU in each run, and the held-out runs on one that did not."""
    fitted = [observation(load(*cut), speed) for cut, speed in zip(CUTS, speeds, strict=True)]
    return fitted + [observation(load(*cut), held_out=True) for cut in HELD_OUT]
