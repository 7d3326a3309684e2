"""Frames of one source as arrays: the fields of their messages, where each came from, and which cannot be read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from market_spread.common.wire.columns import Fields
from market_spread.common.wire.layout import InvalidReason, Layout

Int64s = npt.NDArray[np.int64]


class Origin(NamedTuple):
    """Whence a frame is, and when it was sent (0 if that is not told) and read."""

    topic: str
    partition: int
    offset: int
    sent_us: int
    read_us: int


class RecordFrame(NamedTuple):
    """A record: its value, an Origin as words, and the code of an InvalidReason if it cannot be opened, else 0.

    There are thousands for each that anybody asks where it came from: the words are read then.
    """

    value: bytes
    origin_words: str
    reason: int = 0

    @property
    def origin(self) -> Origin:
        """What the words say."""
        topic, *numbers = self.origin_words.split(" ")
        return Origin(topic, *map(int, numbers))


@dataclass(frozen=True, slots=True)
class Malformed:
    """A message that could not be read, or a frame that could not be opened (position 0)."""

    origin: Origin
    position: int
    reason: InvalidReason


class Messages:
    """The messages of frames of one layout. `fields` has all of them, also those that `readable` leaves out."""

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
        """Indexes of the messages that can be read; None if all can."""
        return None if self._unreadable is None else np.flatnonzero(~self._unreadable)

    def origins(self, rows: Int64s) -> tuple[list[Origin], Int64s]:
        """Where the frame of each of these messages is from, and the message's position in it."""
        found = np.searchsorted(self._starts, rows, side="right") - 1
        return [self._frames[i].origin for i in found], rows - self._starts[found]

    def malformed(self) -> Iterator[Malformed]:
        """Every frame that could not be opened, and every message that could not be read."""
        for frame in self._unopened:
            yield Malformed(frame.origin, 0, InvalidReason(frame.reason))
        if self._unreadable is not None:
            rows = np.flatnonzero(self._unreadable)
            kinds = self.fields.rows[rows, 0] == ord(self._layout.letter)
            for origin, position, known in zip(*self.origins(rows), kinds, strict=True):
                reason = InvalidReason.UNREADABLE_FIELD if known else InvalidReason.UNKNOWN_KIND
                yield Malformed(origin, int(position), reason)
