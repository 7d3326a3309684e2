"""A pipeline as a plan for Real-Time Mode: built-in columns alone, and a row out for every row in.

Branches are united before they are grouped, because the mode wants it so. Numbers travel packed into words, since what
a row costs is the columns that it carries: through the shuffle, and in Spark's state, which stays in memory only while
every column of it is a number. Malformed rows take the same way, under a key of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.common.layout import Field, Kind, Layout
from market_spread.streaming.computations import Row, Sink
from market_spread.streaming.frames import wall_clock_us
from market_spread.streaming.pipeline import Pipeline, Source
from market_spread.streaming.plans.rows import (
    CARRIED,
    INVALID,
    computed,
    invalid_value,
    is_good,
    reserved_key,
    sink_key,
    sink_value,
    source_rows,
    united,
)
from market_spread.streaming.states import Newest, RunningTotal
from market_spread.streaming.words import Packing, Part

# The tag says what a row is; in a malformed one, which reason.
_TAG = Part("tag", 4)
_REMEMBERED, _LOOKING, _MALFORMED = 0, 1, 8
_PLACE = Packing([Part("offset", 54), Part("position", 28), Part("partition", 31)], head=_TAG)
# A time as its distance from the intended one, held within a quarter of an hour to either side.
_DISTANCE_MAX_US = 1_000_000_000
_DISTANCES = (Part("sent_us", 31, _DISTANCE_MAX_US), Part("read_us", 32, _DISTANCE_MAX_US))


def leaving(pipeline: Pipeline, records: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    """The Kafka records that leave (topic, key, value), of a pipeline that the mode can run.

    records: those of each source, by its name; topics: that of the sink, and that of `invalid`, by these names.
    """
    rows = _after_state(pipeline, records)
    for computation in pipeline.stream.computations:
        rows = computed(rows, computation)
    (sink,) = pipeline.sinks
    return _records(rows, sink, topics)


def _records(rows: DataFrame, sink: Sink, topics: Mapping[str, str]) -> DataFrame:
    stamped = rows.withColumn("emitted_us", wall_clock_us())
    return stamped.select(
        F.when(is_good(), topics[sink.name]).otherwise(topics[INVALID]).alias("topic"),
        F.when(is_good(), sink_key(sink)).alias("key"),
        F.when(is_good(), sink_value(sink)).otherwise(invalid_value()).alias("value"),
    )


def _after_state(pipeline: Pipeline, records: Mapping[str, DataFrame]) -> DataFrame:
    state = pipeline.stream.state
    if isinstance(state, Newest):
        return _newest(pipeline, state, records)
    rows = united([_branch(pipeline, source, records[source.name]) for source in pipeline.sources])
    return _running_total(pipeline, state, rows) if isinstance(state, RunningTotal) else rows


def _branch(pipeline: Pipeline, source: Source, records: DataFrame) -> DataFrame:
    rows = source_rows(source, records)
    (computations,) = (branch.computations for branch in pipeline.stream.branches if branch.source is source)
    for computation in computations:
        rows = computed(rows, computation)
    return rows


def _running_total(pipeline: Pipeline, state: RunningTotal, rows: DataFrame) -> DataFrame:
    added = F.col(state.of) if state.of else _long(1)
    keyed = rows.withColumn("_key", F.when(is_good(), _key(pipeline).cast("string")).otherwise(reserved_key()))
    others = [F.last(name).alias(name) for name in rows.columns if name != state.into]
    total = F.sum(F.when(is_good(), added).otherwise(_long(0)).cast("bigint")).alias(state.into)
    return keyed.groupBy("_key").agg(total, *others).drop("_key")


# The newest row of one source, beside each row of the others


@dataclass(frozen=True, slots=True)
class _Looking:
    """The rows that look up: how their fields, but the key, travel in words."""

    time: str
    fields: Mapping[str, Field]
    packing: Packing

    @staticmethod
    def of(source: Source, key: str) -> "_Looking":
        fields = {field.name: field for field in _layout(source).fields[1:] if field.name != key}
        parts = [*map(_part, fields.values()), *_DISTANCES]
        return _Looking(str(source.time), fields, Packing(parts, head=_TAG))

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


def _newest(pipeline: Pipeline, state: Newest, records: Mapping[str, DataFrame]) -> DataFrame:
    key = str(pipeline.stream.key)
    first, second = pipeline.sources
    remembered, looking_up = (first, second) if first.name == state.of else (second, first)
    looking = _Looking.of(looking_up, key)
    newest = _newest_packing(remembered, state)
    width = max(looking.packing.words, _PLACE.words)
    news, words = [f"_newest_{i}" for i in range(newest.words)], [f"_word_{i}" for i in range(width)]

    def packed(source: Source) -> DataFrame:
        if source is remembered:
            new = newest.pack({name: F.col(name) for name in source.fields if name in _of_newest(source, state)})
            own: list[Column] = []
        else:
            new = [F.lit(None).cast("bigint")] * newest.words
            own = looking.packed()
        own += [_long(0)] * (width - len(own))
        place = _PLACE.pack({name: F.col(name) for name in ("offset", "position", "partition")} | {"tag": _bad_tag()})
        place += [_long(0)] * (width - len(place))
        return source_rows(source, records[source.name]).select(
            F.when(is_good(), F.col(key)).otherwise(reserved_key()).alias("_key"),
            *(F.when(is_good(), column).alias(name) for name, column in zip(news, new, strict=True)),
            *(F.when(is_good(), a).otherwise(b).alias(name) for name, a, b in zip(words, own, place, strict=True)),
        )

    rows = united([packed(source) for source in pipeline.sources])
    # The sequence stands on top of each word of what is newest, so the largest of each is the newest row's.
    grouped = rows.groupBy("_key").agg(*(F.max(n).alias(n) for n in news), *(F.last(n).alias(n) for n in words))
    own_words = [F.col(name) for name in words]
    tag = _PLACE.unpack(own_words, "tag")
    found = {
        to: F.coalesce(newest.unpack([F.col(name) for name in news], of), _long(0)) for to, of in state.added.items()
    }
    row = {**looking.unpacked(own_words), key: F.col("_key"), **found}
    emitted = state.emit(Row(row)) if state.emit else F.lit(True)
    kept = grouped.where((tag != _REMEMBERED) & ((tag >= _MALFORMED) | emitted))
    return kept.select(*(column.alias(name) for name, column in row.items()), *_origin(own_words, tag))


def _newest_packing(source: Source, state: Newest) -> Packing:
    layout, sequence = _layout(source), str(source.sequence)
    names = [name for name in _of_newest(source, state) if name != sequence]
    return Packing([_part(layout.field(name)) for name in names], on_top=_part(layout.field(sequence)))


def _of_newest(source: Source, state: Newest) -> list[str]:
    return list(dict.fromkeys((*state.added.values(), str(source.sequence))))


def _origin(words: Sequence[Column], tag: Column) -> list[Column]:
    place = {name: _PLACE.unpack(words, name) for name in ("partition", "offset", "position")}
    place["topic"] = F.regexp_extract("_key", "^!(.+)/", 1)
    place["reason"] = F.when(tag >= _MALFORMED, tag - _long(_MALFORMED))
    return [place[name].alias(name) for name in CARRIED if name in place]


def _bad_tag() -> Column:
    return F.col("reason") + _long(_MALFORMED)


def _part(field: Field) -> Part:
    """A field as an integer of a word."""
    if field.kind is Kind.LETTER:
        return Part(field.name, max(1, (len(field.letters) - 1).bit_length()))
    if field.kind is Kind.DIGITS:
        return Part(field.name, (10**field.width - 1).bit_length())
    if field.kind is Kind.SIGNED:
        bias = 10 ** (field.width - 1)
        return Part(field.name, (2 * bias).bit_length(), bias)
    raise TypeError(f"{field.name} is text")


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


def _key(pipeline: Pipeline) -> Column:
    return F.col(str(pipeline.stream.key))


def _long(value: int) -> Column:
    return F.lit(value).cast("bigint")
