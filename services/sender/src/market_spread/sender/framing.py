"""Frames: which messages go into one Kafka record, and when it is due."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from market_spread.common.load.source import MessageStream
from market_spread.common.wire.codec import Int64s


@dataclass(frozen=True, slots=True)
class Frame:
    """The value of one Kafka record and its plan.

    intended_ns: the intended times of its messages, Unix nanoseconds (n,); planned_ns: when it is to be sent.
    """

    topic: str
    partition: int
    payload: bytes
    intended_ns: Int64s
    planned_ns: int

    @property
    def messages(self) -> int:
        """How many messages it holds."""
        return len(self.intended_ns)


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
        self._frame_messages = frame_messages
        self._width = width
        self._open = MessageStream.empty(width)

    def frames(self, stream: MessageStream, end_ns: int) -> list[Frame]:
        """The frames that are closed by the messages of a block, whose end is given, in order per partition."""
        ordered = _by_partition(_joined(self._open, stream))
        frames: list[Frame] = []
        still_open = np.zeros(len(ordered), np.bool_)
        payload = ordered.rows.tobytes()
        begins = np.flatnonzero(np.diff(ordered.buckets, prepend=-1)).tolist()
        for begin, end in pairwise([*begins, len(ordered)]):
            rest = self._cut(ordered, payload, begin=begin, end=end, end_ns=end_ns, frames=frames)
            still_open[rest:end] = True
        self._open = MessageStream(
            ordered.intended_ns[still_open], ordered.buckets[still_open], ordered.rows[still_open]
        )
        return frames

    def rest(self) -> list[Frame]:
        """The frames that are still open when the load has ended, due when their linger is over."""
        return self.frames(MessageStream.empty(self._width), np.iinfo(np.int64).max)

    def _cut(
        self, stream: MessageStream, payload: bytes, *, begin: int, end: int, end_ns: int, frames: list[Frame]
    ) -> int:
        """Append the closed frames of one partition's messages [begin, end); the index of the first one left open."""
        intended_ns = stream.intended_ns
        while begin < end:
            close_ns = (int(intended_ns[begin]) // self._linger_ns + 1) * self._linger_ns
            stop = min(begin + self._frame_messages, end)
            planned_ns = int(intended_ns[stop - 1])
            if planned_ns >= close_ns:
                stop = begin + int(np.searchsorted(intended_ns[begin:stop], close_ns, side="left"))
                planned_ns = close_ns
            elif stop - begin < self._frame_messages:
                if close_ns > end_ns:
                    return begin
                planned_ns = close_ns
            frames.append(
                Frame(
                    self._topic,
                    int(stream.buckets[begin]),
                    payload[begin * self._width : stop * self._width],
                    intended_ns[begin:stop],
                    planned_ns,
                )
            )
            begin = stop
        return end


def in_order_of_plan(frames: list[Frame]) -> list[Frame]:
    """The same frames by planned time; those of one partition keep their order."""
    return sorted(frames, key=lambda frame: frame.planned_ns)


def _joined(first: MessageStream, second: MessageStream) -> MessageStream:
    if not len(first):
        return second
    return MessageStream(
        np.concatenate([first.intended_ns, second.intended_ns]),
        np.concatenate([first.buckets, second.buckets]),
        np.concatenate([first.rows, second.rows]),
    )


def _by_partition(stream: MessageStream) -> MessageStream:
    order = np.argsort(stream.buckets.astype(np.uint16), kind="stable")  # 16 bits: numpy sorts these by radix
    return MessageStream(stream.intended_ns[order], stream.buckets[order], stream.rows[order])
