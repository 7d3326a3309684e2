"""What a load costs, fitted to runs, and its plan: partitions, processes, CPU, network, disk, how late alerts are."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, nan
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import nnls
from scipy.stats import poisson

from market_spread.common.documents import json_object
from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.schema import value_of
from market_spread.common.wire.layout import BUCKETS_MAX, NBBO, ORDER
from market_spread.controller.compare.figures import short_number
from market_spread.controller.plan.workload import Workload
from market_spread.controller.statistics.intervals import Floats
from market_spread.controller.views.output import Page, Sentences, Table
from market_spread.loadgen.market.parameters import STATE_PARTITIONS_MAX

# The runs that ship.
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
# By figure the process whose costs it follows from; what it follows from, and what it does not know.
REASONS = json.loads(Path(__file__).with_name("figures.json").read_text("utf-8"))
# Cores that are left to processes, two of 18 being the system's; network and disk (EBS), bits a second; inf: not known.
MACHINES = {"c4.8xlarge": (16, 10e9, 4e9), "this": (os.cpu_count() or 1, inf, inf)}
_BUSY = 0.7  # so far threads, and the cores, network and disk of nodes, are planned to be busy
_READING = 0.25  # of the job's CPU is spent before the state: 0.60 of 2.44 us a message (docs/performance.md)
_EXECUTOR_CORES = 7  # as in charts/market-spread/values-c4.8xlarge.yaml
_MESSAGE_BYTES, _FRAME_BYTES = (NBBO.width + ORDER.width) / 2, 80  # the latter are Kafka's, of a frame sent alone
_DRAWING_S = 0.08e-6  # a message, of each of several senders, whosesoever it is (docs/scaling.md)


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
            "always": 1, "tasks": readers + parts, "messages_per_s": self.messages_per_s, "frames_per_s": frames_per_s,
            "alerts_per_s": self.alerts_per_s, "records_per_s": frames_per_s + self.alerts_per_s,
            "misses_per_s": self.messages_per_s * max(0.0, 1 - SYMBOLS_AT_HAND * parts / self.symbols),
        }  # fmt: skip


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
    what, kinds = f"{path} has no measured runs", (OSError, ValueError, KeyError, TypeError)
    with usage_errors(what, "write it with tests/benchmarks/capacity.py", kinds):
        return [value_of(Observation, each) for each in json_object(path.read_bytes())["runs"]]


def _row(terms: Sequence[str], load: Demand) -> Floats:
    numbers = load.numbers()
    return np.array([numbers[term] for term in terms], np.float64)


class PlannedFigure(NamedTuple):
    """A figure with its 95% interval, None where there is none; extrapolated: in which terms (`Model.beyond`)."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    extrapolated: Mapping[str, tuple[float, float]]
    why: str


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans a workload's rate and symbols on one of MACHINES; core_speed: as a multiple of the measured cores'."""

    model: Model
    workload: Workload
    machine: str
    core_speed: float = 1.0

    def figures(self) -> list[PlannedFigure]:
        """The plan. Partitions have the bounds that those of the job's CPU make, everything else that at this cut."""
        cuts = [self.cut(bound) for bound in range(3)]
        tasks = ((of.partitions, of.state_partitions, of.numbers()["tasks"]) for of in cuts)
        found = [(at[0], min(at), max(at)) for at in zip(*tasks, strict=True)]
        found += zip(*(self._needs(cuts[0], bound) for bound in range(3)), strict=True)
        beyond = {process: self.model.beyond(process, cuts[0]) for process in TERMS}
        return [
            PlannedFigure(name, *at, beyond[process], why)
            for (name, (process, why)), at in zip(REASONS.items(), found, strict=True)
        ]

    def cut(self, bound: int) -> Demand:
        """The cheaper one at a bound of the cost: by the default partitions of the state, or by all symbols at hand."""
        starts = (self.workload.state_partitions, ceil(self.workload.market.symbols / SYMBOLS_AT_HAND))
        cuts = (self._cut(bound, parts) for parts in starts)
        return min(cuts, key=lambda load: self._cores("job", load, bound))

    def _cut(self, bound: int, parts: int) -> Demand:
        """The least partitions whose readers and tasks of the state are busy as planned, the latter from parts on."""
        frames, market, per_s = self.workload.frames, self.workload.market, self.workload.load.highest_per_s
        alerts_per_s, partitions = per_s * market.order_share * market.rejected_orders + market.probes_per_s, 1
        while partitions <= BUCKETS_MAX and parts <= STATE_PARTITIONS_MAX:
            load = Demand(
                messages_per_s=per_s, alerts_per_s=alerts_per_s, frame_messages=frames.messages,
                linger_ms=frames.linger_ms, symbols=market.symbols, partitions=partitions, state_partitions=parts,
            )  # fmt: skip
            threads = self._cores("job", load, bound) / _BUSY
            wanted = max(partitions, ceil(_READING * threads / 2)), max(parts, ceil((1 - _READING) * threads))
            if wanted == (partitions, parts):
                return load
            partitions, parts = wanted
        raise UsageError(f"--rate {per_s} takes more partitions than there can be; use a lower one, or larger frames")

    def _cores(self, process: str, load: Demand, bound: int) -> float:
        return self.model.costs[process].cores(load)[bound] / self.core_speed

    def _needs(self, load: Demand, bound: int) -> list[float | None]:
        """The figures behind those of tasks, in the order of their reasons, at a bound of the cost."""
        job, broker, sender, receiver = (self._cores(process, load, bound) for process in TERMS)
        bits = 8 * (load.messages_per_s * _MESSAGE_BYTES + load.numbers()["frames_per_s"] * _FRAME_BYTES)
        cores, network, disk = (_BUSY * each for each in MACHINES[self.machine])
        executors, brokers = ceil(job / _BUSY / _EXECUTOR_CORES), ceil(max(broker / cores, bits / network, bits / disk))
        each = (self.model.costs["sender"].seconds[0] + load.messages_per_s * _DRAWING_S) / self.core_speed
        senders = max(1, ceil((sender - each) / (_BUSY - each))) if each < _BUSY else nan
        found = [job, executors, broker, brokers, sender + (senders - 1) * each, senders, receiver]
        found += [bits / 1e9, bits / 8e6, brokers + ceil(job / cores)]
        for name in list(REASONS)[3 + len(found) :]:
            runs = [run.latencies[name] for run in self.model.fitted if name in run.latencies] or [nan]
            found.append(float(np.percentile(runs, (50, 0, 100)[bound])))
        return [None if np.isnan(value) else value for value in found]

    def page(self) -> Page:
        """The plan for people: figures, what each follows from, the costs, and how well they predict."""
        figures, load = self.figures(), self.cut(0)
        rows = []
        for of in figures:
            shown = ("–" if value is None else short_number(value) for value in of[1:4])
            rows.append((of.name, *shown, "extrapolated" if of.extrapolated else ""))
        said = [f"{of.name}: {of.why}" for of in figures]
        for process, costs in self.model.costs.items():
            by_term = zip(costs.terms, 1e6 * costs.seconds, strict=True)
            us = ", ".join(f"{short_number(each)} us for {term}" for term, each in by_term)
            off = np.abs(self.model.errors(process) or [nan])
            seen = f"predicted within {np.median(off):.0%}, the worst of {len(off)} within {off.max():.0%}"
            beyond = self.model.beyond(process, load).items()
            far = "".join(f"; {at:,.0f} {term}, fitted up to {most:,.0f}" for term, (at, most) in beyond)
            said.append(f"{process}: {us}; held-out steps {seen}{far}")
        said = [each.replace("_per_s", " a second").replace("_", " ") for each in said]
        where = f"on {self.machine} at core speed {self.core_speed:g}"
        parts = Table("", ("figure", "planned", "low", "high", ""), tuple(rows)), Sentences(tuple(said))
        return Page("", f"{load.messages_per_s:,} messages/s, {load.symbols:,} symbols, {where}", parts)
