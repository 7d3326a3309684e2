"""The search for the highest rate that is held: which rate to try next, from what was found so far. Pure.

Bracket: from the start the rate is doubled until one is broken, or halved until one is held. Bisection: between the
two, in equal ratios. Confirmation: both ends of what is left are repeated until most of the repeats agree, since a run
near the limit says one thing today and another one tomorrow; an end that does not stand opens the search again. At the
end, shares of the rate that was found are tried, for the curve of latency against rate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from market_spread.runs.searching.objectives import Outcome

CURVE_SHARES = (0.5, 0.8, 0.95)
VOID_MAX = 3

Tried = Mapping[int, Sequence[Outcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The limits of a search, rates in messages a second.

    precision: how far the ends may be apart, as a share. repeats: odd; most of so many runs must agree at both ends.
    """

    start: int
    low: int
    high: int
    precision: float = 0.05
    repeats: int = 3
    curve: bool = True

    @property
    def majority(self) -> int:
        """How many runs settle an end."""
        return self.repeats // 2 + 1


@dataclass(frozen=True, slots=True)
class Try:
    """Run at this rate next; why, in a word."""

    rate: int
    purpose: str


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a search: the highest rate that is held, and the lowest above it that is not.

    held is None if even the lowest rate is broken; broken is None if even the highest one is held.
    is_rig_bound: whether the broken end is one where all runs were void, so that the system may hold more.
    """

    held: int | None
    broken: int | None
    is_rig_bound: bool = False


def next_step(search: Search, tried: Tried) -> Try | Found:
    """What to do next. The same outcomes give the same answer, so a search can be taken up at any time."""
    ends = _Ends(search, tried)
    if step := _narrowing(search, ends, has_begun=bool(tried)):
        return step
    for end in (ends.floor, ends.ceiling):
        if end is not None and not ends.is_settled(end):
            return Try(end, "confirm")
    if search.curve and ends.floor is not None and (point := _next_of_curve(ends.floor, tried)):
        return Try(point, "curve")
    return Found(ends.floor, ends.ceiling, ends.ceiling is not None and ends.is_void(ends.ceiling))


def _narrowing(search: Search, ends: "_Ends", *, has_begun: bool) -> Try | None:
    """What brings the ends nearer to each other; None if they are near enough, or at the limits."""
    floor, ceiling = ends.floor, ends.ceiling
    if open_rate := ends.open_rate:
        return Try(open_rate, "again")
    if not has_begun:
        return Try(search.start, "bracket")
    if ceiling is None:
        return Try(min(2 * floor, search.high), "bracket") if floor and floor < search.high else None
    if floor is None:
        return Try(max(ceiling // 2, search.low), "bracket") if ceiling > search.low else None
    middle = _middle(floor, ceiling, search.precision)
    return Try(middle, "bisect") if middle else None


class _Ends:
    """What the outcomes say of the rates."""

    def __init__(self, search: Search, tried: Tried) -> None:
        self._search = search
        self._tried = tried
        settled_floor = max((rate for rate in tried if self._count(rate, Outcome.HELD) >= search.majority), default=0)
        bad = [rate for rate in tried if rate > settled_floor and self._is_bad(rate)]
        self.ceiling = min(bad, default=None)
        good = [rate for rate in tried if self._is_good(rate) and (self.ceiling is None or rate < self.ceiling)]
        self.floor = max(good, default=None)

    @property
    def open_rate(self) -> int | None:
        """A rate between the ends that must be tried again: its runs say both, or were void."""
        between = [
            rate
            for rate in self._tried
            if not self._is_good(rate)
            and not self._is_bad(rate)
            and (self.floor is None or rate > self.floor)
            and (self.ceiling is None or rate < self.ceiling)
        ]
        return min(between, default=None)

    def is_settled(self, rate: int) -> bool:
        """Whether most of the repeats agree on it."""
        most = max(self._count(rate, Outcome.HELD), self._count(rate, Outcome.BROKEN))
        return most >= self._search.majority or self.is_void(rate)

    def is_void(self, rate: int) -> bool:
        """Whether all its runs were void, often enough to give it up."""
        return len(self._tried[rate]) == self._count(rate, Outcome.VOID) >= VOID_MAX

    def _is_good(self, rate: int) -> bool:
        return self._count(rate, Outcome.HELD) > self._count(rate, Outcome.BROKEN)

    def _is_bad(self, rate: int) -> bool:
        return self._count(rate, Outcome.BROKEN) > self._count(rate, Outcome.HELD) or self.is_void(rate)

    def _count(self, rate: int, outcome: Outcome) -> int:
        return sum(each is outcome for each in self._tried[rate])


def _middle(floor: int, ceiling: int, precision: float) -> int | None:
    """A rate between the two, of three digits that count if there is one; None if they are near enough."""
    if ceiling <= floor * (1 + precision) or ceiling - floor < 2:
        return None
    exact = round((floor * ceiling) ** 0.5)
    rounded = round_rate(exact)
    return rounded if floor < rounded < ceiling else exact


def round_rate(rate: float) -> int:
    """The rate with three digits that count."""
    digits = max(0, len(str(int(rate))) - 3)
    return round(int(rate), -digits)


def _next_of_curve(held: int, tried: Tried) -> int | None:
    """The first share of the rate near which nothing was tried and judged."""
    judged = [rate for rate, outcomes in tried.items() if len(outcomes) > outcomes.count(Outcome.VOID)]
    given_up = [rate for rate, outcomes in tried.items() if outcomes.count(Outcome.VOID) >= VOID_MAX]
    for share in CURVE_SHARES:
        wanted = round_rate(held * share)
        if wanted and all(abs(rate / wanted - 1) > 0.03 for rate in (*judged, *given_up)):
            return wanted
    return None
