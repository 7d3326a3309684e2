"""Runs drawn by a computer on a machine that drifts, to see how often a verdict errs when the truth is known."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from market_spread.controller.analysis.evidence import Achieved, Verdict
from market_spread.controller.compare.ab_session import order_of
from market_spread.controller.compare.comparison import Comparison, Direction, compare
from market_spread.controller.compare.figures import read_figures
from market_spread.controller.compare.groups import Group
from market_spread.controller.compare.history import by_anchor, trends_of
from market_spread.controller.compare.runs import Place, RecordedRun
from market_spread.controller.sweep.search import RateOutcome, Search, Trial, Try, next_step

FIGURES = read_figures((), ())
RUN_S = 120.0
_SWING = float(np.log(1.5))

Rng = np.random.Generator
Floats = npt.NDArray[np.float64]
# How much slower the machine is than usual, as a logarithm, at these times, which ascend.
Drift = Callable[[Rng, Floats], Floats]


def none(rng: Rng, at_s: Floats) -> Floats:
    """A machine that is always the same."""
    return np.zeros(len(at_s))


def hourly(rng: Rng, at_s: Floats) -> Floats:
    """Another level in each hour, from one end to the other 50% apart."""
    hours = ((at_s + rng.uniform(0, 3600)) // 3600).astype(int)
    levels = rng.uniform(-_SWING / 2, _SWING / 2, hours[-1] + 1)
    return np.asarray(levels[hours], np.float64)


def two_states(rng: Rng, at_s: Floats) -> Floats:
    """Two levels 50% apart, each for 20 minutes."""
    return np.where((at_s + rng.uniform(0, 2400)) // 1200 % 2, _SWING / 2, -_SWING / 2)


def autoregressive(rng: Rng, at_s: Floats) -> Floats:
    """A level that wanders: standard deviation 15%, forgotten in 30 minutes."""
    levels = [rng.normal(0, 0.15)]
    for gap_s in np.diff(at_s):
        kept = np.exp(-gap_s / 1800)
        levels.append(kept * levels[-1] + rng.normal(0, 0.15 * np.sqrt(1 - kept**2)))
    return np.array(levels)


def ramp(rng: Rng, at_s: Floats) -> Floats:
    """The machine gets slower all the time, by 50% from the first run to the last."""
    passed: Floats = (at_s - at_s[0]) / max(at_s[-1] - at_s[0], 1.0)
    return _SWING * (passed - 0.5)


DRIFTS: dict[str, Drift] = {
    "none": none,
    "hourly": hourly,
    "two states": two_states,
    "wandering": autoregressive,
    "ramp": ramp,
}


@dataclass(frozen=True, slots=True)
class Bench:
    """What is simulated. slower_share: of b in every latency and in CPU; void_above: runs slower than that are void.

    void_share: of the runs, whatever they are; in_turn: the runs are not in pairs; run_s: from run to run.
    """

    drift: Drift
    pairs: int = 8
    slower_share: float = 0.0
    noise_share: float = 0.03
    one_after_the_other: bool = False
    void_above: float = float("inf")
    void_share: float = 0.0
    in_turn: bool = False
    run_s: float = RUN_S


@dataclass(frozen=True, slots=True)
class Rates:
    """Of so many comparisons, the shares in which something was said of p99, or wrongly of any figure."""

    any_wrong: float
    worse: float
    same: float


def rates(bench: Bench, *, repetitions: int, seed: int = 1) -> Rates:
    """Simulate as many comparisons. Wrong is better or worse of what did not change, better or same of what got slower.

    Same counts as wrong from the least difference that matters on.
    """
    rng = np.random.default_rng(seed)
    wrong = worse = same = 0
    for repetition in range(repetitions):
        (contrast,) = simulated(bench, rng, order_seed=repetition).contrasts
        by_path = {judged.figure.path: judged.change for judged in contrast.judged}
        wrong += any(
            _is_wrong(change, bench.slower_share if _gets_slower(path) else 0) for path, change in by_path.items()
        )
        worse += by_path.get("latency_ns.p99") is Direction.WORSE
        same += by_path.get("latency_ns.p99") is Direction.SAME
    return Rates(wrong / repetitions, worse / repetitions, same / repetitions)


def simulated(bench: Bench, rng: Rng, *, order_seed: int) -> Comparison:
    """One comparison, of runs as `ab` makes them, or of all of a and then all of b."""
    numbers = range(1, 1 + (6 * bench.pairs if bench.void_share or np.isfinite(bench.void_above) else bench.pairs))
    turns = [(number, arm) for number in numbers for arm in order_of(order_seed, number)]
    if bench.one_after_the_other:
        turns = sorted(turns, key=lambda turn: turn[1])
    level = bench.drift(rng, bench.run_s * np.arange(len(turns), dtype=np.float64))[:, np.newaxis]
    shape = (len(turns), len(FIGURES))
    noise = (rng.normal(size=(len(turns), 1)) + rng.normal(size=shape)) / np.sqrt(2)
    slower = np.array([[arm == "b" and _gets_slower(figure.path) for figure in FIGURES] for _, arm in turns])
    logs = level + np.log1p(bench.noise_share) * noise + np.log1p(bench.slower_share) * slower
    groups = {arm: Group(arm, ()) for arm in "ab"}
    whole: set[int] = set()
    spoiled: set[int] = set()
    for at, (number, arm) in enumerate(turns):
        if number in spoiled or (len(whole) == bench.pairs and number not in whole and not bench.one_after_the_other):
            continue
        place = None if bench.one_after_the_other or bench.in_turn else Place("simulated", number, arm)
        run = run_of(at, _figures(logs[at]), place)
        group = groups[arm]
        if logs[at, _P99] > np.log1p(bench.void_above) or (bench.void_share and rng.random() < bench.void_share):
            spoiled.add(number)
            whole.discard(number)
            void = replace(run, verdict=Verdict.VOID, void_reasons=("the generator was late",))
            groups[arm] = replace(group, left_out=(*group.left_out, void))
        else:
            whole.add(number)
            groups[arm] = replace(group, runs=(*group.runs, run))
    return compare((groups["a"], groups["b"]), FIGURES)


def run_of(number: int, figures: dict[str, float], place: Place | None = None) -> RecordedRun:
    """A valid run with these figures."""
    return RecordedRun(
        run_id=f"run-{number}",
        folder=Path(f"run-{number}"),
        workload="simulated",
        started=f"2026-01-01T{number // 60:02}:{number % 60:02}:00+00:00",
        verdict=Verdict.PASSED,
        reasons=(),
        void_reasons=(),
        wrong_reasons=(),
        lag_reasons=(),
        figures=figures,
        facts={},
        achieved=Achieved({}, 0.0, None, None),
        place=place,
    )


_P99 = next(column for column, figure in enumerate(FIGURES) if figure.path == "latency_ns.p99")


def _gets_slower(path: str) -> bool:
    return "latency" in path or path == "cpu_us_per_message"


def _is_wrong(change: Direction, slower_share: float) -> bool:
    if slower_share == 0:
        return change in (Direction.BETTER, Direction.WORSE)
    return change is Direction.BETTER or (change is Direction.SAME and slower_share > FIGURES[0].least_share)


@dataclass(frozen=True, slots=True)
class SearchRates:
    """Of so many searches: how often the intervals hold the limit, usual and during the search."""

    covers: float
    covers_search: float
    near: float
    not_bracketed: float
    runs: float
    width: float
    search_width: float


def search_rates(drift: Drift, noise_share: float, *, repetitions: int, seed: int = 1, repeats: int = 4) -> SearchRates:
    """Simulate as many searches for a limit, which noise and drift move from run to run.

    The limit is that of the machine at its usual level; for the search's hour, at its mean level in the search.
    """
    rng, limit = np.random.default_rng(seed), 137_000.0
    found = np.full((repetitions, 5), np.nan)
    runs = np.zeros(repetitions)
    for repetition in range(repetitions):
        levels = drift(rng, RUN_S * np.arange(60.0))
        search = Search(start=int(rng.integers(20_000, 60_000)), low=100, high=10_000_000, repeats=repeats, curve=False)
        trials: list[Trial] = []
        while isinstance(step := next_step(search, trials), Try):
            now = np.log(limit) - levels[len(trials)] + rng.normal(0, np.log1p(noise_share))
            trials.append(Trial(step.rate, RateOutcome.HELD if np.log(step.rate) <= now else RateOutcome.BROKEN))
        runs[repetition] = len(trials)
        if (of := step.limit) is None or not of.is_bracketed:
            continue
        here = limit * np.exp(-levels[: len(trials)].mean())
        found[repetition] = (
            of.low <= limit <= of.high,
            of.search_low <= here <= of.search_high,
            abs(of.rate / limit - 1) <= 0.1,
            np.log(of.high / of.low) / 2,
            np.log(of.search_high / of.search_low) / 2,
        )
    covers, covers_search, near, width, search_width = (float(mean) for mean in np.nanmean(found, axis=0))
    not_bracketed = float(np.isnan(found[:, 0]).mean())
    return SearchRates(covers, covers_search, near, not_bracketed, float(runs.mean()), width, search_width)


@dataclass(frozen=True, slots=True)
class Series:
    """A history: memory of its noise, drift of the machine, a step in its middle, and whether an anchor
    is run between the runs.
    """

    runs: int
    memory: float = 0.0
    noise_share: float = 0.1
    drift: Drift = none
    has_anchor: bool = False
    step_share: float = 0.0


def history_rates(series: Series, *, repetitions: int, seed: int = 1) -> tuple[float, float]:
    """In how many of so many histories any figure is said to change where none does, and p99 where it does.

    A change counts as found up to two runs beside it.
    """
    rng = np.random.default_rng(seed)
    falsely = found = 0
    middle = series.runs // 2
    for _ in range(repetitions):
        levels = series.drift(rng, RUN_S * np.arange(2.0 * series.runs))[:, np.newaxis]
        noise = (_remembered(rng, series, 1) + _remembered(rng, series, len(FIGURES))) / np.sqrt(2)
        logs = levels[::2] + np.log1p(series.noise_share) * noise
        logs[middle:, _P99] += np.log1p(series.step_share)
        runs = [run_of(2 * at, _figures(row)) for at, row in enumerate(logs)]
        numbers = {run.run_id: at for at, run in enumerate(runs)}
        trends = trends_of(runs, FIGURES) if not series.has_anchor else ()
        if series.has_anchor:
            anchor_noise = np.log1p(series.noise_share) * rng.normal(size=logs.shape)
            anchors = [run_of(1 + 2 * at, _figures(row)) for at, row in enumerate(levels[1::2] + anchor_noise)]
            trends = trends_of(*by_anchor(runs, anchors, FIGURES), memory_min=0.0)
        changes = {trend.figure.path: [numbers[change.run.run_id] for change in trend.changes] for trend in trends}
        ats = changes[FIGURES[_P99].path]
        found += series.step_share > 0 and any(abs(at - middle) <= 2 for at in ats)
        falsely += any(ats for path, ats in changes.items() if path != FIGURES[_P99].path or not series.step_share)
    return falsely / repetitions, found / repetitions


def _remembered(rng: Rng, series: Series, columns: int) -> Floats:
    """Normal noise of which a run remembers a share of the one before."""
    values = rng.normal(size=(series.runs, columns))
    for at in range(1, series.runs):
        values[at] = series.memory * values[at - 1] + np.sqrt(1 - series.memory**2) * values[at]
    return values


def _figures(logs: Floats) -> dict[str, float]:
    return dict(zip((figure.path for figure in FIGURES), (1e7 * np.exp(logs)).tolist(), strict=True))
