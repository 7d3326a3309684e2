"""The as-of join of a bucket's frames: fields are cut out of whole frames as arrays; only the output becomes rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from market_spread.common.wire.codec import Int64s, decode
from market_spread.common.wire.layout import Kind, Layout
from market_spread.streaming.modes.micro_batch.kernels.as_of import AsOfIndex, AsOfMatches, BuildRows, join_as_of
from market_spread.streaming.modes.micro_batch.kernels.frames import Messages, Origin
from market_spread.streaming.operators.stateful import AsOfJoin
from market_spread.streaming.operators.stateless import Row, each_once

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class JoinSide:
    """One of the two sources: its layout, and which fields are the key, the time and the sequence of a message."""

    layout: Layout
    key: str
    time: str
    sequence: str = ""


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """Output rows: columns by name, texts as bytes of the layout's width; and the origin of each row."""

    columns: dict[str, Array]
    origins: list[Origin]
    positions: Int64s


class FrameJoin:
    """An as-of join of two sources."""

    def __init__(self, step: AsOfJoin, *, build: JoinSide, probe: JoinSide) -> None:
        self.build = build
        self.probe = probe
        self._step = step
        self._columns = each_once(name for name in step.added.values() if name != build.sequence)

    def run(self, state: bytes | None, build: Messages, probe: Messages) -> tuple[bytes, JoinedRows]:
        """The state after the batch, and the output rows. Within the batch, the messages' times give their order.

        state: the one that the previous call returned; None at first.
        """
        width = len(self._columns)
        before = AsOfIndex.empty(width) if state is None else AsOfIndex.from_bytes(state, width)
        chosen = probe.readable()
        keys = _of(chosen, probe.fields.word(self.probe.key))
        times = _of(chosen, probe.fields.number(self.probe.time))
        after, matches = join_as_of(before, self._build_rows(build), keys, times)
        emitted = self._emitted(probe, chosen, matches)
        rows = emitted if chosen is None else chosen[emitted]
        origins, positions = probe.origins(rows)
        columns = {**self._fields(probe, rows, origins), **self._added(matches, emitted)}
        return after.to_bytes(), JoinedRows(columns, origins, positions)

    def _emitted(self, probe: Messages, chosen: Int64s | None, matches: AsOfMatches) -> Int64s:
        """Which of the readable probe rows are emitted: their indexes."""
        emitted = np.ones(len(matches.sequences), np.bool_)
        if self._step.emit is not None:
            emitted &= self._step.emit(_LazyRow(probe, chosen, self._added(matches, slice(None))))
        indexes: Int64s = np.flatnonzero(emitted)
        return indexes

    def _build_rows(self, messages: Messages) -> BuildRows:
        chosen, fields, side = messages.readable(), messages.fields, self.build
        keys = _of(chosen, fields.word(side.key))
        values = [_of(chosen, fields.number(name)) for name in self._columns]
        return BuildRows(
            keys=keys,
            times=_of(chosen, fields.number(side.time)),
            sequences=_of(chosen, fields.number(side.sequence)),
            values=np.array(values, np.int64).reshape(len(values), len(keys)),
        )

    def _added(self, matches: AsOfMatches, rows: Int64s | slice) -> dict[str, Array]:
        def column(name: str) -> Array:
            if name == self.build.sequence:
                return np.maximum(matches.sequences[rows], 0)
            return np.asarray(matches.values[self._columns.index(name)][rows])

        return {to: column(name) for to, name in self._step.added.items()}

    def _fields(self, messages: Messages, rows: Int64s, origins: list[Origin]) -> dict[str, Array]:
        layout = self.probe.layout
        message = decode(layout, messages.fields.rows[rows].tobytes())
        columns: dict[str, Array] = {}
        for field in layout.fields[1:]:
            column = message.columns[field.name]
            columns[field.name] = column.view("S1") if field.kind is Kind.LETTER else column
        intended = message.ints(self.probe.time)
        sent = np.array([origin.sent_us for origin in origins], np.int64)
        columns["sent_us"] = np.where(sent == 0, intended, sent)  # 0: unknown, the intended time stands in
        columns["read_us"] = np.array([origin.read_us for origin in origins], np.int64)
        return columns


class _LazyRow(Row):
    """A row of arrays whose fields are cut out of the messages on demand."""

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
