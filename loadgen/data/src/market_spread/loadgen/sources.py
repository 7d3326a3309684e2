"""The load sources that a sender finds by name: a synthetic market, and recorded files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from market_spread.common.errors import UsageError
from market_spread.common.load.schedule import RATE_PER_S_MAX, Constant
from market_spread.common.load.source import Block, Load, MessageStream, cut
from market_spread.common.schema import ONLY_KNOWN_KEYS, Schema, choice, number, text
from market_spread.common.wire.codec import Bytes2D, put_digits
from market_spread.common.wire.layout import BUCKETS_MAX, NBBO, ORDER
from market_spread.loadgen.columns import map_native
from market_spread.loadgen.market.generator import Market
from market_spread.loadgen.market.parameters import MARKET
from market_spread.loadgen.market.symbols import buckets_of

STRETCH_MESSAGES = 4096
_LAYOUTS = {layout.name: layout for layout in (NBBO, ORDER)}


def market(parameters: Mapping[str, object], start_unix_ns: int) -> Load:
    """A synthetic market; see MarketParameters for what it takes."""
    return Market(MARKET.read(parameters), start_unix_ns)


def recorded(parameters: Mapping[str, object], start_unix_ns: int) -> Load:
    """The messages of a native file, evenly at a rate; see `_Recorded`. UsageError if parameters or file are wrong.

    Everything stays as in the file but the intended times, which are the schedule's.
    """
    return Recording(_RECORDED.read(parameters), start_unix_ns)


@dataclass(frozen=True, slots=True)
class _Recorded:
    __pydantic_config__ = ONLY_KNOWN_KEYS

    file: Annotated[str, text("A native file.")]
    layout: Annotated[str, choice(tuple(_LAYOUTS), "What it holds.")]
    buckets: Annotated[int, number(1, BUCKETS_MAX, "Partitions of each topic.")]
    messages_per_s: Annotated[int, number(1, RATE_PER_S_MAX, "How fast.")]


_RECORDED = Schema(_Recorded)


class Recording:
    """A load from one native file, which stays on disk and is read as the load advances. Thread-safe."""

    def __init__(self, asked: _Recorded, start_unix_ns: int) -> None:
        """UsageError if the file is no native file of its layout."""
        path, layout = asked.file, _LAYOUTS[asked.layout]
        self._rows = map_native(Path(path), layout)
        if len(self._rows) and self._rows[0, 0] != ord(layout.letter):
            raise UsageError(f"{path} does not begin with a {layout.name} message; name a native {layout.name} file")
        self._layout, self._buckets = layout, asked.buckets
        self._start_ns = start_unix_ns
        self._profile = Constant.of_messages(len(self._rows), rate_per_s=asked.messages_per_s)

    @property
    def messages(self) -> int:
        return len(self._rows)

    def messages_due(self, unix_ns: int) -> int:
        return self._profile.due(unix_ns - self._start_ns)

    def blocks(self) -> Iterator[Block]:
        """The messages in the order of the file, in blocks of about 20 ms."""
        for first in range(0, len(self._rows), STRETCH_MESSAGES):
            rows = np.array(self._rows[first : first + STRETCH_MESSAGES])
            intended_ns = self._start_ns + self._profile.offsets_ns(first, len(rows))
            put_digits(self._cells(rows, "intended_us"), intended_ns // 1000, "intended_us")
            stream = MessageStream(intended_ns, buckets_of(self._cells(rows, "symbol"), self._buckets), rows)
            end_ns = self._start_ns + self._profile.duration_ns
            if (after := first + len(rows)) < len(self._rows):
                end_ns = self._start_ns + int(self._profile.offsets_ns(after, 1)[0])
            quotes, orders = (
                stream if layout is self._layout else MessageStream.empty(layout.width) for layout in (NBBO, ORDER)
            )
            yield from cut(Block(end_ns, quotes, orders), stream.intended_ns)

    def _cells(self, rows: Bytes2D, name: str) -> Bytes2D:
        begin = self._layout.offset(name)
        return rows[:, begin : begin + self._layout.field(name).width]
