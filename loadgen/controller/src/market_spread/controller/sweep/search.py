"""The search for the highest rate that is held: which rate to try next, from what was found so far. Pure.

Bracket: from the start the rate is doubled until one is broken, or halved until one is held. Bisect: between the two,
in equal ratios. Return: to a rate below the limit and one above it in turn, since a run near the limit says one thing
today and another one tomorrow; all runs together give the limit and its interval. At the end, shares of the limit are
tried, for the curve of latency against rate.

The limit is a psychometric fit. A run holds its rate with a probability that falls with the rate, as a normal
distribution of the limit's logarithm from run to run; one run in fifty says anything (a lapse). Limit and spread have a
posterior distribution on a grid, as in the method of Kontsevich and Tyler (1999), with a flat prior of the limit and a
log-normal one of the spread.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy import special

CONFIDENCE = 0.95
_LAPSE, _STEP = 0.02, 0.01
_SPREADS = np.geomspace(0.01, 0.5, 14)
_SPREAD_MEDIAN, _SPREAD_WIDTH = 0.1, 1.0
# Bounds that are further apart say no more than that the runs contradict each other, or are too few.
_BRACKET_RATIO_MAX = 2.5
CURVE_SHARES = (0.5, 0.8, 0.95)
VOID_MAX = 3
# The normal quantile at which a run holds its rate, or does not, in three cases of four.
_THREE_QUARTERS = 0.67


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
    agree = rates[held > 0].min() < middle < rates[broken > 0].max()
    with_drift = middle - np.hypot(middle - low, drift), middle + np.hypot(high - middle, drift)
    spread = (weights.sum(axis=1) * np.log(_SPREADS)).sum() / weights.sum()
    is_bracketed = bool(agree and high - low < np.log(_BRACKET_RATIO_MAX))
    rate, lowest, highest, search_low, search_high, share = np.exp([middle, *with_drift, low, high, spread]).tolist()
    return Limit(rate, lowest, highest, search_low, search_high, share, is_bracketed)


class RateOutcome(Enum):
    """What a run at a rate says."""

    HELD = "held"
    BROKEN = "broken"
    VOID = "void"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The limits of a search, rates in messages a second.

    precision: how far the ends of the bisection may be apart, as a share. repeats: how often each end is returned to.
    drift_share: by how much the machine's speed differs from hour to hour, standard deviation.
    """

    start: int
    low: int
    high: int
    precision: float = 0.05
    repeats: int = 4
    drift_share: float = 0.12
    curve: bool = True


@dataclass(frozen=True, slots=True)
class Trial:
    """A run at a rate, what it says, and why, in the first sentence that speaks for it; empty if the rate is held."""

    rate: int
    outcome: RateOutcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Try:
    """Run at this rate next; why, in a word."""

    rate: int
    purpose: str


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The end of a search: the highest rate that most of its runs held, and the lowest above it that most did not.

    held is None if even the lowest rate is broken; broken is None if even the highest one is held. is_rig_bound:
    whether the broken end is one where all runs were void, so that the system may hold more. limit: None without two
    ends.
    """

    held: int | None
    broken: int | None
    is_rig_bound: bool = False
    limit: Limit | None = None

    @property
    def verdict(self) -> str:
        """`held`, `broken`, or `undecided` if the runs do not agree on it, or those of the lowest rate are void."""
        if not self.limit.is_bracketed if self.limit else self.is_rig_bound and self.held is None:
            return "undecided"
        return "held" if self.held else "broken"


def next_step(search: Search, trials: Sequence[Trial]) -> Try | RateLimit:
    """What to do next. trials: in the order in which they were made.

    The same trials give the same answer, so a search can be taken up at any time.
    """
    closed_at = next((n for n in range(len(trials) + 1) if _narrowing(search, _Ends(trials[:n])) is None), None)
    ends = _Ends(trials)
    limit = limit_of(ends.counts, search.drift_share)
    if closed_at is None or ends.floor is None or ends.ceiling is None or ends.ceiling in ends.void:
        limit = None
        if step := _narrowing(search, ends):
            return step
        end = ends.floor if ends.floor is not None else ends.ceiling
        if end is not None and end not in ends.void and sum(ends.counts[end]) < search.repeats:
            return Try(end, "return")
    elif limit is not None:
        returns = sum(trial.outcome is not RateOutcome.VOID for trial in trials[closed_at:])
        if returns < 2 * search.repeats:
            return Try(_return_rate(search, limit, ends, is_above=returns % 2 == 1), "return")
    if search.curve and (best := round(limit.rate) if limit else ends.floor):
        done = [rate for rate, judged in ends.counts.items() if any(judged) or rate in ends.void]
        for wanted in (round_rate(best * share) for share in CURVE_SHARES):
            if wanted >= search.low and all(abs(rate / wanted - 1) > 0.03 for rate in done):
                return Try(wanted, "curve")
    return RateLimit(ends.floor, ends.ceiling, ends.ceiling in ends.void, limit)


def _narrowing(search: Search, ends: "_Ends") -> Try | None:
    """What brings the ends nearer to each other; None if they are near enough, or at the limits."""
    floor, ceiling = ends.floor, ends.ceiling
    if open_rate := ends.open_rate:
        return Try(open_rate, "again")
    if floor is None and ceiling is None:
        return Try(search.start, "bracket")
    if ceiling is None:
        return Try(min(2 * floor, search.high), "bracket") if floor and floor < search.high else None
    if floor is None:
        return Try(max(ceiling // 2, search.low), "bracket") if ceiling > search.low else None
    if ceiling <= floor * (1 + search.precision) or ceiling - floor < 2:
        return None
    middle = round((floor * ceiling) ** 0.5)
    rounded = round_rate(middle)
    return Try(rounded if floor < rounded < ceiling else middle, "bisect")


def _return_rate(search: Search, limit: Limit, ends: "_Ends", *, is_above: bool) -> int:
    """A rate that three runs of four hold, or do not; one that was tried if there is one near."""
    distance = max(search.precision / 2, _THREE_QUARTERS * limit.spread)
    wanted = min(max(limit.rate * (1 + distance) ** (1 if is_above else -1), search.low), search.high)
    near = [rate for rate in ends.counts if abs(rate / wanted - 1) <= search.precision / 2]
    return min(near, key=lambda rate: abs(rate - wanted), default=round_rate(wanted))


class _Ends:
    """What the outcomes say of the rates. counts: by rate, how many runs held it and how many did not; void: rates of
    which all runs were void, often enough to give them up.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        tried: dict[int, list[RateOutcome]] = defaultdict(list)
        for trial in trials:
            tried[trial.rate].append(trial.outcome)
        self.counts = {rate: (of.count(RateOutcome.HELD), of.count(RateOutcome.BROKEN)) for rate, of in tried.items()}
        self.void = {rate for rate, of in tried.items() if len(of) == of.count(RateOutcome.VOID) >= VOID_MAX}
        good = {rate for rate, (held, broken) in self.counts.items() if held > broken}
        bad = {rate for rate, (held, broken) in self.counts.items() if held < broken} | self.void
        settled_floor = max((rate for rate in good if self.counts[rate][0] > 1), default=0)
        self.ceiling = min((rate for rate in bad if rate > settled_floor), default=None)
        below = {rate for rate in tried if self.ceiling is None or rate < self.ceiling}
        self.floor = max(below & good, default=None)
        # A rate between the ends that must be tried again: its runs say both, or were void.
        undecided = below - good - bad
        self.open_rate = min((rate for rate in undecided if self.floor is None or rate > self.floor), default=None)


def round_rate(rate: float) -> int:
    """The rate with three digits that count."""
    digits = max(0, len(str(int(rate))) - 3)
    return round(int(rate), -digits)
