"""An as-of join on whole frames: the fields of a bucket's messages are cut out of them as arrays; only what leaves
becomes rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from market_spread.common.wire.codec import decode
from market_spread.common.wire.layout import Kind, Layout
from market_spread.streaming.modes.micro_batch.kernels.as_of import AsOfIndex, AsOfMatches, Updates, look_up
from market_spread.streaming.modes.micro_batch.kernels.frames import Messages, Origin
from market_spread.streaming.operators.stateful import AsOfJoin
from market_spread.streaming.operators.stateless import Row

Int64s = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two sources: its layout, and which fields are the key, the time and the sequence of a message."""

    layout: Layout
    key: str
    time: str
    sequence: str = ""


@dataclass(frozen=True, slots=True)
class Leaving:
    """Rows that leave: columns by their names, texts as bytes of the layout's width; and where each row came from."""

    columns: dict[str, Array]
    origins: list[Origin]
    positions: Int64s


class Joining:
    """An as-of join between two sources."""

    def __init__(self, step: AsOfJoin, *, remembered: Side, looking: Side) -> None:
        self.remembered = remembered
        self.looking = looking
        self._step = step
        self._columns = tuple(dict.fromkeys(name for name in step.added.values() if name != remembered.sequence))

    def run(self, state: bytes | None, remembered: Messages, looking: Messages) -> tuple[bytes, Leaving]:
        """The state after the batch, and what leaves. Within the batch the sources' times say what came first.

        state: as an earlier call returned it, None in the beginning.
        """
        width = len(self._columns)
        before = AsOfIndex.empty(width) if state is None else AsOfIndex.from_bytes(state, width)
        chosen = looking.readable()
        keys = _of(chosen, looking.fields.word(self.looking.key))
        times = _of(chosen, looking.fields.number(self.looking.time))
        after, found = look_up(before, self._updates(remembered), keys, times)
        leaving = self._leaving(looking, chosen, found)
        rows = leaving if chosen is None else chosen[leaving]
        origins, positions = looking.origins(rows)
        columns = {**self._fields(looking, rows, origins), **self._added(found, leaving)}
        return after.to_bytes(), Leaving(columns, origins, positions)

    def _leaving(self, looking: Messages, chosen: Int64s | None, found: AsOfMatches) -> Int64s:
        """Which of the rows that looked leave: indexes into those that could be read."""
        leaves = np.ones(len(found.sequences), np.bool_)
        if self._step.emit is not None:
            leaves &= self._step.emit(_CutWhenAsked(looking, chosen, self._added(found, slice(None))))
        indexes: Int64s = np.flatnonzero(leaves)
        return indexes

    def _updates(self, messages: Messages) -> Updates:
        chosen, fields, side = messages.readable(), messages.fields, self.remembered
        keys = _of(chosen, fields.word(side.key))
        values = [_of(chosen, fields.number(name)) for name in self._columns]
        return Updates(
            keys=keys,
            times=_of(chosen, fields.number(side.time)),
            sequences=_of(chosen, fields.number(side.sequence)),
            values=np.array(values, np.int64).reshape(len(values), len(keys)),
        )

    def _added(self, found: AsOfMatches, rows: Int64s | slice) -> dict[str, Array]:
        def column(name: str) -> Array:
            is_sequence = name == self.remembered.sequence
            values: Array = found.sequences if is_sequence else found.values[self._columns.index(name)]
            chosen: Array = np.maximum(values[rows], 0) if is_sequence else values[rows]
            return chosen

        return {to: column(name) for to, name in self._step.added.items()}

    def _fields(self, messages: Messages, rows: Int64s, origins: list[Origin]) -> dict[str, Array]:
        layout = self.looking.layout
        message = decode(layout, messages.fields.rows[rows].tobytes())
        columns: dict[str, Array] = {}
        for field in layout.fields[1:]:
            column = message.columns[field.name]
            columns[field.name] = column.view("S1") if field.kind is Kind.LETTER else column
        intended = message.ints(self.looking.time)
        sent = np.array([origin.sent_us for origin in origins], np.int64)
        columns["sent_us"] = np.where(sent == 0, intended, sent)  # not told: taken as sent when intended
        columns["read_us"] = np.array([origin.read_us for origin in origins], np.int64)
        return columns


class _CutWhenAsked(Row):
    """A row of arrays whose fields are cut out of the messages when a function asks for them."""

    def __init__(self, messages: Messages, chosen: Int64s | None, known: dict[str, Array]) -> None:
        super().__init__(known)
        self._messages = messages
        self._chosen = chosen

    def __getitem__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        fields = self._messages.fields
        if name not in (field.name for field in fields.layout.fields):
            raise KeyError(name)
        kind, offset = fields.layout.field(name).kind, fields.layout.offset(name)
        if kind is Kind.LETTER:
            return _of(self._chosen, fields.rows[:, offset]).view("S1").astype(str)
        return _of(self._chosen, fields.number(name))


def _of(chosen: Int64s | None, column: Array) -> Array:
    return column if chosen is None else column[chosen]
