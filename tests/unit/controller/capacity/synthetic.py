"""Runs whose costs are known."""

from collections.abc import Mapping, Sequence

import numpy as np

from market_spread.controller.capacity.costs import TERMS, Load, Observation

# Seconds of CPU, by the terms of each process.
SECONDS = {
    "job": (0.02, 150e-6, 50e-6, 2e-6, 6e-6),
    "broker": (0.05, 100e-6, 0.5e-6),
    "sender": (0.05, 100e-6, 2e-6),
    "receiver": (0.02, 500e-6),
}
# Messages, frames, alerts, symbols, partitions, partitions of the state.
CUTS = [
    (5_000, 1000, 160, 350, 1, 1), (20_000, 2000, 320, 350, 1, 1), (60_000, 400, 160, 3500, 1, 4),
    (100_000, 1000, 160, 350, 1, 1), (20_000, 2000, 800, 350, 2, 1), (40_000, 1000, 160, 3500, 1, 1),
    (10_000, 100, 160, 350, 1, 1), (60_000, 3000, 160, 350, 1, 1), (150_000, 400, 160, 350, 1, 1),
    (20_000, 200, 160, 350, 1, 1), (30_000, 1000, 160, 35_000, 1, 16), (40_000, 2000, 800, 350, 2, 1),
]  # fmt: skip
HELD_OUT = [(30_000, 700, 160, 350, 1, 1), (80_000, 2000, 400, 350, 2, 1), (50_000, 500, 160, 7000, 1, 4)]


def load(messages: float, frames: float, alerts: float, symbols: int, partitions: int, parts: int) -> Load:
    return Load(
        messages_per_s=messages, frames_per_s=frames, alerts_per_s=alerts, symbols=symbols, partitions=partitions,
        state_partitions=parts,
    )  # fmt: skip


def cores(of: Load, process: str, seconds: Mapping[str, Sequence[float]] = SECONDS) -> float:
    return float(np.dot([of.numbers()[term] for term in TERMS[process]], seconds[process]))


def observation(of: Load, speed: float = 1.0, *, held_out: bool = False, p99_ms: float = 20.0) -> Observation:
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
