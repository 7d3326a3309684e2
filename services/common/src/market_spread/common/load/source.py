"""What a sender offers: messages in the order of their intended times, as blocks of numpy columns.

A load source is a function `(parameters: Mapping[str, object], start_unix_ns: int) -> Load`, installed under the entry
points `market_spread.load`; so the sender needs to import no one's data.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol, runtime_checkable

import numpy as np

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import Bytes2D, Int64s
from market_spread.common.wire.columns import Columns

ENTRY_POINTS = "market_spread.load"
BLOCK_NS = 20_000_000
BLOCK_MESSAGES_MIN = 512


@dataclass(frozen=True, slots=True)
class MessageStream(Columns):
    """Messages of one layout, in order of their intended times.

    intended_ns: Unix nanoseconds (n,), ascending; buckets: the Kafka partition of each, int64 (n,);
    rows: encoded messages, uint8 (n, width), the intended time in them already.
    """

    intended_ns: Int64s
    buckets: Int64s
    rows: Bytes2D

    @staticmethod
    def empty(width: int) -> "MessageStream":
        return MessageStream(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, width), np.uint8))


@dataclass(frozen=True, slots=True)
class Block:
    """All messages whose intended time is before `end_ns` and not before the previous block's."""

    end_ns: int
    quotes: MessageStream
    orders: MessageStream


class Scheduled(Protocol):
    """A known schedule. The same parameters and start give the same bytes."""

    @property
    def messages(self) -> int:
        """How many messages it has in all."""

    def messages_due(self, unix_ns: int) -> int:
        """How many of them have an intended time before the given one."""


class Load(Scheduled, Protocol):
    """A load of quotes and orders."""

    def blocks(self) -> Iterator[Block]:
        """The messages, a fraction of a second at a time. Each call begins anew."""


@dataclass(frozen=True, slots=True)
class PlannedRecord:
    """A message of any format, which is a Kafka record by itself. intended_ns: Unix time at which it is to be sent."""

    topic: str
    partition: int
    value: bytes
    key: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    intended_ns: int


@runtime_checkable
class RecordLoad(Scheduled, Protocol):
    """A load of records for any topics."""

    def records(self) -> Iterator[Sequence[PlannedRecord]]:
        """The records in the order of their intended times, some at a time. Each call begins anew."""


AnyLoad = Load | RecordLoad
LoadSource = Callable[[Mapping[str, object], int], AnyLoad]


def find_source(name: str) -> LoadSource:
    """The installed load source of that name. UsageError if there is none."""
    found = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in found:
        raise UsageError(f"no load source {name!r} is installed; there are: {', '.join(sorted(found)) or 'none'}")
    source: LoadSource = found[name].load()
    return source


def cut(stretch: Block, schedule_ns: Int64s) -> Iterator[Block]:
    """The blocks of a stretch: each spans 20 ms, or longer where that would be under 512 messages.

    schedule_ns: intended times of all messages in the stretch, ascending strictly, also of those of other shards.
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
    return stream[begin:end]
