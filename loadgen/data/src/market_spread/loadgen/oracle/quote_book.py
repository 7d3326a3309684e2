"""The quotes of the input, as far as a verdict can depend on them, and which of them an order can have met."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from market_spread.common.wire.codec import Int64s
from market_spread.common.wire.columns import Columns
from market_spread.loadgen.columns import Bools, Orders, Quotes, Texts, find_in, symbol_codes

SEQUENCES = 10**12  # sequences have 12 digits
# A quote, as far as its symbol's next one has to know of it; and what stands for it before the first.
_LAST = np.dtype([("sequence", "i8"), ("intended_us", "i8"), ("rejects", "?"), ("named", "?")], align=True)
_NONE_YET = np.array([(-1, -1, True, False)], _LAST)


def rejects(bid: Int64s, offer: Int64s) -> Bools:
    """Whether orders are rejected on these prices (1/10,000 dollar): 5 cents, or 5% of the mid, or wider."""
    spread = offer - bid
    return (spread >= 500) | (40 * spread >= bid + offer)


def naming(symbols: Texts, sequences: Int64s) -> Int64s:
    """A number for each symbol and sequence. Two may share one, in one of many millions."""
    with np.errstate(over="ignore"):
        numbers: Int64s = symbol_codes(symbols) * np.int64(6_364_136_223_846_793_005) + sequences
    return numbers


class QuoteBook:
    """Takes quotes in chunks and keeps those that matter: 41 bytes each.

    A rejecting quote after a rejecting one of its symbol is kept if an alert names it, or names the one before: then
    this one tells how long that one held. So what is kept does not grow with the input. An accepting quote after an
    accepting one of its symbol changes no verdict, and is kept only if it was sent before that one. As in the job's
    state, a quote that is not newer (by sequence) than an earlier one of its symbol does not count.
    """

    def __init__(self, named: Int64s | None = None, *, accepting: bool = False) -> None:
        """named: what `naming` gives for the quotes that alerts name; None keeps every rejecting quote.

        accepting: keep every accepting quote as well, for decisions that name them.
        """
        self._accepting = accepting
        self._named = None if named is None else np.unique(named)
        # Symbols have numbers, which change as more come: by the order of their codes.
        self._codes = np.empty(0, np.int64)
        self._last = _NONE_YET[:0]
        none = np.empty(0, np.int64)
        self._kept = [_Kept(none, none, none, none, none, np.empty(0, np.bool_))]

    def add(self, quotes: Quotes) -> None:
        """Add quotes; those of one symbol come in the order in which they were sent."""
        codes = symbol_codes(quotes.symbol)
        symbol_ids = find_in(self._codes, codes)
        if (symbol_ids < 0).any():
            added_codes = np.unique(codes[symbol_ids < 0])
            places = np.searchsorted(self._codes, added_codes)
            self._codes = np.insert(self._codes, places, added_codes)
            self._last = np.insert(self._last, places, _NONE_YET)
            symbol_ids = find_in(self._codes, codes)
        verdicts = rejects(quotes.bid, quotes.offer)

        in_order = bool(
            (quotes.intended_us[1:] >= quotes.intended_us[:-1]).all()
            and (quotes.intended_us >= self._last["intended_us"][symbol_ids]).all()
        )
        added = _Kept(symbol_ids, quotes.sequence, quotes.bid, quotes.offer, quotes.intended_us, verdicts)
        if in_order and not self._accepting:
            matters = self._last["rejects"].copy()
            matters[symbol_ids[verdicts]] = True
            selected = matters[symbol_ids]
            dropped_ids = symbol_ids[~selected]
            np.maximum.at(self._last["sequence"], dropped_ids, quotes.sequence[~selected])
            np.maximum.at(self._last["intended_us"], dropped_ids, quotes.intended_us[~selected])
            added, quotes = added[selected], quotes[selected]
        named = np.ones(len(quotes), np.bool_)
        if self._named is not None:
            named = find_in(self._named, naming(quotes.symbol, quotes.sequence)) >= 0
        self._keep(added, named)

    def _keep(self, ungrouped: "_Kept", named: Bools) -> None:
        grouping = _grouping(ungrouped.symbol_ids)
        grouped = ungrouped[grouping]
        keys = grouped.symbol_ids * SEQUENCES + grouped.sequence
        newer = grouped.sequence > self._last["sequence"][grouped.symbol_ids]
        newer[1:] &= keys[1:] > np.maximum.accumulate(keys)[:-1]
        grouped = grouped[newer]
        now = np.empty(len(grouped), _LAST)
        for name in ("sequence", "intended_us", "rejects"):
            now[name] = getattr(grouped, name)
        now["named"] = named[grouping][newer]

        ids = grouped.symbol_ids
        before = np.where(np.diff(ids, prepend=-1), self._last[ids], np.roll(now, 1))
        matters = (now["rejects"] != before["rejects"]) | (before["sequence"] < 0)
        matters |= (now["intended_us"] < before["intended_us"]) | (self._accepting & ~now["rejects"])
        matters |= now["rejects"] & (now["named"] | before["named"])
        self._kept.append(replace(grouped[matters], symbol_ids=self._codes[ids[matters]]))
        last = np.flatnonzero(np.diff(ids, append=-1))
        self._last[ids[last]] = now[last]

    def closed(self) -> "ClosedBook":
        """The book for questions, once all quotes are in."""
        kept = _Kept.concatenate(self._kept)
        kept = replace(kept, symbol_ids=find_in(self._codes, kept.symbol_ids))
        return ClosedBook(self._codes, kept[_grouping(kept.symbol_ids)])


@dataclass(frozen=True, slots=True)
class Window(Columns):
    """The quotes that each of n orders can have met: positions from first to last, both included.

    last < first: none. unquoted: the order can have come before its symbol's first quote, which rejects it too.
    rejecting, accepting: whether one of these verdicts is possible.
    """

    first: Int64s
    last: Int64s
    unquoted: Bools
    rejecting: Bools
    accepting: Bools


class ClosedBook:
    """All quotes that matter, symbol by symbol. Positions in its arrays name quotes."""

    def __init__(self, codes: Int64s, kept: "_Kept") -> None:
        """codes: the symbols', ascending; kept: of each symbol in turn."""
        self._codes = codes
        # Position -1 is the state of a symbol without a quote.
        self.bid = np.append(kept.bid, 0)
        self.offer = np.append(kept.offer, 0)
        self.rejects = np.append(kept.rejects, True)

        # The arrays by symbol have one more entry, for symbols without a quote: an empty range, the first quote never.
        self._bounds = np.searchsorted(kept.symbol_ids, np.arange(len(codes) + 2))
        self._sequence_keys = kept.symbol_ids * SEQUENCES + kept.sequence
        self._rejected_before = np.concatenate([[0], np.cumsum(kept.rejects)])
        self._any_rejects = self._rejected_before[self._bounds[1:]] > self._rejected_before[self._bounds[:-1]]

        # A quote counts as sent no later than any newer one; so times ascend within a symbol, whatever the input says.
        self._times_us, ranks = np.unique(kept.intended_us, return_inverse=True)
        keys = kept.symbol_ids * len(self._times_us) + ranks
        self._time_keys = np.minimum.accumulate(keys[::-1])[::-1]
        first_ranks = self._time_keys[self._bounds[:-2]] - np.arange(len(codes)) * len(self._times_us)
        self._first_us = np.append(self._times_us[first_ranks], np.iinfo(np.int64).max)

    def symbol_ids(self, symbols: Texts) -> Int64s:
        """The number of each symbol here; one past the last if it has no quote."""
        ids = find_in(self._codes, symbol_codes(symbols))
        return np.where(ids < 0, len(self._codes), ids)

    def may_reject(self, symbol_ids: Int64s, intended_us: Int64s) -> Bools:
        """False for orders that are accepted, whatever the delays in the system were."""
        return self._any_rejects[symbol_ids] | (intended_us <= self._first_us[symbol_ids])

    def window(
        self, symbol_ids: Int64s, intended_us: Int64s, bound_us: Int64s, *, received_us: Int64s | None = None
    ) -> Window:
        """What orders of these intended times can have met.

        bound_us: of the delays: quotes that were to be sent so much before the order had come before it, and none that
        was to be sent so much after it, or after received_us. The first quote of a symbol is taken to be there before
        any later order, as runs load first quotes first.
        """
        surely_us, possibly_us = intended_us - bound_us, intended_us + bound_us
        if received_us is not None:
            possibly_us = np.minimum(possibly_us, received_us)
        begin = self._bounds[symbol_ids]
        surely = self._newest(symbol_ids, np.searchsorted(self._times_us, surely_us, "left"))
        possibly = self._newest(symbol_ids, np.searchsorted(self._times_us, possibly_us, "right"))
        first = np.maximum(begin, surely)
        last = np.minimum(possibly, self._bounds[symbol_ids + 1] - 1)
        unquoted = intended_us <= self._first_us[symbol_ids]

        count = np.maximum(last - first + 1, 0)
        rejected = np.where(count > 0, self._rejected_before[last + 1] - self._rejected_before[first], 0)
        return Window(first, last, unquoted, unquoted | (rejected > 0), rejected < count)

    def _newest(self, symbol_ids: Int64s, rank_end: Int64s) -> Int64s:
        """The newest quote whose time has a rank below the given; less than the symbol's first if there is none."""
        keys = symbol_ids * len(self._times_us) + rank_end
        grouping = _grouping(symbol_ids)  # ascending keys find their places much faster
        newest = np.empty_like(keys)
        newest[grouping] = np.searchsorted(self._time_keys, keys[grouping], "left") - 1
        return newest

    def find(self, symbol_ids: Int64s, sequence: Int64s) -> Int64s:
        """The position of each quote, -1 if there is none that matters."""
        return find_in(self._sequence_keys, symbol_ids * SEQUENCES + sequence)


class InputJudge(ABC):
    """Takes the input of a run in chunks, as it is read: all quotes, then all orders."""

    def __init__(self, book: QuoteBook) -> None:
        self._open_book: QuoteBook | None = book

    def add_quotes(self, quotes: Quotes) -> None:
        """Add quotes; those of one symbol come in the order in which they were sent. Not after the first orders."""
        if self._open_book is None:
            raise ValueError("all quotes come before the first orders")
        self._open_book.add(quotes)

    @abstractmethod
    def add_orders(self, orders: Orders) -> None:
        """Add orders, in any order, each once."""

    @cached_property
    def _book(self) -> ClosedBook:
        """The book of all quotes: to ask it is to take no more."""
        assert self._open_book is not None
        book, self._open_book = self._open_book.closed(), None
        return book


@dataclass(frozen=True, slots=True)
class _Kept(Columns):
    """Quotes. symbol_ids: the symbols' numbers; their codes as long as the numbers still change."""

    symbol_ids: Int64s
    sequence: Int64s
    bid: Int64s
    offer: Int64s
    intended_us: Int64s
    rejects: Bools


def _grouping(symbol_ids: Int64s) -> Int64s:
    """Positions by symbol, those of one symbol in order."""
    small = len(symbol_ids) == 0 or symbol_ids.max() < 2**16
    return np.argsort(symbol_ids.astype(np.uint16) if small else symbol_ids, kind="stable")  # 16 bits: a radix sort


def falls_back(numbers: Int64s, values: Int64s) -> Bools:
    """Which values (n,) are below one that stands before them with the same number (n,)."""
    groups, ranks = (np.unique(each, return_inverse=True)[1] for each in (numbers, values))
    order = np.argsort(groups, kind="stable")
    keys = (groups * len(ranks) + ranks)[order]
    back = np.zeros(len(keys), np.bool_)
    back[order] = keys < np.maximum.accumulate(keys)
    return back
