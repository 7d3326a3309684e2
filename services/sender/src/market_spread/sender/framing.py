"""Frames: which messages go into one Kafka record, and when it is due; made ready ahead of that."""

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from market_spread.common.errors import UsageError
from market_spread.common.load.source import AnyLoad, Load, MessageStream, RecordLoad
from market_spread.common.wire.codec import Int64s
from market_spread.common.wire.layout import INTENDED_HEADER, NBBO, ORDER

READY_BLOCKS_MAX = 16


@dataclass(frozen=True, slots=True)
class Frame:
    """The value of one Kafka record and its plan.

    intended_ns: the intended times of its messages, Unix nanoseconds (n,); planned_ns: when it is to be sent; key,
    headers: of a message that is a record by itself.
    """

    topic: str
    partition: int
    payload: bytes
    intended_ns: Int64s
    planned_ns: int
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def messages(self) -> int:
        return len(self.intended_ns)


@dataclass(frozen=True, slots=True)
class FramePlan:
    """How messages become frames, and where these go. Both topics have `partitions` partitions.

    A load of records names topics and partitions itself, so that of all this only the linger applies to it.
    """

    nbbo_topic: str
    orders_topic: str
    partitions: int
    linger_ns: int
    frame_messages: int


def frames_of(load: AnyLoad, plan: FramePlan) -> Generator[Frame, None, None]:
    """All frames of a load in order of their planned times; waits for what is not ready, raises what the load raises.

    They are made on a thread of their own, so that generation does not delay sends: READY_BLOCKS_MAX blocks of them
    ahead, then it waits for the sender. To close the iterator ends that early.
    """
    blocks = _records(load, max(plan.linger_ns, 1)) if isinstance(load, RecordLoad) else _framed_blocks(load, plan)
    with ThreadPoolExecutor(1, "preparation") as pool:
        ready = deque(pool.submit(lambda: next(blocks, None)) for _ in range(READY_BLOCKS_MAX))
        try:
            while (frames := ready.popleft().result()) is not None:
                ready.append(pool.submit(lambda: next(blocks, None)))
                yield from frames
        finally:
            pool.shutdown(cancel_futures=True)


def _records(load: RecordLoad, linger_ns: int) -> Iterator[list[Frame]]:
    """Each record as a frame of its own, with its intended time, due at the next multiple of the linger."""
    for records in load.records():
        intended_ns = np.array([record.intended_ns for record in records], np.int64)
        yield [
            Frame(
                record.topic, record.partition, record.value, intended_ns[i : i + 1],
                -(-record.intended_ns // linger_ns) * linger_ns, record.key,
                (*record.headers, (INTENDED_HEADER, b"%d" % (record.intended_ns // 1000))),
            )
            for i, record in enumerate(records)
        ]  # fmt: skip


def _framed_blocks(load: Load, plan: FramePlan) -> Iterator[list[Frame]]:
    """The frames of one block of the load after the other, and last those that are still open then."""
    quotes, orders = (
        Framer(topic=topic, width=layout.width, linger_ns=plan.linger_ns, frame_messages=plan.frame_messages)
        for topic, layout in ((plan.nbbo_topic, NBBO), (plan.orders_topic, ORDER))
    )
    for block in load.blocks():
        for stream in (block.quotes, block.orders):
            if len(stream) and (highest := int(stream.buckets.max())) >= plan.partitions:
                raise UsageError(
                    f"the load has a message for partition {highest}, but the topics have "
                    f"{plan.partitions} partitions; give the load buckets={plan.partitions}"
                )
        yield in_order_of_plan(quotes.frames(block.quotes, block.end_ns) + orders.frames(block.orders, block.end_ns))
    yield in_order_of_plan(quotes.rest() + orders.rest())


class Framer:
    """Gathers the messages of one stream into frames, each of one partition.

    A frame closes when it holds `frame_messages`, and is due with its last message; or at the next multiple of
    `linger_ns`, and is due then. So no message waits longer than the linger, and the frames of all partitions and
    topics are due at the same moments: the client puts them into one request, which is what small frames cost most.
    What is still open at the end of a block is carried into the next one.
    """

    def __init__(self, *, topic: str, width: int, linger_ns: int, frame_messages: int) -> None:
        self._topic = topic
        self._linger_ns = max(linger_ns, 1)  # messages of the same moment share a frame even without linger
        self._frame_messages, self._width = frame_messages, width
        self._open = MessageStream.empty(width)

    def frames(self, stream: MessageStream, end_ns: int) -> list[Frame]:
        """The frames that are closed by the messages of a block, whose end is given, in order per partition."""
        if len(self._open):
            stream = MessageStream.concatenate([self._open, stream])
        # 16 bits: numpy sorts these by radix
        ordered = stream[np.argsort(stream.buckets.astype(np.uint16), kind="stable")]
        frames: list[Frame] = []
        still_open = np.zeros(len(ordered), np.bool_)
        intended_ns, payload = ordered.intended_ns, ordered.rows.tobytes()
        begins = np.flatnonzero(np.diff(ordered.buckets, prepend=-1)).tolist()
        for first, end in pairwise([*begins, len(ordered)]):
            begin, partition = first, int(ordered.buckets[first])
            while begin < end:
                close_ns = (int(intended_ns[begin]) // self._linger_ns + 1) * self._linger_ns
                stop = min(begin + self._frame_messages, end)
                planned_ns = int(intended_ns[stop - 1])
                if planned_ns >= close_ns:
                    stop = begin + int(np.searchsorted(intended_ns[begin:stop], close_ns, side="left"))
                    planned_ns = close_ns
                elif stop - begin < self._frame_messages:
                    if close_ns > end_ns:
                        break
                    planned_ns = close_ns
                value = payload[begin * self._width : stop * self._width]
                frames.append(Frame(self._topic, partition, value, intended_ns[begin:stop], planned_ns))
                begin = stop
            still_open[begin:end] = True
        self._open = ordered[still_open]
        return frames

    def rest(self) -> list[Frame]:
        """The frames that are still open when the load has ended, due when their linger is over."""
        return self.frames(MessageStream.empty(self._width), np.iinfo(np.int64).max)


def in_order_of_plan(frames: list[Frame]) -> list[Frame]:
    """The same frames by planned time; those of one partition keep their order."""
    return sorted(frames, key=lambda frame: frame.planned_ns)
