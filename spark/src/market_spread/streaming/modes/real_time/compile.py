"""Real-Time Mode: rows pass through the query as they arrive; state and offsets are saved when a batch ends.

A pipeline becomes a query of built-in columns alone, with a row out for every row in. The mode requires branches to be
united before they are grouped.

A row costs what its columns cost, in the shuffle and in Spark's state, which stays in memory only while all its columns
are numbers. So an as-of join packs everything except the key into longs ("words"), malformed rows too, under reserved
keys; its state keeps the latest row of the build side, and each row of the probe side reads it.
"""

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.common import job_contract
from market_spread.common.wire.layout import Field, InvalidReason, Kind
from market_spread.streaming.messages import each_once
from market_spread.streaming.modes import rows as row_ops
from market_spread.streaming.modes.real_time.bit_packing import BitField, BitPacking
from market_spread.streaming.operators.stateful import AsOfJoin, RunningTotal
from market_spread.streaming.operators.stateless import Row
from market_spread.streaming.pipeline import Pipeline

# The tag says what a row is; in a malformed one, plus its reason.
_TAG = BitField("tag", 4)
_BUILD_ROW, _PROBE_ROW, _MALFORMED = 0, 1, 8
_ORIGIN = BitPacking([BitField("offset", 54), BitField("position", 28), BitField("partition", 31)], head=_TAG)
# A time as its distance from the intended one, at most 1,000 s to either side.
_DISTANCE_MAX_US = 1_000_000_000
_DISTANCES = (BitField("sent_us", 31, _DISTANCE_MAX_US), BitField("read_us", 32, _DISTANCE_MAX_US))


class PackedRows:
    """The columns of the packed rows.

    key: the key's column; state_words: those of the build side, null in probe rows, each with the sequence in its
    highest bits; row_words: those of the row itself; state_packing: of the state. To Spark the state is only numbers,
    so Spark cannot tell one packing from another.
    """

    key = "_key"

    def __init__(self, pipeline: Pipeline, state: AsOfJoin) -> None:
        self._key_field = pipeline.stream.keys[0]
        self._build, self._probe = row_ops.build_and_probe(pipeline, state)
        layout, sequence = self._build.layout, str(self._build.sequence)
        self._state_fields = each_once((*state.added.values(), sequence))
        kept = [_bit_field(layout.field(name)) for name in self._state_fields if name != sequence]
        self.state_packing = BitPacking(kept, on_top=_bit_field(layout.field(sequence)))
        self._row_fields = [field for field in self._probe.layout.fields[1:] if field.name != self._key_field]
        self._row_packing = BitPacking([*map(_bit_field, self._row_fields), *_DISTANCES], head=_TAG)
        self.state_words = [f"_newest_{i}" for i in range(self.state_packing.words)]
        self.row_words = [f"_word_{i}" for i in range(max(self._row_packing.words, _ORIGIN.words))]

    def rows(self, records: Mapping[str, DataFrame]) -> DataFrame:
        """The packed rows of both sources, from their records by source name."""
        state = self.state_packing.pack({name: F.col(name) for name in self._state_fields})
        time, sent = F.col(str(self._probe.time)), F.col("sent_us")
        sent = F.when(sent == 0, time).otherwise(sent)  # 0: unknown, the intended time stands in
        distances = {"sent_us": _clamped(sent - time), "read_us": _clamped(F.col("read_us") - time)}
        values = {field.name: _as_number(field) for field in self._row_fields}
        row = self._row_packing.pack({**values, **distances, "tag": row_ops.long(_PROBE_ROW)})
        build, probe = (row_ops.source_rows(source, records[source.name]) for source in (self._build, self._probe))
        return row_ops.union_all(
            [self._packed(build, state, []), self._packed(probe, [row_ops.long(None)] * len(state), row)]
        )

    def is_output(self, emitted: Column) -> Column:
        """Whether a row is output: a malformed one, or a probe row that is emitted."""
        tag = self._tag()
        return (tag != _BUILD_ROW) & ((tag >= _MALFORMED) | emitted)

    def unpacked(self, added: Mapping[str, str]) -> dict[str, Column]:
        """The fields and stamps of a probe row. added: the build side's fields, by their names in the output."""
        state, row = [F.col(name) for name in self.state_words], self._words()
        joined = {to: F.coalesce(self.state_packing.unpack(state, of), row_ops.long(0)) for to, of in added.items()}
        fields = {each.name: _from_number(each, self._row_packing.unpack(row, each.name)) for each in self._row_fields}
        time = fields[str(self._probe.time)]
        stamps = {each.name: time + self._row_packing.unpack(row, each.name) for each in _DISTANCES}
        return {**fields, **stamps, self._key_field: F.col(self.key), **joined}

    def origin(self) -> dict[str, Column]:
        """The origin of a malformed row, and its reason; null in other rows."""
        tag = self._tag()
        return {
            "topic": F.regexp_extract(self.key, "^!(.+)/", 1),
            **{name: _ORIGIN.unpack(self._words(), name) for name in ("partition", "offset", "position")},
            "reason": F.when(tag >= _MALFORMED, tag - row_ops.long(_MALFORMED)),
        }

    def _packed(self, rows: DataFrame, state: Sequence[Column], row: Sequence[Column]) -> DataFrame:
        bad_tag = F.col("reason") + row_ops.long(_MALFORMED)
        origin = _ORIGIN.pack({name: F.col(name) for name in ("offset", "position", "partition")} | {"tag": bad_tag})
        words = zip(self.row_words, self._padded(row), self._padded(origin), strict=True)
        return rows.select(
            row_ops.row_key((self._key_field,)).alias(self.key),
            *(F.when(row_ops.is_good(), word).alias(name) for name, word in zip(self.state_words, state, strict=True)),
            *(F.when(row_ops.is_good(), good).otherwise(bad).alias(name) for name, good, bad in words),
        )

    def _padded(self, words: Sequence[Column]) -> list[Column]:
        return [*words, *[row_ops.long(0)] * (len(self.row_words) - len(words))]

    def _words(self) -> list[Column]:
        return [F.col(name) for name in self.row_words]

    def _tag(self) -> Column:
        return _ORIGIN.unpack(self._words(), "tag")


def _bit_field(field: Field) -> BitField:
    """A field of a layout as a bit field."""
    match field.kind:
        case Kind.LETTER:
            return BitField(field.name, max(1, (len(field.letters) - 1).bit_length()))
        case Kind.DIGITS | Kind.SIGNED | Kind.INTEGER:
            return BitField(field.name, (field.highest - field.lowest).bit_length(), -field.lowest)
        case Kind.TEXT:
            raise TypeError(f"{field.name} is text")


def _as_number(field: Field) -> Column:
    if field.kind is not Kind.LETTER:
        return F.col(field.name)
    index = row_ops.long(0)
    for i, letter in enumerate(field.letters[1:], 1):
        index = F.when(F.col(field.name) == letter, row_ops.long(i)).otherwise(index)
    return index


def _from_number(field: Field, number: Column) -> Column:
    if field.kind is not Kind.LETTER:
        return number
    return F.get(F.array(*map(F.lit, field.letters)), number.cast("int"))


def _clamped(distance_us: Column) -> Column:
    return F.greatest(F.least(distance_us, row_ops.long(_DISTANCE_MAX_US)), row_ops.long(-_DISTANCE_MAX_US))


def compile_pipeline(pipeline: Pipeline, records: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    """See `Mode.compile`."""
    rows = reduce(row_ops.apply_step, pipeline.stream.computations, _after_state(pipeline, records))
    return row_ops.output_records(rows, pipeline, topics)


def state_form(pipeline: Pipeline) -> str:
    """See `Mode.state_form`."""
    state = pipeline.stream.state
    return PackedRows(pipeline, state).state_packing.form if isinstance(state, AsOfJoin) else ""


def _after_state(pipeline: Pipeline, records: Mapping[str, DataFrame]) -> DataFrame:
    match pipeline.stream.state:
        case AsOfJoin() as state:
            return _as_of_join(pipeline, state, records)
        case RunningTotal() as state:
            return _running_total(pipeline, state, row_ops.union_all(row_ops.branch_rows(pipeline, records)))
        case None:
            return row_ops.union_all(row_ops.branch_rows(pipeline, records))
        case state:
            raise TypeError(f"{state.name!r} is not for {job_contract.REAL_TIME}")


def _running_total(pipeline: Pipeline, state: RunningTotal, rows: DataFrame) -> DataFrame:
    added = F.col(state.of) if state.of else F.lit(1)
    keyed = rows.withColumn("_key", row_ops.row_key(pipeline.stream.keys))
    others = [F.last(name).alias(name) for name in rows.columns if name != state.into]
    # Null from the row on that takes it out of 64 bits.
    total = F.try_sum(F.when(row_ops.is_good(), added).otherwise(F.lit(0)).cast("bigint")).alias(state.into)
    totals = keyed.groupBy("_key").agg(total, *others).drop("_key")
    return row_ops.refused(totals, F.col(state.into).isNull(), InvalidReason.OVERFLOW)


def _as_of_join(pipeline: Pipeline, state: AsOfJoin, records: Mapping[str, DataFrame]) -> DataFrame:
    packed = PackedRows(pipeline, state)
    # The sequence is in the highest bits of each word, so the largest words are those of the latest row.
    latest = (F.max(name).alias(name) for name in packed.state_words)
    row_words = (F.last(name).alias(name) for name in packed.row_words)
    grouped = packed.rows(records).groupBy(packed.key).agg(*latest, *row_words)
    row = packed.unpacked(state.added)
    emitted = state.emit(Row(row)) if state.emit else F.lit(True)
    output = grouped.where(packed.is_output(emitted))
    return output.select(*(column.alias(name) for name, column in {**row, **packed.origin()}.items()))
