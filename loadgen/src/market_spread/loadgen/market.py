"""A synthetic market as a load: quotes and orders with the reference's distributions, encoded."""

from collections.abc import Iterator
from threading import Lock

import numpy as np

from market_spread.common.codec import Int64s, encode
from market_spread.common.layout import NBBO, ORDER, WARM_UP_ORDER_ID_MIN
from market_spread.common.load import Block, Stream
from market_spread.common.schedule import Constant
from market_spread.loadgen.blocks import BLOCK_NS, cut
from market_spread.loadgen.draws import CHUNK_MESSAGES, PHASE_INDEX, Draw, Drawing, Flags, pick_24
from market_spread.loadgen.parameters import MarketParameters, Phase
from market_spread.loadgen.symbols import universe

SEQUENCES_PER_PHASE = 10**10
ACCOUNTS = 300
LOTS = 65
LOT = 10

_CENT = 100
_DOLLAR = 10_000


class Market:
    """A load of quotes and orders. Thread-safe.

    Each of several shards makes all choices and encodes the messages of its own symbols. How many these are is known
    only by making the choices, which `messages` and `messages_due` do at need, and remember.
    """

    def __init__(self, parameters: MarketParameters, start_unix_ns: int, *, block_ns: int = BLOCK_NS) -> None:
        self.symbols = universe(parameters.symbols, parameters.buckets)
        self._parameters = parameters
        self._start_ns = start_unix_ns
        self._block_ns = block_ns
        self._profile = parameters.profile
        if parameters.phase is Phase.INITIAL:
            rate_per_s = parameters.profile.highest_per_s
            self._profile = Constant.of_messages(len(self.symbols), rate_per_s=rate_per_s)
        self._drawing = Drawing(parameters, self.symbols, self._profile)
        self._always_wide = self.symbols.rejecting
        self._changing = np.zeros(len(self.symbols), np.bool_)
        self._changing[_spread_out(self.symbols.accepting_ids, parameters.changing_symbols)] = True
        self._sequences_after = parameters.sequences_after or PHASE_INDEX[parameters.phase] * SEQUENCES_PER_PHASE
        self._own_before_chunk = [0]
        self._own_lock = Lock()

    @property
    def messages(self) -> int:
        """How many messages this shard has in all."""
        return self._own_before(self._profile.total())

    def messages_due(self, unix_ns: int) -> int:
        """How many of this shard's messages have an intended time before the given one."""
        return self._own_before(self._profile.due(unix_ns - self._start_ns))

    def blocks(self) -> Iterator[Block]:
        """The messages, in blocks of about 20 ms, or of about 512 messages where that is longer."""
        for chunk in range(self._drawing.chunks):
            draw = self._drawing.chunk(chunk)
            quotes, orders = self._encode(draw)
            whole = Block(self._start_ns + self._drawing.end_ns(chunk), quotes, orders)
            yield from cut(whole, self._start_ns + draw.offset_ns, block_ns=self._block_ns)

    def rows(self) -> Iterator[tuple[Stream, Stream]]:
        """The same messages without regard to pace: quotes and orders of up to 4,096 messages at a time."""
        for chunk in range(self._drawing.chunks):
            yield self._encode(self._drawing.chunk(chunk))

    def _encode(self, draw: Draw) -> tuple[Stream, Stream]:
        is_own = self._is_own(draw)
        return self._quotes(draw.part(is_own & ~draw.is_order)), self._orders(draw.part(is_own & draw.is_order))

    def _quotes(self, draw: Draw) -> Stream:
        bid, offer = self._prices(draw)
        intended_ns = self._start_ns + draw.offset_ns
        rows = encode(
            NBBO,
            {
                "symbol": self.symbols.cells[draw.symbol_id],
                "bid": bid,
                "offer": offer,
                "intended_us": intended_ns // 1000,
                "sequence": self._sequences_after + draw.number + 1,
            },
        )
        return Stream(intended_ns, self.symbols.bucket[draw.symbol_id], rows)

    def _prices(self, draw: Draw) -> tuple[Int64s, Int64s]:
        """Bids and offers: a spread of 0 to 3 cents, or on wide quotes one of 5 to just under 8 cents."""
        bid = self.symbols.price[draw.symbol_id] + pick_24(draw.words[1] >> np.uint64(32), _DOLLAR)
        spread = (draw.words[1] >> np.uint64(62)).astype(np.int64) * _CENT
        is_changed = (draw.words[2] >> np.uint64(63)).astype(np.bool_)
        wide = np.flatnonzero(self._always_wide[draw.symbol_id] | (self._changing[draw.symbol_id] & is_changed))
        words = draw.words[2, wide]
        bid[wide] -= (5 * _CENT + pick_24(words, _DOLLAR)) // 10 + _CENT
        spread[wide] = 5 * _CENT + pick_24(words >> np.uint64(24), 3 * _CENT)
        return bid, bid + spread

    def _orders(self, draw: Draw) -> Stream:
        words = draw.words[3]
        intended_ns = self._start_ns + draw.offset_ns
        first_id = WARM_UP_ORDER_ID_MIN if self._parameters.phase is Phase.WARM_UP else 1
        rows = encode(
            ORDER,
            {
                "symbol": self.symbols.cells[draw.symbol_id],
                "side": np.where(words >> np.uint64(63), np.uint8(ord("B")), np.uint8(ord("S"))),
                "account": 1 + pick_24(words >> np.uint64(24), ACCOUNTS),
                "order_id": first_id + draw.order_number,
                "quantity": LOT * (1 + pick_24(words, LOTS)),
                "price": self.symbols.price[draw.symbol_id],
                "intended_us": intended_ns // 1000,
            },
        )
        return Stream(intended_ns, self.symbols.bucket[draw.symbol_id], rows)

    def _own_before(self, number: int) -> int:
        """How many of the messages with a number below the given one are this shard's."""
        if self._parameters.shards == 1:
            return number
        chunk, rest = divmod(number, CHUNK_MESSAGES)
        with self._own_lock:
            while len(self._own_before_chunk) <= chunk:
                own = self._is_own(self._drawing.chunk(len(self._own_before_chunk) - 1))
                self._own_before_chunk.append(self._own_before_chunk[-1] + int(own.sum()))
        own_rest = int(self._is_own(self._drawing.chunk(chunk))[:rest].sum()) if rest else 0
        return self._own_before_chunk[chunk] + own_rest

    def _is_own(self, draw: Draw) -> Flags:
        if self._parameters.shards == 1:
            return np.ones(len(draw), np.bool_)
        flags: Flags = draw.symbol_id % self._parameters.shards == self._parameters.shard
        return flags


def _spread_out(ids: Int64s, count: int) -> Int64s:
    """So many of the ids, at equal distances, so that there are hot ones among them."""
    return ids[np.arange(count, dtype=np.int64) * len(ids) // max(1, count)]
