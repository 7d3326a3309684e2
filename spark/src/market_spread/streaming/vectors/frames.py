"""Frames of one topic as arrays: the fields of their messages, where each message came from, and the malformed ones."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from market_spread.common.fields import Fields
from market_spread.common.layout import InvalidReason, Layout

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Frame:
    """A record: its value and whence it is. `reason` is the code of an InvalidReason if it cannot be opened, else 0."""

    value: bytes
    partition: int
    offset: int
    sent_us: int
    read_us: int
    reason: int


class Messages:
    """The messages of frames of one topic. `fields` has all of them, also those that `readable` leaves out."""

    def __init__(self, topic: str, layout: Layout, frames: Iterable[Frame]) -> None:
        self._topic = topic
        self._layout = layout
        self._frames: list[Frame] = []
        self._unopened: list[Frame] = []
        for frame in frames:
            (self._unopened if frame.reason else self._frames).append(frame)
        self.fields = Fields(layout, [frame.value for frame in self._frames])
        lengths = np.array([len(frame.value) for frame in self._frames], np.int64)
        self._starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths // layout.width)))
        self._unreadable = self.fields.unreadable()

    def readable(self) -> Int64s | None:
        """Indexes of the messages that can be read; None if all can."""
        return None if self._unreadable is None else np.flatnonzero(~self._unreadable)

    def origins(self, rows: Int64s) -> tuple[list[Frame], Int64s]:
        """The frame of each of these messages, and its position in it."""
        found = np.searchsorted(self._starts, rows, side="right") - 1
        return [self._frames[i] for i in found], rows - self._starts[found]

    def reports(self) -> Iterator[bytes]:
        """A report for each frame that could not be opened and each message that could not be read."""
        for frame in self._unopened:
            yield self._report(frame, 0, InvalidReason(frame.reason))
        if self._unreadable is not None:
            rows = np.flatnonzero(self._unreadable)
            kinds = self.fields.rows[rows, 0] == ord(self._layout.letter)
            for frame, position, known in zip(*self.origins(rows), kinds, strict=True):
                reason = InvalidReason.UNREADABLE_FIELD if known else InvalidReason.UNKNOWN_KIND
                yield self._report(frame, int(position), reason)

    def _report(self, frame: Frame, position: int, reason: InvalidReason) -> bytes:
        where = {"topic": self._topic, "partition": frame.partition, "offset": frame.offset, "position": position}
        return json.dumps({"reason": reason.name.lower(), **where}, separators=(",", ":")).encode()
