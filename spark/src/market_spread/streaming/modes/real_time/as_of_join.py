"""The as-of join of Real-Time Mode, on packed rows: the state keeps the latest row of the build side, and each row of
the probe side reads it.

A row costs what its columns cost, in the shuffle and in Spark's state, which stays in memory only while all its columns
are numbers. So everything except the key is packed into longs ("words"), malformed rows too, under reserved keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.common.wire.layout import Field, Kind
from market_spread.streaming.modes.real_time.bit_packing import BitField, BitPacking
from market_spread.streaming.modes.rows import (
    METADATA,
    build_and_probe,
    is_good,
    layout_of,
    long,
    reserved_key,
    source_rows,
    union_all,
)
from market_spread.streaming.operators.stateful import AsOfJoin
from market_spread.streaming.pipeline import Pipeline, Source

# The tag says what a row is; in a malformed one, plus its reason.
_TAG = BitField("tag", 4)
_BUILD_ROW, _PROBE_ROW, _MALFORMED = 0, 1, 8
_ORIGIN = BitPacking([BitField("offset", 54), BitField("position", 28), BitField("partition", 31)], head=_TAG)
# A time as its distance from the intended one, at most 1,000 s to either side.
_DISTANCE_MAX_US = 1_000_000_000
_DISTANCES = (BitField("sent_us", 31, _DISTANCE_MAX_US), BitField("read_us", 32, _DISTANCE_MAX_US))


@dataclass(frozen=True, slots=True)
class PackedRows:
    """The columns of the packed rows.

    key: the key's column; state_words: those of the build side, null in probe rows, each with the sequence in its
    highest bits; row_words: those of the row itself.
    """

    key: str
    state_words: tuple[str, ...]
    row_words: tuple[str, ...]
    _key_field: str
    _build: "_BuildSide"
    _probe: "_ProbeSide"

    @staticmethod
    def of(pipeline: Pipeline, state: AsOfJoin) -> "PackedRows":
        """Those of a pipeline with this join."""
        key = str(pipeline.stream.key)
        build_source, probe_source = build_and_probe(pipeline, state)
        build, probe = _BuildSide.of(build_source, state), _ProbeSide.of(probe_source, key)
        return PackedRows(
            key="_key",
            state_words=tuple(f"_newest_{i}" for i in range(build.packing.words)),
            row_words=tuple(f"_word_{i}" for i in range(max(probe.packing.words, _ORIGIN.words))),
            _key_field=key,
            _build=build,
            _probe=probe,
        )

    @property
    def form(self) -> str:
        """How the state is packed. To Spark it is only numbers, so Spark cannot tell one form from another."""
        return self._build.packing.form

    def rows(self, records: Mapping[str, DataFrame]) -> DataFrame:
        """The packed rows of both sources, from their records by source name."""
        nulls = [long(None)] * len(self.state_words)
        probe = self._packed(self._probe.source, records, nulls, self._probe.packed())
        build = self._packed(self._build.source, records, self._build.packed(), [])
        return union_all([build, probe])

    def is_output(self, emitted: Column) -> Column:
        """Whether a row is output: a malformed one, or a probe row that is emitted."""
        tag = self._tag()
        return (tag != _BUILD_ROW) & ((tag >= _MALFORMED) | emitted)

    def unpacked(self, added: Mapping[str, str]) -> dict[str, Column]:
        """The fields and stamps of a probe row. added: the build side's fields, by their names in the output."""
        state = [F.col(name) for name in self.state_words]
        joined = {to: F.coalesce(self._build.packing.unpack(state, of), long(0)) for to, of in added.items()}
        return {**self._probe.unpacked(self._words()), self._key_field: F.col(self.key), **joined}

    def origin(self) -> dict[str, Column]:
        """The origin of a malformed row, and its reason; null in other rows."""
        tag = self._tag()
        origin = {name: _ORIGIN.unpack(self._words(), name) for name in ("partition", "offset", "position")}
        origin["topic"] = F.regexp_extract(self.key, "^!(.+)/", 1)
        origin["reason"] = F.when(tag >= _MALFORMED, tag - long(_MALFORMED))
        return {name: origin[name] for name in METADATA if name in origin}

    def _packed(
        self, source: Source, records: Mapping[str, DataFrame], state: Sequence[Column], row: Sequence[Column]
    ) -> DataFrame:
        bad_tag = F.col("reason") + long(_MALFORMED)
        origin = _ORIGIN.pack({name: F.col(name) for name in ("offset", "position", "partition")} | {"tag": bad_tag})
        words = zip(self.row_words, self._padded(row), self._padded(origin), strict=True)
        return source_rows(source, records[source.name]).select(
            F.when(is_good(), F.col(self._key_field)).otherwise(reserved_key()).alias(self.key),
            *(F.when(is_good(), word).alias(name) for name, word in zip(self.state_words, state, strict=True)),
            *(F.when(is_good(), good).otherwise(bad).alias(name) for name, good, bad in words),
        )

    def _padded(self, words: Sequence[Column]) -> list[Column]:
        return [*words, *[long(0)] * (len(self.row_words) - len(words))]

    def _words(self) -> list[Column]:
        return [F.col(name) for name in self.row_words]

    def _tag(self) -> Column:
        return _ORIGIN.unpack(self._words(), "tag")


@dataclass(frozen=True, slots=True)
class _BuildSide:
    """The fields that the state keeps of the build side: those that the join adds, and the sequence."""

    source: Source
    fields: tuple[str, ...]
    packing: BitPacking

    @staticmethod
    def of(source: Source, state: AsOfJoin) -> "_BuildSide":
        layout, sequence = layout_of(source), str(source.sequence)
        fields = tuple(dict.fromkeys((*state.added.values(), sequence)))
        bit_fields = [_bit_field(layout.field(name)) for name in fields if name != sequence]
        return _BuildSide(source, fields, BitPacking(bit_fields, on_top=_bit_field(layout.field(sequence))))

    def packed(self) -> list[Column]:
        """The words of a row, from its columns."""
        return self.packing.pack({name: F.col(name) for name in self.fields})


@dataclass(frozen=True, slots=True)
class _ProbeSide:
    """How the fields of a probe row, except the key, are packed."""

    source: Source
    time: str
    fields: Mapping[str, Field]
    packing: BitPacking

    @staticmethod
    def of(source: Source, key: str) -> "_ProbeSide":
        fields = {field.name: field for field in layout_of(source).fields[1:] if field.name != key}
        bit_fields = [*map(_bit_field, fields.values()), *_DISTANCES]
        return _ProbeSide(source, str(source.time), fields, BitPacking(bit_fields, head=_TAG))

    def packed(self) -> list[Column]:
        """The words of a row, from its columns."""
        values = {name: _as_number(field) for name, field in self.fields.items()}
        time = F.col(self.time)
        sent = F.when(F.col("sent_us") == 0, time).otherwise(
            F.col("sent_us")
        )  # 0: unknown, the intended time stands in
        distances = {"sent_us": _clamped(sent - time), "read_us": _clamped(F.col("read_us") - time)}
        return self.packing.pack({**values, **distances, "tag": long(_PROBE_ROW)})

    def unpacked(self, words: Sequence[Column]) -> dict[str, Column]:
        """The fields and stamps of a row, from its words."""
        fields = {name: _from_number(field, self.packing.unpack(words, name)) for name, field in self.fields.items()}
        stamps = {each.name: fields[self.time] + self.packing.unpack(words, each.name) for each in _DISTANCES}
        return {**fields, **stamps}


def _bit_field(field: Field) -> BitField:
    """A field of a layout as a bit field."""
    if field.kind is Kind.LETTER:
        return BitField(field.name, max(1, (len(field.letters) - 1).bit_length()))
    if not field.is_number:
        raise TypeError(f"{field.name} is text")
    return BitField(field.name, (field.highest - field.lowest).bit_length(), -field.lowest)


def _as_number(field: Field) -> Column:
    if field.kind is not Kind.LETTER:
        return F.col(field.name)
    index = long(0)
    for i, letter in enumerate(field.letters[1:], 1):
        index = F.when(F.col(field.name) == letter, long(i)).otherwise(index)
    return index


def _from_number(field: Field, number: Column) -> Column:
    if field.kind is not Kind.LETTER:
        return number
    return F.get(F.array(*map(F.lit, field.letters)), number.cast("int"))


def _clamped(distance_us: Column) -> Column:
    return F.greatest(F.least(distance_us, long(_DISTANCE_MAX_US)), long(-_DISTANCE_MAX_US))
