"""The as-of join of micro-batch mode: whole frames go to Python by bucket; a message becomes a row only in the output.

Python gets the bytes of a frame and one text with the rest: every further column would cost microseconds per frame. It
cuts the fields of all messages out of whole frames, as arrays. A bucket's state is one value of Spark's. Of Spark's
APIs for it, `transformWithStateInPandas` passes frames on in small portions; the older `applyInPandasWithState` first
copies a whole bucket into one buffer, a quarter of the JVM's time.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from market_spread.common.wire.codec import decode
from market_spread.common.wire.columns import Fields, Int64s
from market_spread.common.wire.layout import BUCKETS_MAX, InvalidReason, Kind, Layout
from market_spread.streaming.messages import each_once
from market_spread.streaming.modes.micro_batch.kernels import AsOfIndex, BuildRows, join_as_of
from market_spread.streaming.modes.rows import METADATA_TYPES, build_and_probe, union_all
from market_spread.streaming.modes.support import BUCKETS_MODULO
from market_spread.streaming.operators.stateful import AsOfJoin
from market_spread.streaming.operators.stateless import Row
from market_spread.streaming.pipeline import Pipeline, Source
from market_spread.streaming.record_codec import count_messages, records_to_frames

Array = npt.NDArray[Any]


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
        topic, *numbers = self.origin_words.split(" ")
        return Origin(topic, *map(int, numbers))


class Messages:
    """The messages of frames of one layout.

    fields: of all of them, unreadable ones included; readable: indexes of those that can be read, None if all can.
    """

    def __init__(self, layout: Layout, frames: Sequence[RecordFrame]) -> None:
        self._frames = [frame for frame in frames if not frame.reason]
        self._unopened = [frame for frame in frames if frame.reason]
        self.fields = Fields(layout, [frame.value for frame in self._frames])
        self._starts = np.cumsum([0, *(len(frame.value) // layout.width for frame in self._frames)])
        self._unreadable = self.fields.unreadable()
        self.readable = None if self._unreadable is None else np.flatnonzero(~self._unreadable)

    def of_readable(self, column: Array) -> Array:
        """A column of all messages, cut down to those that can be read."""
        return column if self.readable is None else column[self.readable]

    def origins(self, rows: Int64s) -> tuple[list[Origin], Int64s]:
        """The origin of each of these messages' frames, and the message's position in the frame."""
        found = np.searchsorted(self._starts, rows, side="right") - 1
        return [self._frames[i].origin for i in found], rows - self._starts[found]

    def malformed(self) -> Iterator[tuple[Origin, int, InvalidReason]]:
        """Origin, position and reason of all frames that cannot be opened, and all messages that cannot be read."""
        for frame in self._unopened:
            yield frame.origin, 0, InvalidReason(frame.reason)
        if self._unreadable is not None:
            rows = np.flatnonzero(self._unreadable)
            kinds = self.fields.rows[rows, 0] == ord(self.fields.layout.letter)
            for origin, position, known in zip(*self.origins(rows), kinds, strict=True):
                yield origin, int(position), InvalidReason.UNREADABLE_FIELD if known else InvalidReason.UNKNOWN_KIND


def messages_of(layouts: Sequence[Layout], chunks: Iterable[pd.DataFrame]) -> list[Messages]:
    """The messages of each source, from chunks of the rows of `frames_of`."""
    frames: list[list[RecordFrame]] = [[] for _ in layouts]
    for chunk in chunks:
        for value, words in zip(chunk["value"].to_list(), chunk["words"].to_list(), strict=True):
            source, reason, origin = words.split(" ", 2)
            frames[int(source)].append(RecordFrame(value or b"", origin, int(reason)))
    return [Messages(*each) for each in zip(layouts, frames, strict=True)]


class FrameJoin:
    """An as-of join of two sources with layouts, keyed by the same field."""

    def __init__(self, step: AsOfJoin, key: str, *, build: Source, probe: Source) -> None:
        self._step, self._key = step, key
        self._build_time, self._sequence, self._probe_time = str(build.time), str(build.sequence), str(probe.time)
        self._columns = each_once((self._sequence, *step.added.values()))

    def run(self, state: bytes | None, build: Messages, probe: Messages) -> tuple[bytes, dict[str, Array]]:
        """The state after the batch, and the columns of the output rows, with the origin of each.

        Within the batch, the messages' times give their order. Texts are bytes of the layout's width. state: the one
        that the previous call returned; None at first.
        """
        before = AsOfIndex.from_bytes(state or b"", len(self._columns))
        keys = probe.of_readable(probe.fields.word(self._key))
        times = probe.of_readable(probe.fields.number(self._probe_time))
        after, met = join_as_of(before, self._build_rows(build), keys, times)
        is_emitted = np.ones(len(keys), np.bool_)
        if self._step.emit is not None:
            is_emitted &= self._step.emit(_LazyRow(probe, self._added(met, slice(None))))
        emitted = np.flatnonzero(is_emitted)
        rows = emitted if probe.readable is None else probe.readable[emitted]
        return after.to_bytes(), {**self._probe_columns(probe, rows), **self._added(met, emitted)}

    def _build_rows(self, messages: Messages) -> BuildRows:
        keys = messages.of_readable(messages.fields.word(self._key))
        names = (self._build_time, *self._columns)
        times, *columns = (messages.of_readable(messages.fields.number(name)) for name in names)
        return BuildRows(keys, times, np.array(columns))

    def _added(self, met: Int64s, rows: Int64s | slice) -> dict[str, Array]:
        columns = {to: met[self._columns.index(name)][rows] for to, name in self._step.added.items()}
        never = {to: np.maximum(columns[to], 0) for to, name in self._step.added.items() if name == self._sequence}
        return {**columns, **never}

    def _probe_columns(self, messages: Messages, rows: Int64s) -> dict[str, Array]:
        layout = messages.fields.layout
        message = decode(layout, messages.fields.rows[rows].tobytes())
        columns: dict[str, Array] = {}
        for field in layout.fields[1:]:
            column = message.columns[field.name]
            columns[field.name] = column.view("S1") if field.kind is Kind.LETTER else column
        origins, columns["position"] = messages.origins(rows)
        columns["topic"] = np.array([origin.topic for origin in origins], object)
        for name in ("partition", "offset", "sent_us", "read_us"):
            columns[name] = np.array([getattr(origin, name) for origin in origins], np.int64)
        sent, intended = columns["sent_us"], message.ints(self._probe_time)
        columns["sent_us"] = np.where(sent == 0, intended, sent)  # 0: unknown, the intended time stands in
        return columns


class _LazyRow(Row):
    """A row of arrays whose fields are cut out of the messages on demand."""

    def __init__(self, messages: Messages, known: dict[str, Array]) -> None:
        super().__init__(known)
        self._messages = messages

    def __getitem__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        fields, layout = self._messages.fields, self._messages.fields.layout
        if layout.field(name).kind is Kind.LETTER:
            return self._messages.of_readable(fields.rows[:, layout.offset(name)]).view("S1").astype(str)
        return self._messages.of_readable(fields.number(name))


# In Spark: each frame is a row of few columns


def join_frames(pipeline: Pipeline, state: AsOfJoin, records: Mapping[str, DataFrame]) -> DataFrame:
    """The output rows of the join, and the malformed rows of both sources."""
    build, probe = build_and_probe(pipeline, state)
    join = FrameJoin(state, pipeline.stream.keys[0], build=build, probe=probe)
    layouts = (build.layout, probe.layout)
    frames = frames_of((build, probe), records)
    fields = {field.name: "bigint" if field.is_number else "binary" for field in layouts[1].fields[1:]}
    types = {**fields, **dict.fromkeys(state.added, "bigint"), **METADATA_TYPES}
    rows = frames.groupBy("bucket").transformWithStateInPandas(
        statefulProcessor=_BucketJoin(join, layouts, tuple(types)),
        outputStructType=", ".join(f"`{name}` {kind}" for name, kind in types.items()),
        outputMode="append",
        timeMode="None",
    )
    return rows.withColumns({name: F.col(name).cast("string") for name, kind in fields.items() if kind == "binary"})


def frames_of(sources: Sequence[Source], records: Mapping[str, DataFrame]) -> DataFrame:
    """Frames as bucket, value and words: the source's index, why the frame cannot be opened (or 0), its origin."""
    frames_by_source = []
    for i, source in enumerate(sources):
        frames = count_messages(records_to_frames(records[source.name], source.messages), source.name)
        words = F.concat_ws(" ", F.lit(i), F.coalesce("frame_reason", F.lit(0)), *Origin._fields)
        frames_by_source.append(frames.select(_bucket_key(frames).alias("bucket"), "value", words.alias("words")))
    return union_all(frames_by_source)


def _bucket_key(frames: DataFrame) -> Column:
    """A number for each Kafka partition, whose hash is the partition's modulo BUCKETS_MODULO: state partitions have as
    many buckets each, if their number divides that, and buckets keep their keys when it changes.
    """
    residue = F.pmod(F.hash(F.col("id").cast("int")), F.lit(BUCKETS_MODULO)).alias("bucket")
    found = frames.sparkSession.range(12 * BUCKETS_MODULO).select(residue, F.col("id").cast("int"))
    key_of: dict[int, int] = dict(found.where(F.col("bucket") < BUCKETS_MAX).collect())
    return F.get(F.lit([key_of[bucket] for bucket in range(BUCKETS_MAX)]), F.col("partition").cast("int"))


@dataclass(eq=False)
class _BucketJoin(StatefulProcessor):
    """Joins one bucket's frames of a batch, in one of Spark's Python workers."""

    join: FrameJoin
    layouts: tuple[Layout, Layout]
    columns: tuple[str, ...]

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._latest = handle.getValueState("newest", "newest binary")
        _freeze_imports()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        build, probe = messages_of(self.layouts, rows)
        before = self._latest.get()
        after, joined = self.join.run(before[0] if before else None, build, probe)
        self._latest.update((after,))
        yield self._rows(joined)
        if malformed := [*build.malformed(), *probe.malformed()]:
            origins, positions, reasons = zip(*malformed, strict=True)
            bad = dict(zip(Origin._fields, zip(*origins, strict=True), strict=True))
            yield self._rows({**bad, "position": positions, "reason": [reason.value for reason in reasons]})

    def _rows(self, columns: Mapping[str, Any]) -> pd.DataFrame:
        """Rows with these columns, and null in the others."""
        nothing = np.full(len(columns["position"]), None, object)
        return pd.DataFrame({name: columns.get(name, nothing) for name in self.columns})


@cache
def _freeze_imports() -> None:
    """Spark's worker collects garbage after each task; exempt the imported modules from it."""
    gc.freeze()
