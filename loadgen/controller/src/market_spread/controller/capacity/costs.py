"""What a load costs: the cores of each process, fitted to runs. The runs that ship are data beside this module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Self

import numpy as np
from scipy.optimize import nnls
from scipy.stats import poisson

from market_spread.common.documents import json_object
from market_spread.common.errors import UsageError
from market_spread.controller.statistics.intervals import Floats

SHIPPED = Path(__file__).with_name("measured.json")
# What the cores of a process are a sum of: numbers of a load.
TERMS: dict[str, Sequence[str]] = {
    "job": ("always", "tasks", "records_per_s", "messages_per_s", "misses_per_s"),
    "broker": ("always", "records_per_s", "messages_per_s"),
    "sender": ("always", "frames_per_s", "messages_per_s"),
    "receiver": ("always", "alerts_per_s"),
}
SYMBOLS_AT_HAND = 900  # of a partition of the state (docs/adr/0028)
_DRAWS, _SEED = 1000, 20_240_229
_HUBER, _TURNS, _DEVIATION_MIN = 1.345, 30, 1e-4  # residuals beyond so many deviations weigh less


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What is offered, and how it is cut."""

    messages_per_s: float
    alerts_per_s: float
    frame_messages: int
    linger_ms: float
    symbols: int
    partitions: int
    state_partitions: int

    def numbers(self) -> dict[str, float]:
        """By name. Misses are messages whose symbol is not at hand.

        Messages come by chance, and at each linger the frames leave that they fill, the last one in part.
        """
        readers, parts, ticks_per_s = 2 * self.partitions, self.state_partitions, 1000 / max(self.linger_ms, 0.001)
        met = self.messages_per_s / readers / ticks_per_s
        fills = np.arange(ceil(2 * met / self.frame_messages) + 2) * self.frame_messages
        frames_per_s = readers * ticks_per_s * float(poisson.sf(fills, met).sum())
        return {
            "always": 1,
            "tasks": readers + parts,
            "messages_per_s": self.messages_per_s,
            "frames_per_s": frames_per_s,
            "alerts_per_s": self.alerts_per_s,
            "records_per_s": frames_per_s + self.alerts_per_s,
            "misses_per_s": self.messages_per_s * max(0.0, 1 - SYMBOLS_AT_HAND * parts / self.symbols),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A run: which, the cores of each process in the second half of its load, and latencies by the plan's figures.

    held_out: it checks the fit, and is no part of it.
    """

    run: Mapping[str, str]
    mode: str
    held_out: bool
    load: Demand
    cores: Mapping[str, float]
    latencies: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one process: seconds of CPU by term, draws of them (draw, term), and residuals as shares of the cores."""

    terms: Sequence[str]
    seconds: Floats
    draws: Floats
    residuals: Floats

    @classmethod
    def fit(cls, process: str, runs: Sequence[Observation]) -> Self:
        """Least squares of shares, robust against runs that stand out; no term costs less than nothing.

        The draws are a bootstrap of the residuals, which leaves the loads as they are.
        """
        rows = np.array([_row(TERMS[process], run.load) / run.cores[process] for run in runs])
        scales, root = np.maximum(rows.max(axis=0), 1e-12), np.ones(len(rows))
        rows /= scales
        for _ in range(_TURNS):
            found = nnls(rows * root[:, np.newaxis], root)[0]
            off = np.maximum(np.abs(rows @ found - 1), _DEVIATION_MIN)
            root = np.sqrt(np.minimum(1, _HUBER * 1.4826 * np.median(off) / off))
        # Residuals are smaller than errors, the more so the more terms there are for the runs.
        residuals = (1 - rows @ found) * np.sqrt(len(rows) / max(1, len(rows) - int(np.count_nonzero(found))))
        drawn = rows @ found + np.random.default_rng(_SEED).choice(residuals, (_DRAWS, len(rows)))
        draws = np.array([nnls(rows * root[:, np.newaxis], each * root)[0] for each in drawn])
        return cls(TERMS[process], found / scales, draws / scales, residuals)

    def cores(self, load: Demand) -> tuple[float, float, float]:
        """The cores that the load takes, and the bounds within which 95% of the runs of it are to lie."""
        row, noise = _row(self.terms, load), np.random.default_rng(_SEED + 1).choice(self.residuals, _DRAWS)
        low, high = np.percentile(self.draws @ row * (1 + noise), [2.5, 97.5])
        return (value := float(row @ self.seconds)), min(float(low), value), max(float(high), value)


@dataclass(frozen=True, slots=True)
class Model:
    """The costs of every process, the runs that they were fitted to, and those that check them."""

    costs: Mapping[str, Costs]
    fitted: Sequence[Observation]
    held_out: Sequence[Observation]

    @classmethod
    def fit(cls, runs: Sequence[Observation], mode: str) -> Self:
        """Of the runs in a mode. UsageError if there are too few."""
        fitted = [run for run in runs if run.mode == mode and not run.held_out]
        if len(fitted) <= (most := max(map(len, TERMS.values()))):
            raise UsageError(f"{len(fitted)} runs are of {mode} mode; make {most + 1} or more, each of another load")
        held_out = [run for run in runs if run.mode == mode and run.held_out]
        return cls({process: Costs.fit(process, fitted) for process in TERMS}, fitted, held_out)

    def errors(self, process: str) -> list[float]:
        """How far the prediction for each held-out run is above the cores that it took, as a share of these."""
        return [self.costs[process].cores(run.load)[0] / run.cores[process] - 1 for run in self.held_out]

    def beyond(self, process: str, load: Demand) -> dict[str, tuple[float, float]]:
        """The terms of a process in which the load is beyond all fitted runs: its number, and the most of theirs."""
        most = np.max([_row(TERMS[process], run.load) for run in self.fitted], axis=0).tolist()
        at = zip(TERMS[process], _row(TERMS[process], load).tolist(), most, strict=True)
        return {term: (value, limit) for term, value, limit in at if value > limit}


def read(path: Path) -> list[Observation]:
    """The runs of a file of tests/benchmarks/capacity.py. UsageError if it is none."""
    try:
        runs = json_object(path.read_bytes())["runs"]
        return [Observation(**{**each, "load": Demand(**each["load"])}) for each in runs]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sentence = f"{path} has no measured runs ({error}); write it with tests/benchmarks/capacity.py"
        raise UsageError(sentence) from error


def _row(terms: Sequence[str], load: Demand) -> Floats:
    numbers = load.numbers()
    return np.array([numbers[term] for term in terms], np.float64)
