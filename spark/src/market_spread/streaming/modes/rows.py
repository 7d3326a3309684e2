"""What the plans share: records into rows, column computations on rows, and rows into the records that leave.

A row has its fields and, besides, where its message came from (topic, partition, offset, position), when it was sent
and read (sent_us, read_us), and `reason`: null, or the code of an InvalidReason. Then its message could not be read,
its fields are not to be used, and it passes every step untouched to the topic `invalid`.
"""

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.common.wire.layout import InvalidReason, Kind, Layout
from market_spread.streaming.operators.stateless import (
    ORIGIN,
    Computation,
    Filter,
    FlatMap,
    Map,
    MapBatches,
    Row,
    Sink,
    Text,
)
from market_spread.streaming.pipeline import Source
from market_spread.streaming.record_codec import count_messages, frames_to_messages, records_to_frames, wall_clock_us

INVALID = "invalid"  # the topic of malformed messages, of every pipeline
CARRIED_TYPES: Mapping[str, str] = {
    "topic": "string", "partition": "bigint", "offset": "bigint", "position": "bigint", "sent_us": "bigint",
    "read_us": "bigint", "reason": "bigint",
}  # fmt: skip
CARRIED = tuple(CARRIED_TYPES)


def source_rows(source: Source, records: DataFrame) -> DataFrame:
    """The messages of a source, from Kafka records with their headers."""
    frames = count_messages(records_to_frames(records, source.messages), source.name)
    return frames_to_messages(frames, source.messages).select(*source.fields, *CARRIED)


def computed(rows: DataFrame, computation: Computation) -> DataFrame:
    """The rows that a column computation makes of these."""
    row = Row({name: F.col(name) for name in rows.columns})
    match computation:
        case Filter():
            return rows.where(~is_good() | computation.keep(row))
        case Map():
            return rows.withColumns({name: function(row) for name, function in computation.added.items()})
        case FlatMap():
            elements = F.when(is_good(), computation.elements(row))
            # A malformed row has no elements, and stays; a good one without any goes.
            split = rows.withColumn(computation.into, F.explode_outer(elements))
            return split.where(~is_good() | F.col(computation.into).isNotNull())
        case MapBatches():
            raise TypeError(f"{computation.name!r} is Python, not a column")
        case never:
            assert_never(never)


def united(several: Sequence[DataFrame]) -> DataFrame:
    """All rows; what one does not have is null there."""
    first, *others = several
    for other in others:
        first = first.unionByName(other, allowMissingColumns=True)
    return first


def is_good() -> Column:
    """Whether the row's message could be read."""
    return F.col("reason").isNull()


def reserved_key() -> Column:
    """A key for malformed rows of one topic and partition, for where every row must have one."""
    return F.concat(F.lit("!"), F.col("topic"), F.lit("/"), F.col("partition").cast("string"))


def leaving_records(rows: DataFrame, sinks: Sequence[Sink], topics: Mapping[str, str]) -> DataFrame:
    """The Kafka records (topic, key, value) of rows: one for each sink that keeps a row, a report of a malformed one.

    Several are made within the row: as a union, everything before it would be done once for each sink.
    """
    stamped = rows.withColumn("emitted_us", wall_clock_us())
    bad = {"topic": F.lit(topics[INVALID]), "key": F.lit(None).cast("binary"), "value": invalid_value()}
    if len(sinks) == 1 and sinks[0].keep is None:
        good = _record(sinks[0], topics)
        return stamped.select(*(F.when(is_good(), good[name]).otherwise(bad[name]).alias(name) for name in good))
    row = Row({name: F.col(name) for name in stamped.columns})
    kept = [(is_good() if sink.keep is None else is_good() & sink.keep(row), _record(sink, topics)) for sink in sinks]
    chosen = [(~is_good(), bad), *kept]
    records = F.array(
        *(F.when(keeps, F.struct(*(column.alias(name) for name, column in record.items()))) for keeps, record in chosen)
    )
    return stamped.select(F.explode(records).alias("record")).where("record is not null").select("record.*")


def _record(sink: Sink, topics: Mapping[str, str]) -> dict[str, Column]:
    return {"topic": F.lit(topics[sink.name]), "key": _sink_key(sink), "value": _sink_value(sink)}


def _sink_key(sink: Sink) -> Column:
    """The key of a sink's records; null if they have none."""
    if sink.key is None:
        return F.lit(None).cast("binary")
    if isinstance(sink.messages, Layout) and sink.key in (field.name for field in sink.messages.fields):
        return _field(sink.messages, sink.key).cast("binary")
    return F.col(sink.key).cast("string").cast("binary")


def _sink_value(sink: Sink) -> Column:
    """The value of a sink's records, from columns of the names that it writes."""
    if isinstance(sink.messages, Text):
        return _filled_in(sink.messages).cast("binary")
    _, *others = sink.messages.fields
    return F.concat(F.lit(sink.messages.letter), *(_field(sink.messages, field.name) for field in others)).cast(
        "binary"
    )


def invalid_value() -> Column:
    """The report of a malformed message: JSON."""
    names = F.create_map(*(F.lit(part) for reason in InvalidReason for part in (reason.value, reason.name.lower())))
    return F.to_json(F.struct(names[F.col("reason").cast("int")].alias("reason"), *ORIGIN)).cast("binary")


def _field(layout: Layout, name: str) -> Column:
    """A value as the layout's field holds it."""
    field, column = layout.field(name), F.col(name)
    if field.kind is Kind.DIGITS:
        return _digits(column, field.width)
    if field.kind is Kind.SIGNED:
        return F.concat(F.when(column < 0, "-").otherwise("+"), _digits(F.abs(column), field.width - 1))
    if field.kind is Kind.INTEGER:
        negative = F.concat(F.lit("-"), _digits(-column, field.width - 1))
        return F.when(column < 0, negative).otherwise(_digits(column, field.width))
    return column if field.kind is Kind.LETTER else F.rpad(column, field.width, " ")


def _digits(column: Column, width: int) -> Column:
    return F.lpad(column.cast("string"), width, "0")


def _filled_in(text: Text) -> Column:
    """The pattern with the fields' values; a field of a layout comes without the blanks that fill it up."""
    parts = []
    for literal, name, _, _ in Formatter().parse(text.pattern):
        parts += [F.lit(literal)] if literal else []
        parts += [F.coalesce(F.rtrim(F.col(name).cast("string")), F.lit(""))] if name else []
    return F.concat(*parts) if parts else F.lit("")
