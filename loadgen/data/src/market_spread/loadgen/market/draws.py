"""Who each message of a synthetic market is about: quote or order, which symbol, which probe; all from a seed.

Message numbers are taken 4,096 at a time. Each such chunk has a counter-based generator of its own, so any chunk can be
drawn alone. Only raw bits of the generator are used: their stream is fixed, unlike that of numpy's distributions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from market_spread.common.load.schedule import NS_PER_S, Profile
from market_spread.common.wire.codec import Int64s
from market_spread.loadgen.market.parameters import MarketParameters, Phase
from market_spread.loadgen.market.symbols import Universe, hot_count

CHUNK_MESSAGES = 4096
PHASE_INDEX = {Phase.INITIAL: 0, Phase.WARM_UP: 1, Phase.MEASURED: 2}

HOT_ORDERS_SHARE = 0.79

Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

_WORDS_PER_MESSAGE = 4
_TWO_TO_32 = 2**32


@dataclass(frozen=True, slots=True)
class Draw:
    """Messages, in order of their intended times; arrays (n,).

    number: in the schedule, from 0; order_number: of an order among all places for orders, from 0, ascending, and
    without meaning for a quote; words: random bits, uint64 (4, n), of which prices and the like may use all of the
    last one, and for quotes also the one before it and the high half of the second.
    """

    number: Int64s
    offset_ns: Int64s
    is_order: Flags
    order_number: Int64s
    symbol_id: Int64s
    words: Words

    def __len__(self) -> int:
        return len(self.number)

    @staticmethod
    def joined(draws: Sequence["Draw"]) -> "Draw":
        """The messages of all, at least one, one after the other."""
        if len(draws) == 1:
            return draws[0]
        return Draw(*(np.concatenate([getattr(each, of.name) for each in draws], axis=-1) for of in fields(Draw)))

    def part(self, which: Flags) -> "Draw":
        at = np.flatnonzero(which)
        return Draw(*(getattr(self, field.name).take(at, axis=-1) for field in fields(self)))


class Drawing:
    """All draws of one market, by the number of their chunk. Thread-safe."""

    def __init__(self, parameters: MarketParameters, symbols: Universe, profile: Profile) -> None:
        self._parameters, self._symbols, self._profile = parameters, symbols, profile
        self._total = profile.total()
        self._readiness_ids = symbols.readiness_ids
        # The last may be short.
        self.chunks = -(-self._total // CHUNK_MESSAGES)

    def chunk(self, chunk: int) -> Draw:
        """The messages 4096 * chunk to 4096 * chunk + 4095, or to the end."""
        first = chunk * CHUNK_MESSAGES
        count = min(CHUNK_MESSAGES, self._total - first)
        number = np.arange(first, first + count, dtype=np.int64)
        offset_ns = self._profile.offsets_ns(first, count)
        key = np.array([self._parameters.seed, PHASE_INDEX[self._parameters.phase]], np.uint64)
        bits = np.random.Philox(key=key, counter=np.array([0, 0, 0, chunk], np.uint64))
        words = bits.random_raw(_WORDS_PER_MESSAGE * count).reshape(_WORDS_PER_MESSAGE, count)
        if self._parameters.phase is Phase.INITIAL:
            return Draw(number, offset_ns, np.zeros(count, np.bool_), np.zeros(count, np.int64), number, words)

        orders_before, orders_after = (int(end * self._parameters.order_share) for end in (first, first + count))
        is_order = _choose(words[0], orders_after - orders_before)
        order_number = orders_before + np.cumsum(is_order) - 1
        symbol_id = pick(words[1], len(self._symbols), bits=32)
        gap_ns = np.diff(offset_ns, append=self.end_ns(chunk))
        at = np.flatnonzero(is_order)
        symbol_id[at] = self._ordered_ids(words.take(at, axis=1), gap_ns[at])
        if self._parameters.phase is Phase.WARM_UP:
            # Each so-manieth order probes the next bucket, so that each is probed twice a second.
            orders_per_s = count * self._parameters.order_share * NS_PER_S / int(gap_ns.sum())
            every = max(1, int(orders_per_s / (2 * len(self._readiness_ids))))
            at = at[order_number[at] % every == 0]
            symbol_id[at] = self._readiness_ids[order_number[at] // every % len(self._readiness_ids)]
        return Draw(number, offset_ns, is_order, order_number, symbol_id, words)

    def end_ns(self, chunk: int) -> int:
        """Offset of the message after the chunk, or the end of the schedule."""
        after = (chunk + 1) * CHUNK_MESSAGES
        return int(self._profile.offsets_ns(after, 1)[0]) if after < self._total else self._profile.duration_ns

    def _ordered_ids(self, words: Words, gap_ns: Int64s) -> Int64s:
        """The symbols of orders: few from the rejecting, the others and the probes 79% from the hot ones of theirs."""
        symbols = self._symbols
        is_hot = words[1] >> np.uint64(32) < np.uint64(round(HOT_ORDERS_SHARE * _TWO_TO_32))
        ids = _hot_or_any(symbols.accepting_ids, is_hot, words[1])

        # In proportion to the time until the next message: so many probes a second, whatever the profile does.
        probes = self._parameters.probes_per_s * gap_ns / NS_PER_S / self._parameters.order_share
        is_probe = words[2] >> np.uint64(32) < probes * _TWO_TO_32
        rejected = np.uint64(round(self._parameters.rejected_share * _TWO_TO_32))
        is_rejected = (words[2] & np.uint64(_TWO_TO_32 - 1) < rejected) & ~is_probe
        ids[is_rejected] = symbols.rejecting_ids[pick(words[1, is_rejected], len(symbols.rejecting_ids), bits=32)]
        ids[is_probe] = _hot_or_any(symbols.probe_ids, is_hot[is_probe], words[1, is_probe])
        return ids


def _hot_or_any(ids: Int64s, is_hot: Flags, words: Words) -> Int64s:
    """One of the hot ids where it is to be hot, else one of all of them; ids are consecutive."""
    return int(ids[0]) + pick(words, np.where(is_hot, hot_count(ids), len(ids)), bits=32)


def pick(words: Words, choices: int | Int64s, *, bits: int = 24) -> Int64s:
    """Numbers from 0 to below choices, from so many of the lowest bits of each word."""
    lowest = words & np.uint64(2**bits - 1)
    return ((lowest * np.asarray(choices, np.uint64)) >> np.uint64(bits)).astype(np.int64)


def _choose(words: Words, count: int) -> Flags:
    """Flags of exactly that many, chosen at random; at most 4,096 words."""
    if count == 0 or count == len(words):
        return np.full(len(words), count > 0)
    # The place in the lowest bits makes all different, so exactly `count` are below the threshold.
    distinct = (words & ~np.uint64(CHUNK_MESSAGES - 1)) | np.arange(len(words), dtype=np.uint64)
    flags: Flags = distinct < np.partition(distinct, count)[count]
    return flags
