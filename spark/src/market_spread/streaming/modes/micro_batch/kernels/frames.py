"""Frames of one source as arrays: the fields of their messages, their origins, and which cannot be read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from market_spread.common.wire.columns import Fields, Int64s
from market_spread.common.wire.layout import InvalidReason, Layout


class Origin(NamedTuple):
    """Where a frame came from, when it was sent (0: unknown) and read."""

    topic: str
    partition: int
    offset: int
    sent_us: int
    read_us: int


class RecordFrame(NamedTuple):
    """A record: its value, its origin as text, and the code of an InvalidReason if it cannot be opened, else 0.

    The origin is parsed on demand: only one frame in thousands needs it.
    """

    value: bytes
    origin_words: str
    reason: int = 0

    @property
    def origin(self) -> Origin:
        """The parsed origin."""
        topic, *numbers = self.origin_words.split(" ")
        return Origin(topic, *map(int, numbers))


@dataclass(frozen=True, slots=True)
class Malformed:
    """A message that cannot be read, or a frame that cannot be opened (position 0)."""

    origin: Origin
    position: int
    reason: InvalidReason


class Messages:
    """The messages of frames of one layout. `fields` has all of them, unreadable ones included."""

    def __init__(self, layout: Layout, frames: Iterable[RecordFrame]) -> None:
        self._layout = layout
        self._frames: list[RecordFrame] = []
        self._unopened: list[RecordFrame] = []
        for frame in frames:
            (self._unopened if frame.reason else self._frames).append(frame)
        self.fields = Fields(layout, [frame.value for frame in self._frames])
        lengths = np.array([len(frame.value) for frame in self._frames], np.int64)
        self._starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths // layout.width)))
        self._unreadable = self.fields.unreadable()

    def readable(self) -> Int64s | None:
        """Indexes of the readable messages; None if all are."""
        return None if self._unreadable is None else np.flatnonzero(~self._unreadable)

    def origins(self, rows: Int64s) -> tuple[list[Origin], Int64s]:
        """The origin of each of these messages' frames, and the message's position in the frame."""
        found = np.searchsorted(self._starts, rows, side="right") - 1
        return [self._frames[i].origin for i in found], rows - self._starts[found]

    def malformed(self) -> Iterator[Malformed]:
        """All frames that cannot be opened, and all messages that cannot be read."""
        for frame in self._unopened:
            yield Malformed(frame.origin, 0, InvalidReason(frame.reason))
        if self._unreadable is not None:
            rows = np.flatnonzero(self._unreadable)
            kinds = self.fields.rows[rows, 0] == ord(self._layout.letter)
            for origin, position, known in zip(*self.origins(rows), kinds, strict=True):
                reason = InvalidReason.UNREADABLE_FIELD if known else InvalidReason.UNKNOWN_KIND
                yield Malformed(origin, int(position), reason)
