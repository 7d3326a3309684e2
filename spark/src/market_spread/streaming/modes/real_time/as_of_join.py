"""Rows of two sources in few words: one source is remembered, the rows of the other look up what is newest of it.

What a row costs is the columns that it carries: through the shuffle, and in Spark's state, which stays in memory only
while every column of it is a number. So all but the key travels packed, malformed rows too, under a key of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.common.wire.layout import Field, Kind, Layout
from market_spread.streaming.modes.real_time.bit_packing import Packing, Part
from market_spread.streaming.modes.rows import CARRIED, is_good, reserved_key, source_rows, united
from market_spread.streaming.operators.stateful import AsOfJoin
from market_spread.streaming.pipeline import Pipeline, Source

# The tag says what a row is; in a malformed one, which reason.
_TAG = Part("tag", 4)
_REMEMBERED, _LOOKING, _MALFORMED = 0, 1, 8
_PLACE = Packing([Part("offset", 54), Part("position", 28), Part("partition", 31)], head=_TAG)
# A time as its distance from the intended one, held within a quarter of an hour to either side.
_DISTANCE_MAX_US = 1_000_000_000
_DISTANCES = (Part("sent_us", 31, _DISTANCE_MAX_US), Part("read_us", 32, _DISTANCE_MAX_US))


@dataclass(frozen=True, slots=True)
class PackedRows:
    """The columns of the packed rows, and what is in them.

    key: the column of the key; newest: the columns of what is remembered, null in rows that look up, each with the
    sequence on top; own: the columns of the row itself.
    """

    key: str
    newest: tuple[str, ...]
    own: tuple[str, ...]
    _field_of_key: str
    _remembered: "_Remembered"
    _looking: "_Looking"

    @staticmethod
    def of(pipeline: Pipeline, state: AsOfJoin) -> "PackedRows":
        """Those of a pipeline with this state."""
        key = str(pipeline.stream.key)
        first, second = pipeline.sources
        remembered, looking_up = (first, second) if first.name == state.of else (second, first)
        news, looking = _Remembered.of(remembered, state), _Looking.of(looking_up, key)
        width = max(looking.packing.words, _PLACE.words)
        return PackedRows(
            key="_key",
            newest=tuple(f"_newest_{i}" for i in range(news.packing.words)),
            own=tuple(f"_word_{i}" for i in range(width)),
            _field_of_key=key,
            _remembered=news,
            _looking=looking,
        )

    @property
    def form(self) -> str:
        """How what is remembered is packed. Spark's state has only numbers, so it cannot tell one form from another."""
        return self._remembered.packing.form

    def rows(self, records: Mapping[str, DataFrame]) -> DataFrame:
        """The rows of both sources, from their records by their names."""
        looking = self._packed(self._looking.source, records, [_long(None)] * len(self.newest), self._looking.packed())
        remembered = self._packed(self._remembered.source, records, self._remembered.packed(), [])
        return united([remembered, looking])

    def leaves(self, emitted: Column) -> Column:
        """Whether a row leaves: one that is malformed, or one that looks up and is emitted."""
        tag = self._tag()
        return (tag != _REMEMBERED) & ((tag >= _MALFORMED) | emitted)

    def unpacked(self, added: Mapping[str, str]) -> dict[str, Column]:
        """The fields and stamps of a row that looks up. added: fields of what is newest, by their new names."""
        newest = [F.col(name) for name in self.newest]
        found = {to: F.coalesce(self._remembered.packing.unpack(newest, of), _long(0)) for to, of in added.items()}
        return {**self._looking.unpacked(self._words()), self._field_of_key: F.col(self.key), **found}

    def origin(self) -> dict[str, Column]:
        """Where a malformed row came from, and its reason; null in the others."""
        tag = self._tag()
        place = {name: _PLACE.unpack(self._words(), name) for name in ("partition", "offset", "position")}
        place["topic"] = F.regexp_extract(self.key, "^!(.+)/", 1)
        place["reason"] = F.when(tag >= _MALFORMED, tag - _long(_MALFORMED))
        return {name: place[name] for name in CARRIED if name in place}

    def _packed(
        self, source: Source, records: Mapping[str, DataFrame], newest: Sequence[Column], own: Sequence[Column]
    ) -> DataFrame:
        bad_tag = F.col("reason") + _long(_MALFORMED)
        place = _PLACE.pack({name: F.col(name) for name in ("offset", "position", "partition")} | {"tag": bad_tag})
        chosen = zip(self.own, self._filled_up(own), self._filled_up(place), strict=True)
        return source_rows(source, records[source.name]).select(
            F.when(is_good(), F.col(self._field_of_key)).otherwise(reserved_key()).alias(self.key),
            *(F.when(is_good(), word).alias(name) for name, word in zip(self.newest, newest, strict=True)),
            *(F.when(is_good(), good).otherwise(bad).alias(name) for name, good, bad in chosen),
        )

    def _filled_up(self, words: Sequence[Column]) -> list[Column]:
        return [*words, *[_long(0)] * (len(self.own) - len(words))]

    def _words(self) -> list[Column]:
        return [F.col(name) for name in self.own]

    def _tag(self) -> Column:
        return _PLACE.unpack(self._words(), "tag")


@dataclass(frozen=True, slots=True)
class _Remembered:
    """What is remembered of a source: the fields that are added to the rows of the other, and the sequence."""

    source: Source
    fields: tuple[str, ...]
    packing: Packing

    @staticmethod
    def of(source: Source, state: AsOfJoin) -> "_Remembered":
        layout, sequence = _layout(source), str(source.sequence)
        fields = tuple(dict.fromkeys((*state.added.values(), sequence)))
        parts = [_part(layout.field(name)) for name in fields if name != sequence]
        return _Remembered(source, fields, Packing(parts, on_top=_part(layout.field(sequence))))

    def packed(self) -> list[Column]:
        """The words of a row, from its columns."""
        return self.packing.pack({name: F.col(name) for name in self.fields})


@dataclass(frozen=True, slots=True)
class _Looking:
    """The rows that look up: how their fields, but the key, travel in words."""

    source: Source
    time: str
    fields: Mapping[str, Field]
    packing: Packing

    @staticmethod
    def of(source: Source, key: str) -> "_Looking":
        fields = {field.name: field for field in _layout(source).fields[1:] if field.name != key}
        parts = [*map(_part, fields.values()), *_DISTANCES]
        return _Looking(source, str(source.time), fields, Packing(parts, head=_TAG))

    def packed(self) -> list[Column]:
        """The words of a row, from its columns."""
        values = {name: _as_number(field) for name, field in self.fields.items()}
        time = F.col(self.time)
        sent = F.when(F.col("sent_us") == 0, time).otherwise(F.col("sent_us"))  # not told: taken as sent when intended
        distances = {"sent_us": _held(sent - time), "read_us": _held(F.col("read_us") - time)}
        return self.packing.pack({**values, **distances, "tag": _long(_LOOKING)})

    def unpacked(self, words: Sequence[Column]) -> dict[str, Column]:
        """The fields and stamps of a row, from its words."""
        fields = {name: _from_number(field, self.packing.unpack(words, name)) for name, field in self.fields.items()}
        stamps = {part.name: fields[self.time] + self.packing.unpack(words, part.name) for part in _DISTANCES}
        return {**fields, **stamps}


def _part(field: Field) -> Part:
    """A field as an integer of a word."""
    if field.kind is Kind.LETTER:
        return Part(field.name, max(1, (len(field.letters) - 1).bit_length()))
    if not field.is_number:
        raise TypeError(f"{field.name} is text")
    return Part(field.name, (field.highest - field.lowest).bit_length(), -field.lowest)


def _as_number(field: Field) -> Column:
    if field.kind is not Kind.LETTER:
        return F.col(field.name)
    place = _long(0)
    for i, letter in enumerate(field.letters[1:], 1):
        place = F.when(F.col(field.name) == letter, _long(i)).otherwise(place)
    return place


def _from_number(field: Field, number: Column) -> Column:
    if field.kind is not Kind.LETTER:
        return number
    return F.get(F.array(*map(F.lit, field.letters)), number.cast("int"))


def _held(distance_us: Column) -> Column:
    return F.greatest(F.least(distance_us, _long(_DISTANCE_MAX_US)), _long(-_DISTANCE_MAX_US))


def _layout(source: Source) -> Layout:
    if not isinstance(source.messages, Layout):
        raise TypeError(f"{source.name!r} is text")
    return source.messages


def _long(value: int | None) -> Column:
    return F.lit(value).cast("bigint")
