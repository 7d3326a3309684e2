"""Cutting a stretch of a load into blocks that are short in time and not too small to be worth a call."""

from collections.abc import Iterator

import numpy as np

from market_spread.common.load.source import Block, MessageStream
from market_spread.common.wire.codec import Int64s

BLOCK_NS = 20_000_000
BLOCK_MESSAGES_MIN = 512


def cut(stretch: Block, schedule_ns: Int64s) -> Iterator[Block]:
    """The blocks of a stretch: each spans 20 ms, or longer where that would be under 512 messages.

    schedule_ns: intended times of all messages of the schedule in the stretch, ascending strictly, also of those that
    another shard sends.
    """
    first = 0
    while first < len(schedule_ns):
        after = max(int(np.searchsorted(schedule_ns, schedule_ns[first] + BLOCK_NS)), first + BLOCK_MESSAGES_MIN)
        end_ns = int(schedule_ns[after]) if after < len(schedule_ns) else stretch.end_ns
        begin_ns = int(schedule_ns[first])
        yield Block(end_ns, _between(stretch.quotes, begin_ns, end_ns), _between(stretch.orders, begin_ns, end_ns))
        first = after


def _between(stream: MessageStream, begin_ns: int, end_ns: int) -> MessageStream:
    begin, end = np.searchsorted(stream.intended_ns, (begin_ns, end_ns))
    return MessageStream(stream.intended_ns[begin:end], stream.buckets[begin:end], stream.rows[begin:end])
