"""A synthetic market as a load: quotes and orders with the reference's distributions, encoded."""

import math
from collections.abc import Iterator
from threading import Lock

import numpy as np

from market_spread.common.load.schedule import NS_PER_S, Constant
from market_spread.common.load.source import Block, MessageStream, cut
from market_spread.common.wire.codec import ByField, Int64s, encode
from market_spread.common.wire.layout import NBBO, ORDER, PRICE_SCALE, WARM_UP_ORDER_ID_MIN, Layout
from market_spread.loadgen.market.draws import CHUNK_MESSAGES, PHASE_INDEX, Draw, Drawing, Flags, pick
from market_spread.loadgen.market.parameters import MarketParameters, Phase
from market_spread.loadgen.market.symbols import universe

SEQUENCES_PER_PHASE = 10**10
ACCOUNTS = 300
LOTS, LOT = 65, 10

# Each probe is wide and then tight once in this time, each at a moment of its own; in a run of 15 s most have changed.
TURN_NS = 20 * NS_PER_S
# Two of every twenty take longer, by these factors: where a job is seconds behind, or reads seconds again, an order can
# only be decided by a verdict that lasts long enough. The hot ones of these are tight for 12 and for 18 s of the first
# minute, so that about a fifth of its orders still meets a tight quote.
_TURN_FACTORS = np.array([*[1] * 3, 4, *[1] * 4, 16, *[1] * 11])
_CHUNKS_TOGETHER_MAX = 16
_GOLDEN_RATIO = (math.sqrt(5) - 1) / 2

# A quote's kind is the sum of these.
_WIDE, _CHEAP = 1, 2
# In place of a spread: bid and offer are 0, or a wide quote's bid and offer have changed places.
_NO_MARKET, _CROSSED = 10**6, 10**6 + 2
_SPREADS_BITS = 10
# The spreads to choose from: 1,024 for each kind of quote, most at the rule's bounds, some far from them. Of a cheap
# quote it is the margin, 40 * spread - (bid + offer), that decides: at 0 and above it is wide.
_SPREADS = np.concatenate((
    *(np.full(256, 499), np.repeat((0, 100, 200, 300, 400), 64), 1 + np.arange(320) * 498 // 320),
    *(-500 - np.arange(96) ** 2, -np.arange(1, 481, 15)),
    *(np.full(256, 500), np.full(256, 501), 502 + np.arange(448) ** 2 // 5, np.full(64, _NO_MARKET)),
    *(np.full(448, -1), -2 - np.arange(384) ** 2 // 250, np.full(192, _CROSSED)),
    *(np.full(320, 0), np.full(320, 1), 2 + np.arange(320) * 11 // 4, np.full(64, _NO_MARKET)),
))  # fmt: skip

_DOLLAR = 10_000
_HALF_SPREAD_MIN = 12  # that of a symbol of 5 cents, of which the largest margin leaves a bid above 0


class Market:
    """A load of quotes and orders. Thread-safe.

    Each of several shards makes all choices and encodes the messages of its own symbols. How many these are is known
    only by making the choices: `messages` and `messages_due` make those that `blocks` has not made yet.
    """

    def __init__(self, parameters: MarketParameters, start_unix_ns: int) -> None:
        self.symbols = universe(parameters.symbols, parameters.buckets, parameters.state_partitions)
        self._parameters, self._profile, self._start_ns = parameters, parameters.profile, start_unix_ns
        if parameters.phase is Phase.INITIAL:
            self._profile = Constant.of_messages(len(self.symbols), rate_per_s=parameters.profile.highest_per_s)
        self._drawing = Drawing(parameters, self.symbols, self._profile)
        self._kinds = np.where(self.symbols.price < PRICE_SCALE, _CHEAP, 0)
        self._kinds[self.symbols.rejecting_ids] |= _WIDE
        self._kinds[self.symbols.probe_ids] |= _WIDE
        self._half_spreads = self.symbols.price // 39  # of a cheap symbol: 40 spreads are two mids near its price
        probes = np.arange(len(self.symbols.probe_ids))
        self._turn_ns = TURN_NS * _TURN_FACTORS[probes % len(_TURN_FACTORS)]
        self._turn_begins_ns = (probes * _GOLDEN_RATIO % 1 * self._turn_ns).astype(np.int64)
        # At equal distances, so that there are hot ones among them.
        accepting, changing = self.symbols.accepting_ids, parameters.changing_symbols
        self._changing_ids = accepting[np.arange(changing, dtype=np.int64) * len(accepting) // max(1, changing)]
        self._sequences_after = parameters.sequences_after or PHASE_INDEX[parameters.phase] * SEQUENCES_PER_PHASE
        self._own_before_chunk = [0]
        self._own_lock = Lock()

    @property
    def messages(self) -> int:
        return self._own_before(self._profile.total())

    def messages_due(self, unix_ns: int) -> int:
        return self._own_before(self._profile.due(unix_ns - self._start_ns))

    def blocks(self) -> Iterator[Block]:
        """The messages, in blocks of about 20 ms, or of about 512 messages where that is longer."""
        chunks = range(self._drawing.chunks)
        together = min(self._parameters.shards, _CHUNKS_TOGETHER_MAX)  # what is a shard's own fills one
        for begin in chunks[::together]:
            schedule_ns, own = [], []
            for chunk in chunks[begin : begin + together]:
                draw = self._drawing.chunk(chunk)
                schedule_ns.append(self._start_ns + draw.offset_ns)
                own.append(draw if self._parameters.shards == 1 else draw.part(self._is_own(draw)))
                self._count_own(chunk, len(own[-1]))
            of_all = Draw.joined(own)
            quotes = self._quotes(of_all.part(~of_all.is_order))
            orders = self._orders(of_all.part(of_all.is_order))
            stretch = Block(self._start_ns + self._drawing.end_ns(chunk), quotes, orders)
            yield from cut(stretch, np.concatenate(schedule_ns))

    def _quotes(self, draw: Draw) -> MessageStream:
        bid, offer = self._prices(draw)
        sequence = self._sequences_after + draw.number + 1
        return self._stream(draw, NBBO, {"bid": bid, "offer": offer, "sequence": sequence})

    def _prices(self, draw: Draw) -> tuple[Int64s, Int64s]:
        """Bids and offers, as `_SPREADS` has them for the kind of each quote."""
        ids, words = draw.symbol_id, draw.words[3].view(np.int64)
        kinds = self._kinds_of(draw)
        spread = _SPREADS[(kinds << _SPREADS_BITS) | (words & (2**_SPREADS_BITS - 1))]
        bid = self.symbols.price[ids] + pick(draw.words[1] >> np.uint64(32), _DOLLAR)
        without = np.flatnonzero(spread == _NO_MARKET)
        cheap = np.flatnonzero(kinds >= _CHEAP)
        bid[cheap], spread[cheap] = _cheap_prices(self._half_spreads[ids[cheap]], spread[cheap], words[cheap])
        bid[without] = spread[without] = 0
        return bid, bid + spread

    def _kinds_of(self, draw: Draw) -> Int64s:
        """_WIDE and _CHEAP of each quote; a probe's turn depends on nothing but its index and the offset."""
        ids = draw.symbol_id
        kinds = self._kinds[ids]
        if self._parameters.phase is Phase.MEASURED:
            first = self.symbols.probe_ids[0]
            probes = np.flatnonzero(ids >= first)
            turn_ns = self._turn_ns[ids[probes] - first]
            into_turn_ns = (draw.offset_ns[probes] + self._turn_begins_ns[ids[probes] - first]) % turn_ns
            kinds[probes] -= into_turn_ns >= np.rint((1 - self._parameters.tight_share) * turn_ns)
        if len(self._changing_ids):
            changing = np.flatnonzero(np.isin(ids, self._changing_ids))
            kinds[changing] |= (draw.words[2, changing] >> np.uint64(63)).astype(np.int64)
        return kinds

    def _orders(self, draw: Draw) -> MessageStream:
        words = draw.words[3]
        first_id = WARM_UP_ORDER_ID_MIN if self._parameters.phase is Phase.WARM_UP else 1
        columns = {
            "side": np.where(words >> np.uint64(63), np.uint8(ord("B")), np.uint8(ord("S"))),
            "account": 1 + pick(words >> np.uint64(24), ACCOUNTS),
            "order_id": first_id + draw.order_number,
            "quantity": LOT * (1 + pick(words, LOTS)),
            "price": self.symbols.price[draw.symbol_id],
        }
        return self._stream(draw, ORDER, columns)

    def _stream(self, draw: Draw, layout: Layout, columns: ByField) -> MessageStream:
        """The messages of these columns, with their symbols and times."""
        intended_ns, ids = self._start_ns + draw.offset_ns, draw.symbol_id
        rows = encode(layout, {**columns, "symbol": self.symbols.cells[ids], "intended_us": intended_ns // 1000})
        return MessageStream(intended_ns, self.symbols.bucket[ids], rows)

    def _own_before(self, number: int) -> int:
        """How many of the messages with a number below the given one are this shard's."""
        if self._parameters.shards == 1:
            return number
        chunk, rest = divmod(number, CHUNK_MESSAGES)
        for uncounted in range(len(self._own_before_chunk) - 1, chunk):
            self._count_own(uncounted, int(self._is_own(self._drawing.chunk(uncounted)).sum()))
        own_rest = int(self._is_own(self._drawing.chunk(chunk))[:rest].sum()) if rest else 0
        return self._own_before_chunk[chunk] + own_rest

    def _count_own(self, chunk: int, own: int) -> None:
        """Remember how many of a chunk's messages are this shard's, if those of all before it are known."""
        with self._own_lock:
            if len(self._own_before_chunk) == chunk + 1:
                self._own_before_chunk.append(self._own_before_chunk[-1] + own)

    def _is_own(self, draw: Draw) -> Flags:
        flags: Flags = draw.symbol_id % self._parameters.shards == self._parameters.shard
        return flags


def _cheap_prices(half_spread: Int64s, margin: Int64s, words: Int64s) -> tuple[Int64s, Int64s]:
    """Bids and spreads, of about twice half_spread and below 5 cents, with exactly these margins up to 1.

    Larger ones grow with the spread, which becomes up to 59% of the mid. With the spread d, margin = 40 * d - (2 * bid
    + d), so d is odd where the margin is.
    """
    is_crossed = margin == _CROSSED
    margin = np.where(is_crossed, 0, np.where(margin > 1, margin * half_spread // _HALF_SPREAD_MIN, margin))
    spread = 2 * (half_spread + ((words >> 32) & 7)) + (margin & 1)
    bid = (39 * spread - margin) >> 1
    bid[is_crossed] += spread[is_crossed]
    spread[is_crossed] *= -1
    return bid, spread
