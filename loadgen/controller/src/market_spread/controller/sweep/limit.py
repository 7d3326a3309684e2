"""The limit of a system from runs that held their rate or did not: a psychometric fit.

A run holds its rate with a probability that falls with the rate, as a normal distribution of the limit's logarithm from
run to run; one run in fifty says anything (a lapse). Limit and spread have a posterior distribution on a grid, as in
the method of Kontsevich and Tyler (1999), with a flat prior of the limit and a log-normal one of the spread.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

CONFIDENCE = 0.95
_LAPSE = 0.02
_STEP = 0.01
_SPREADS = np.geomspace(0.01, 0.5, 14)
_SPREAD_MEDIAN, _SPREAD_WIDTH = 0.1, 1.0
# Bounds that are further apart say no more than that the runs contradict each other, or are too few.
_BRACKET_RATIO_MAX = 2.5


@dataclass(frozen=True, slots=True)
class Limit:
    """The rate that half of the runs hold, messages a second, with 95% intervals.

    search_low, search_high: for the machine as it was during the search. low, high: with its drift from hour to hour.
    spread: of the limit from run to run, a share. is_bracketed: whether the runs agree on it.
    """

    rate: float
    low: float
    high: float
    search_low: float
    search_high: float
    spread: float
    is_bracketed: bool


def limit_of(counts: Mapping[int, tuple[int, int]], drift_share: float) -> Limit | None:
    """The limit; None if no run held its rate, or none did not.

    counts: by rate, how many runs held it and how many did not. drift_share: the standard deviation of the machine's
    speed from hour to hour, which runs of an hour cannot show.
    """
    rates = np.log(np.array(list(counts), np.float64))
    held, broken = np.array(list(counts.values()), np.float64).reshape(-1, 2).T
    if not held.any() or not broken.any():
        return None
    edges = rates[held > 0].max(), rates[broken > 0].min()
    limits = np.arange(min(edges) - 1, max(edges) + 1, _STEP)
    spreads = _SPREADS[:, np.newaxis, np.newaxis]
    holds = _LAPSE / 2 + (1 - _LAPSE) * special.ndtr((limits[:, np.newaxis] - rates) / spreads)
    logs = (held * np.log(holds) + broken * np.log1p(-holds)).sum(axis=-1)
    logs -= (np.log(_SPREADS / _SPREAD_MEDIAN)[:, np.newaxis] / _SPREAD_WIDTH) ** 2 / 2
    weights = np.exp(logs - logs.max())
    by_limit = weights.sum(axis=0) / weights.sum()
    tails = (1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2
    low, middle, high = np.interp(tails, by_limit.cumsum() - by_limit / 2, limits)
    drift = -special.ndtri(tails[0]) * np.log1p(drift_share)
    return Limit(
        rate=float(np.exp(middle)),
        low=float(np.exp(middle - np.hypot(middle - low, drift))),
        high=float(np.exp(middle + np.hypot(high - middle, drift))),
        search_low=float(np.exp(low)),
        search_high=float(np.exp(high)),
        spread=float(np.exp((weights.sum(axis=1) * np.log(_SPREADS)).sum() / weights.sum())),
        is_bracketed=bool(
            rates[held > 0].min() < middle < rates[broken > 0].max() and high - low < np.log(_BRACKET_RATIO_MAX)
        ),
    )
