"""Groups of runs drawn by a computer, to see how often a comparison errs when the truth is known."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from market_spread.runs.comparing.figures import read_figures
from market_spread.runs.comparing.groups import Group
from market_spread.runs.comparing.judging import Change, Comparison, compare
from market_spread.runs.comparing.recorded import RecordedRun
from market_spread.runs.comparing.turns import Turns

FIGURES = read_figures((), ())

# How noisy a run is, run by run: one draw that all its figures share, and one for each figure.
Noise = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]


def even(rng: np.random.Generator, runs: int) -> npt.NDArray[np.float64]:
    """Normal noise, half of its variance shared by the figures of a run."""
    return (rng.normal(size=(runs, 1)) + rng.normal(size=(runs, len(FIGURES)))) / np.sqrt(2)


def heavy(rng: np.random.Generator, runs: int) -> npt.NDArray[np.float64]:
    """Student's t with 3 degrees of freedom, of variance 1: now and then a run stands far out."""
    return rng.standard_t(3, size=(runs, len(FIGURES))) / np.sqrt(3)


def disturbed(rng: np.random.Generator, runs: int) -> npt.NDArray[np.float64]:
    """One run in ten meets a neighbour who makes it ten times the noise slower."""
    return even(rng, runs) + 10 * (rng.random((runs, 1)) < 0.1)


def drifting(rng: np.random.Generator, runs: int) -> npt.NDArray[np.float64]:
    """The machine gets slower from run to run, by five times the noise from the first to the last."""
    return even(rng, runs) + np.linspace(0, 5, runs)[:, np.newaxis]


def steps(rng: np.random.Generator, runs: int) -> npt.NDArray[np.float64]:
    """Values that fall on a few steps only, so that many are equal."""
    return np.round(even(rng, runs) * 2) / 2


NOISES: dict[str, Noise] = {
    "normal": even,
    "heavy tails": heavy,
    "one run in ten disturbed": disturbed,
    "drift over the runs": drifting,
    "few distinct values": steps,
}


@dataclass(frozen=True, slots=True)
class Rates:
    """Of so many comparisons, the shares in which something was said."""

    any_wrong: float
    p99_worse: float
    p99_same: float


def rates(*, repetitions: int, pairs: int, noise_share: float, slower_share: float, noise: Noise, seed: int) -> Rates:
    """Simulate as many comparisons of runs in turn, of which b is slower by that share in every latency.

    any_wrong: says better or worse of a figure that did not change, or better of one that got worse.
    """
    rng = np.random.default_rng(seed)
    wrong = worse = same = 0
    for repetition in range(repetitions):
        comparison = simulated(
            rng, order_seed=repetition, pairs=pairs, noise_share=noise_share, slower_share=slower_share, noise=noise
        )
        by_path = {judged.figure.path: judged.change for judged in comparison.pairs[0].judged}
        wrong += any(_is_wrong(path, change, slower_share) for path, change in by_path.items())
        worse += by_path["latency_ns.p99"] is Change.WORSE
        same += by_path["latency_ns.p99"] is Change.SAME
    return Rates(wrong / repetitions, worse / repetitions, same / repetitions)


def simulated(
    rng: np.random.Generator, *, order_seed: int, pairs: int, noise_share: float, slower_share: float, noise: Noise
) -> Comparison:
    """One comparison of runs made in turn."""
    order = Turns(pairs, order_seed).order
    logs = np.log1p(noise_share) * noise(rng, len(order))
    groups = {arm: Group(arm, ()) for arm in "ab"}
    for number, arm in enumerate(order):
        factor = 1 + slower_share * (arm == "b")
        values = {
            figure.path: float(1e7 * np.exp(log) * (factor if "latency" in figure.path else 1))
            for figure, log in zip(FIGURES, logs[number], strict=True)
        }
        groups[arm] = Group(arm, (*groups[arm].runs, run_of(number, values)))
    return compare((groups["a"], groups["b"]), FIGURES)


def run_of(number: int, figures: dict[str, float]) -> RecordedRun:
    """A valid run with these figures."""
    return RecordedRun(
        run_id=f"run-{number}",
        folder=Path(f"run-{number}"),
        workload="simulated",
        started=f"2026-01-01T{number // 60:02}:{number % 60:02}:00+00:00",
        verdict="passed",
        reasons=(),
        void_reasons=(),
        wrong_reasons=(),
        lag_reasons=(),
        figures=figures,
        facts={},
    )


def _is_wrong(path: str, change: Change, slower_share: float) -> bool:
    if change is Change.BETTER:
        return True
    return change is Change.WORSE and not (slower_share > 0 and "latency" in path)
