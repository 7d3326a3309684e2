"""What both modes share: records into rows, steps of columns on rows, and rows into output records.

Besides its fields, a row has metadata: its origin (topic, partition, offset, position), when it was sent and read
(sent_us, read_us), and `reason`: null, or the code of an InvalidReason if its message could not be read, or a step or a
sink could not take it. The fields of such a row must not be used, and it passes every further step unchanged to the
topic `invalid`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from string import Formatter
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.common.wire.layout import EMITTED_HEADER, READ_HEADER, Field, InvalidReason, Kind, Layout
from market_spread.streaming import record_codec
from market_spread.streaming.messages import DECIMAL, Avro, Bytes, Csv, Json, Names, Text, TypedField, nullable_fields
from market_spread.streaming.operators.stateful import AsOfJoin, RunningTotal, needed_values
from market_spread.streaming.operators.stateless import ORIGIN, Computation, Filter, FlatMap, Map, MapBatches, Row, Sink
from market_spread.streaming.pipeline import INVALID, Pipeline, Source

_TIME_US_MAX = 2**63 // 1000 - 10**12  # in the year 2262; pandas has no later time, and would end the job
_RESULTS = "_results"  # of the functions of a step, while it is done
_LATE_METRIC = "late"  # in the progress of a batch, if late rows are routed to a sink
Step = Callable[[DataFrame, Computation], DataFrame]
METADATA_TYPES: Mapping[str, str] = {
    "topic": "string", "partition": "bigint", "offset": "bigint", "position": "bigint", "sent_us": "bigint",
    "read_us": "bigint", "reason": "bigint",
}  # fmt: skip


def source_rows(source: Source, records: DataFrame, *, is_counted: bool = True) -> DataFrame:
    """The messages of a source, from Kafka records with their headers; counted in the query's progress, or not."""
    of_record = record_codec.record_columns(key=source.key, timestamp=source.timestamp, headers=source.headers)
    frames = record_codec.records_to_frames(records, source.messages, of_record)
    frames = record_codec.count_messages(frames, source.name) if is_counted else frames
    messages = record_codec.frames_to_messages(frames, source.messages, source.record_fields)
    return messages.select(*source.fields, *METADATA_TYPES)


def count_late(rows: DataFrame) -> DataFrame:
    """The same rows; the query's progress then counts them as late in each committed batch."""
    return rows.observe("late_rows", F.count("*").alias(_LATE_METRIC))


def late_in(progress: Mapping[str, Any]) -> int:
    """How many rows of a batch were late: exactly if they are routed, else as Spark counts them, grouped."""
    routed = [values[_LATE_METRIC] for values in progress.get("observedMetrics", {}).values() if _LATE_METRIC in values]
    dropped = (operator.get("numRowsDroppedByWatermark", 0) for operator in progress.get("stateOperators", ()))
    return sum(routed or dropped)


def refused(rows: DataFrame, when: Column, reason: InvalidReason) -> DataFrame:
    """The same rows; the good ones of which that is true have this reason from now on."""
    return rows.withColumn("reason", F.coalesce("reason", F.when(when, long(reason.value))))


def with_values(rows: DataFrame, names: Iterable[str]) -> DataFrame:
    """The same rows, refused where one of these fields is null."""
    return refused(rows, _any_null(names), InvalidReason.MISSING_VALUE)


def _any_null(names: Iterable[str]) -> Column:
    return reduce(Column.__or__, (F.col(name).isNull() for name in names), F.lit(False))


def apply_step(rows: DataFrame, computation: Computation) -> DataFrame:
    """The rows after a step of columns."""
    match computation:
        case Filter():
            rows, (keep,) = _called(rows, computation, [computation.keep])
            rows = refused(rows, keep.isNull(), InvalidReason.MISSING_VALUE).where(~is_good() | keep)
        case Map():
            rows, values = _called(rows, computation, computation.added.values())
            rows = rows.withColumns(dict(zip(computation.added, values, strict=True)))
        case FlatMap():
            rows, (elements,) = _called(rows, computation, [computation.elements])
            rows = refused(rows, elements.isNull(), InvalidReason.MISSING_VALUE)
            # A malformed row has no elements and stays; a good one without elements is dropped.
            rows = rows.where(~is_good() | (F.size(elements) > 0))
            rows = rows.withColumn(computation.into, F.explode_outer(F.when(is_good(), elements)))
            rows = with_values(rows, [computation.into])
        case MapBatches():
            raise TypeError(f"{computation.name!r} is Python, not columns")
    return rows.drop(_RESULTS)


def _called(
    rows: DataFrame, step: Computation, functions: Iterable[Callable[[Row], Any]]
) -> tuple[DataFrame, list[Column]]:
    """What a step's functions return for the rows, which are refused where one raises, if the step diverts them."""
    row = Row({name: F.col(name) for name in rows.columns})
    values = [function(row) for function in functions]
    if step.on_error == "fail":
        return rows, values
    results = F.struct(*(value.alias(f"_{i}") for i, value in enumerate(values)))
    rows = rows.withColumn(_RESULTS, F.when(is_good(), record_codec.null_if_it_raises(results)))
    refusing = refused(rows, F.col(_RESULTS).isNull(), InvalidReason.FUNCTION_RAISED)
    return refusing, [F.col(_RESULTS)[f"_{i}"] for i in range(len(values))]


def branch_rows(
    pipeline: Pipeline, records: Mapping[str, DataFrame], step: Step = apply_step, *, is_counted: bool = True
) -> list[DataFrame]:
    """The rows of each source after the steps of its branch, from the records by source name.

    Rows are refused that lack a value for key, time, sequence or state, or have a number that no total can count.
    """
    stream, several = pipeline.stream, []
    for branch in stream.branches:
        source = source_rows(branch.source, records[branch.source.name], is_counted=is_counted)
        rows = reduce(step, branch.computations, _with_valid_texts(branch.source, source))
        by_state = needed_values(stream.state, branch.source.name)
        needed = (*stream.keys, branch.schema.time, branch.schema.sequence, *by_state)
        rows = with_values(rows, (name for name in needed if name and name not in branch.present))
        if time := branch.schema.time:
            rows = refused(rows, ~F.col(time).between(-_TIME_US_MAX, _TIME_US_MAX), InvalidReason.OVERFLOW)
        if isinstance(stream.state, RunningTotal) and (of := stream.state.of):
            rows = refused(rows, F.col(of).try_cast("bigint").isNull(), InvalidReason.OVERFLOW)
        several.append(rows)
    return several


def _with_valid_texts(source: Source, rows: DataFrame) -> DataFrame:
    """Bytes that are not valid UTF-8 would end a query whose Python gets them; what Python does not get is alike."""
    fields = source.messages.fields[1:] if isinstance(source.messages, Layout) else ()
    texts = (*(field.name for field in fields if field.kind is Kind.TEXT), *source.record_texts)
    bad = (~F.is_valid_utf8(name) for name in texts)
    return refused(rows, reduce(Column.__or__, bad, F.lit(False)), InvalidReason.UNREADABLE_FIELD)


def build_and_probe(pipeline: Pipeline, state: AsOfJoin) -> tuple[Source, Source]:
    """The two sources of an as-of join: the one whose latest rows are kept, and the one whose rows are joined."""
    first, second = pipeline.sources
    return (first, second) if first.name == state.of else (second, first)


def union_all(several: Sequence[DataFrame]) -> DataFrame:
    """All rows; a column that one of them lacks is null there."""
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), several)


def long(value: int | None) -> Column:
    """A literal of Spark's 64-bit type."""
    return F.lit(value).cast("bigint")


def is_good() -> Column:
    """Whether the row's message could be read."""
    return F.col("reason").isNull()


def row_key(fields: Names) -> Column:
    """The key of each row as text: its fields, or a reserved key for the malformed ones of a topic and partition."""
    reserved = F.concat(F.lit("!"), F.col("topic"), F.lit("/"), F.col("partition").cast("string"))
    key = F.col(fields[0]).cast("string") if len(fields) == 1 else F.to_json(F.struct(*fields))
    return F.when(is_good(), key).otherwise(reserved)


def output_records(rows: DataFrame, pipeline: Pipeline, topics: Mapping[str, str]) -> DataFrame:
    """The Kafka records (topic, key, value) of rows: one for each sink that keeps a row; a report of a malformed row.

    A row that a sink keeps and cannot write, as a field is null or too narrow, is malformed to all of them.

    If a sink's messages have no room for the stamps, all have headers, which hold them. The records of several sinks
    are made within the row: with a union, Spark would do everything before it once per sink.
    """
    sinks = pipeline.sinks
    writable = reduce(lambda so_far, sink: _with_values_of(sink, so_far, pipeline.stream.present), sinks, rows)
    stamped = writable.withColumn("emitted_us", record_codec.wall_clock_us())
    bad = {"topic": F.lit(topics[INVALID]), "key": F.lit(None).cast("binary"), "value": invalid_value()}
    records = [_record(sink, topics, pipeline) for sink in sinks]
    # Beside what is chosen, not in it: within each choice they would be made, and compiled, once more.
    stamps = F.array(*(_header(name) for name in (READ_HEADER, EMITTED_HEADER))).alias("headers")
    headers = [] if all(sink.writes_stamps for sink in sinks) else [stamps]
    if len(sinks) == 1 and sinks[0].keep is None:
        (good,) = records
        chosen = (F.when(is_good(), good[name]).otherwise(bad[name]).alias(name) for name in good)
        return stamped.select(*chosen, *headers)
    row = Row({name: F.col(name) for name in stamped.columns})
    kept = [is_good() if sink.keep is None else is_good() & sink.keep(row) for sink in sinks]
    cases = zip((~is_good(), *kept), (bad, *records), strict=True)
    made = F.array(*(F.when(when, F.struct(*(value.alias(name) for name, value in it.items()))) for when, it in cases))
    there = stamped.select(F.explode(made).alias("record"), *headers).where("record is not null")
    return there.select("record.*", *(["headers"] if headers else []))


def _with_values_of(sink: Sink, rows: DataFrame, present: Names) -> DataFrame:
    nullable = nullable_fields(sink.messages)
    needed = [name for name in sink.needs if name not in present and (name not in nullable or name == sink.key)]
    keep = sink.keep(Row({name: F.col(name) for name in rows.columns})) if sink.keep else F.lit(True)
    rows = refused(rows, keep.isNull() | (keep & _any_null(needed)), InvalidReason.MISSING_VALUE)
    record = sink.messages
    fields = (
        record.fields if isinstance(record, Layout) else () if isinstance(record, Text | Bytes) else record.typed_fields
    )
    unfit = (keep & ~_fits(F.col(field.name), field) for field in fields if field.name in sink.needs)
    return refused(rows, reduce(Column.__or__, unfit, F.lit(False)), InvalidReason.OVERFLOW)


def _fits(column: Column, field: Field | TypedField) -> Column:
    """Whether a value can be written as the field; of a declared type, null can."""
    if isinstance(field, TypedField):
        takes = column.isin(*field.values) if field.values else column.try_cast(field.written).isNotNull()
        takes = takes & F.is_valid_utf8(column.cast("string")) if field.type == "string" else takes
        if field.written == "float":  # what is beyond would become infinite
            limit = F.lit(float("inf"))
            takes = takes & ((F.abs(column.try_cast("float")) < limit) | ~(F.abs(column.try_cast("double")) < limit))
        if field.type == DECIMAL != field.written:  # the digits behind the last one would be cut off
            takes = takes & (column.try_cast(DECIMAL) == column.try_cast(field.written))
        is_whole = column.try_cast("double") % 1 == 0  # of any other number the fraction would be cut off
        takes = takes & is_whole if field.type == "bigint" else takes
        return column.isNull() | takes
    if field.kind is Kind.TEXT:
        return (F.octet_length(column) <= field.width) & (F.octet_length(column) == F.length(column))
    return column.isin(*field.letters) if field.letters else column.between(field.lowest, field.highest)


def _header(stamp: str) -> Column:
    """A header with the row's time of that name; without a value where it has none, as a window has not been read."""
    return F.struct(F.lit(stamp).alias("key"), F.col(stamp).cast("string").cast("binary").alias("value"))


def _record(sink: Sink, topics: Mapping[str, str], pipeline: Pipeline) -> dict[str, Column]:
    """What a sink of the pipeline makes of a row. The key is null without one, and formatted as it is in the value."""
    written: dict[str, Column] = {}
    match sink.messages:
        case Layout() as layout:
            written = {field.name: _formatted(field) for field in layout.fields[1:]}
            value = F.concat(F.lit(layout.letter), *written.values())
        case Text() as text:
            value = _filled_in(text.pattern, any(isinstance(it.messages, Layout) for it in pipeline.sources))
        case Bytes() as any_bytes:
            value = F.col(any_bytes.field).cast("string")  # which leaves bytes as they are
        case Json() | Csv() | Avro() as record:
            columns = [F.col(field.name).cast(field.written).alias(field.name) for field in record.typed_fields]
            typed = F.struct(*(columns or map(F.col, pipeline.stream.fields)))
            match record:
                case Json():
                    value = F.to_json(typed, {"ignoreNullFields": "false"})
                case Csv():
                    value = F.to_csv(typed, record_codec.CSV)
                case Avro():
                    value = record_codec.written_as_avro(record, typed)
    key = F.lit(None) if sink.key is None else written.get(sink.key, F.col(sink.key).cast("string"))
    return {"topic": F.lit(topics[sink.name]), "key": key.cast("binary"), "value": value.cast("binary")}


def invalid_value() -> Column:
    """The report of a malformed message, as JSON."""
    names = F.create_map(*(F.lit(part) for reason in InvalidReason for part in (reason.value, reason.name.lower())))
    return F.to_json(F.struct(names[F.col("reason").cast("int")].alias("reason"), *ORIGIN)).cast("binary")


def _formatted(field: Field) -> Column:
    """The column of that name, as a message has it."""
    column = F.col(field.name)
    match field.kind:
        case Kind.DIGITS:
            return _digits(column, field.width)
        case Kind.SIGNED:
            return F.concat(F.when(column < 0, "-").otherwise("+"), _digits(F.abs(column), field.width - 1))
        case Kind.INTEGER:
            negative = F.concat(F.lit("-"), _digits(-column, field.width - 1))
            return F.when(column < 0, negative).otherwise(_digits(column, field.width))
        case Kind.LETTER:
            return column
        case Kind.TEXT:
            return F.rpad(column, field.width, " ")


def _digits(column: Column, width: int) -> Column:
    return F.lpad(column.cast("string"), width, "0")


def _filled_in(pattern: str, is_padded: bool) -> Column:
    """The pattern with the fields' values, which come without their padding if a layout has given them one."""
    parts = [F.lit("")]
    for literal, name, _, _ in Formatter().parse(pattern):
        text = F.col(name).cast("string") if name else F.lit("")
        parts += [F.lit(literal), F.rtrim(text) if is_padded else text]
    return F.concat(*parts)
