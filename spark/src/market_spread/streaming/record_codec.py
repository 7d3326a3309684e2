"""Records into rows: one row per message, with its fields and origin; malformed ones are marked with the reason.

It uses only built-in columns, because Real-Time Mode takes no others.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from market_spread.common.wire.layout import FORMAT_HEADER, FORMAT_VERSION, SENT_HEADER, InvalidReason, Kind, Layout
from market_spread.streaming.messages import DECIMAL, Avro, Bytes, Csv, Json, Messages, Names, PipelineError, Text

_MALFORMED, _TEXT = "_malformed", "_text"
_UNREADABLE = InvalidReason.UNREADABLE_FIELD.value
CSV = {"escape": '"', "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}  # as RFC 4180 has it
MESSAGES_METRIC = "messages"  # in the progress of a batch, once per source
_END = bytes(range(0xF0, 0x100))  # put behind an Avro message, whose reader says nothing of what it leaves


def wall_clock_us() -> Column:
    """Unix microseconds now, evaluated for every row (`current_timestamp` is constant within a batch)."""
    return F.unix_micros(F.reflect(F.lit("java.time.Instant"), F.lit("now")).cast("timestamp"))


def record_columns(*, key: str | None, timestamp: str | None, headers: Mapping[str, str]) -> list[Column]:
    """What a Kafka record has besides its value, by the names of these fields; see `Source`."""
    columns = {name: _header(header) for name, header in headers.items()}
    columns |= {key: F.col("key").cast("string")} if key else {}
    columns |= {timestamp: F.unix_micros("timestamp")} if timestamp else {}
    return [column.alias(name) for name, column in columns.items()]


def records_to_frames(records: DataFrame, messages: Messages, more: Sequence[Column] = ()) -> DataFrame:
    """Kafka records into frames: value, topic, partition, offset, sent_us, read_us, frame_reason, messages.

    `messages` is the number of rows that the frame becomes: one, with its reason in `frame_reason`, if it is not a
    whole number of messages. A record without a layout is one message. The time of reading is taken here,
    once per record. more: columns of the record that frames have, too.
    """
    known_format = F.coalesce(_header(FORMAT_HEADER), F.lit(FORMAT_VERSION)) == FORMAT_VERSION
    if not isinstance(messages, Layout):
        is_whole, count = F.col("value").isNotNull(), F.lit(1)
    else:
        length = F.length("value")
        is_whole = F.coalesce((length > 0) & (length % messages.width == 0), F.lit(False))
        count = F.when(F.col("frame_reason").isNull(), (length / messages.width).cast("int")).otherwise(1)
    reason = F.when(~known_format, InvalidReason.UNKNOWN_FORMAT.value)
    return records.select(
        "value", "topic", F.col("partition").cast("bigint").alias("partition"), "offset",
        F.coalesce(_header(SENT_HEADER).try_cast("bigint"), F.lit(0)).cast("bigint").alias("sent_us"),
        wall_clock_us().alias("read_us"),
        reason.when(~is_whole, InvalidReason.WRONG_LENGTH.value).alias("frame_reason"), *more,
    ).withColumn("messages", count)  # fmt: skip


def count_messages(frames: DataFrame, source: str) -> DataFrame:
    """The same frames; the query's progress then counts the source's messages in each committed batch."""
    return frames.observe(f"{source}_messages", F.sum("messages").alias(MESSAGES_METRIC))


def frames_to_messages(frames: DataFrame, messages: Messages, more: Names = ()) -> DataFrame:
    """Frames into messages: their fields, topic, partition, offset, position, sent_us, read_us, reason, and `more`.

    A layout's numbers are bigint, its other fields string; text has the single field `text`, and bytes have their own.
    `reason` is null for a readable message, else the code of an InvalidReason; the fields of such a row must not be
    used.
    """
    if not isinstance(messages, Layout):
        value, problem = F.col("value").cast("string"), F.when(~F.is_valid_utf8("value"), _UNREADABLE)
        name = "text" if isinstance(messages, Text) else messages.field if isinstance(messages, Bytes) else _TEXT
        if isinstance(messages, Bytes):
            value, problem = F.col("value"), F.lit(None)
        elif isinstance(messages, Avro):
            value = F.substring("value", len(messages.prefix) + 1, 2**31 - 1)
            problem = F.when(~F.startswith("value", F.lit(messages.prefix)), InvalidReason.UNKNOWN_FORMAT.value)
        whole = frames.select(
            value.alias(name), "topic", "partition", "offset", F.lit(0).alias("position"), "sent_us", "read_us",
            F.coalesce("frame_reason", problem).alias("reason"), *more,
        )  # fmt: skip
        return whole if isinstance(messages, Text | Bytes) else _parsed(whole, messages)
    position = F.explode(F.sequence(F.lit(0), F.col("messages") - 1)).alias("position")
    source = ("topic", "partition", "offset", "sent_us", "read_us", "frame_reason", *more)
    rows = frames.select("value", *source, position)
    texts = {field: _text(messages, messages.offset(field.name), field.width) for field in messages.fields}
    fields = ((text.try_cast("bigint") if field.is_number else text).alias(field.name) for field, text in texts.items())
    cut = rows.select(*fields, _strict(messages).alias("strict"), *source, "position")
    reason = F.coalesce("frame_reason", _message_reason(messages))
    return cut.withColumn("reason", reason).drop("frame_reason", "strict")


def _parsed(rows: DataFrame, messages: Json | Csv | Avro) -> DataFrame:
    """Texts, or the bytes of Avro, as records."""
    parsed, record, readable = _avro(messages) if isinstance(messages, Avro) else _texts(messages)
    missing = F.lit(False)
    for field in messages.typed_fields:
        value = record[field.name]
        if field.written != field.type:
            readable = readable & (value.isNull() | value.try_cast(field.written).isNotNull())
        if isinstance(messages, Avro) and field.type == "string":
            readable = readable & F.coalesce(F.is_valid_utf8(value), F.lit(True))
        readable = readable & F.coalesce(value.isin(*field.values), F.lit(True)) if field.values else readable
        missing = missing if field.is_nullable else missing | value.isNull()
    reason = F.coalesce("reason", F.when(~readable, _UNREADABLE).when(missing, InvalidReason.MISSING_VALUE.value))
    fields = (record[field.name].cast(field.type).alias(field.name) for field in messages.typed_fields)
    others = (name for name in rows.columns if name not in (_TEXT, "reason"))
    return rows.withColumn("_parsed", parsed).select(*fields, *others, reason.alias("reason"))


def _avro(messages: Avro) -> tuple[Column, Column, Column]:
    """The value of `_parsed`, the record in it, and whether that is the whole message.

    Spark reads nothing behind the end of a record, so that is put where something known must follow.
    """
    written, read = (_with_end(text) for text in (messages.avro.text, messages.avro.only(messages.fields)))
    parsed = from_avro(F.concat(_TEXT, F.lit(_END)), written, {"mode": "FAILFAST", "avroSchema": read})
    is_whole = F.coalesce(F.col("_parsed.end") == F.lit(_END), F.lit(False))
    # In the other mode an unreadable message is one of which all fields are null.
    return null_if_it_raises(parsed), F.col("_parsed.only"), is_whole


def _with_end(schema: str) -> str:
    end = {"type": "fixed", "name": "market_spread_end", "size": len(_END)}
    both = [{"name": "only", "type": json.loads(schema)}, {"name": "end", "type": end}]
    return _parsed_by_java(json.dumps({"type": "record", "name": "market_spread_both", "fields": both}))


def _parsed_by_java(schema: str) -> str:
    """The schema. PipelineError if Avro's Java, which is stricter than fastavro, refuses it."""
    jvm: Any = SparkSession.active()._jvm
    try:
        jvm.org.apache.avro.Schema.Parser().parse(schema)
    except Py4JJavaError as error:
        why = error.java_exception.getMessage()
        raise PipelineError(f"an Avro schema cannot be read: {why}; write it as Avro specifies") from None
    return schema


def written_as_avro(messages: Avro, record: Column) -> Column:
    """The bytes of messages with the fields of this struct."""
    return F.concat(F.lit(messages.prefix), to_avro(record, _parsed_by_java(messages.avro.text)))


def null_if_it_raises(column: Column) -> Column:
    """The column, null where it raises.

    To Spark the attempt is the body of a function of an array: of any other expression Spark may calculate parts that
    occur twice before it, where nothing catches what they raise.
    """
    sql: Any = SparkSession.active()._jvm.org.apache.spark.sql  # type: ignore[union-attr]
    of = sql.classic.ExpressionUtils

    def attempt(_: Column) -> Column:
        return Column(of.column(sql.catalyst.expressions.TryEval(of.expression(column._jc))))

    return F.get(F.transform(F.array(F.lit(0)), attempt), F.lit(0))


def _texts(messages: Json | Csv) -> tuple[Column, Column, Column]:
    """As `_avro`. Spark says of each text what is malformed in a field of its own.

    It reads nothing behind the end of a JSON value, so the text is put where nothing else may follow.
    """
    options, record = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _MALFORMED}, F.col("_parsed")
    if isinstance(messages, Csv):
        parse, options, text, schema = F.from_csv, options | CSV, F.col(_TEXT), messages.schema
    else:
        parse, text = F.from_json, F.concat(F.lit('{"only":['), _TEXT, F.lit('],"end":0}'))
        schema = f"only array<struct<{messages.schema}>>, end int"
        # A text with brackets can end the array and begin another one.
        is_alone = ~F.col(_TEXT).rlike(r"\]\s*,") | (F.array_join(F.json_object_keys(text), " ") == "only end")
        record = F.when((F.size("_parsed.only") == 1) & is_alone, F.get("_parsed.only", F.lit(0)))
    parsed = parse(text, f"{schema}, `{_MALFORMED}` string", options)
    readable = record.isNotNull() & F.col(f"_parsed.{_MALFORMED}").isNull()
    for field in messages.typed_fields:
        if field.type == DECIMAL:  # Spark leaves commas out: "1,5" is 15 to it
            texts = parse(_TEXT, messages.schema.replace(DECIMAL, "string"), options)
            has_comma = F.when(F.col(_TEXT).rlike('"[^"]*,'), texts[field.name].contains(","))
            readable = readable & ~F.coalesce(has_comma, F.lit(False))
    return parsed, record, readable


def _text(layout: Layout, offset: int, width: int) -> Column:
    start = F.col("position") * layout.width + (offset + 1)
    return F.substring("value", start, F.lit(width)).cast("string")


def _strict(layout: Layout) -> Column:
    """Whether numbers have digits and signs where the layout has them.

    Spark's cast also takes blanks and other signs; `unhex` takes neither, and checks adjacent fields in one call.
    """
    strict = _digits(layout, Kind.SIGNED)
    if any(field.kind is Kind.INTEGER for field in layout.fields):
        # Negative numbers are rare: only they are checked field by field.
        strict = strict | _digits(layout, Kind.SIGNED, Kind.INTEGER)
    for field in layout.fields:
        if field.kind is Kind.SIGNED:
            strict = strict & _text(layout, layout.offset(field.name), 1).isin("+", "-")
    return strict


def _digits(layout: Layout, *signed: Kind) -> Column:
    """Whether numbers have only digits, after a sign in the signed kinds."""
    places = ""  # 0 for each byte that is to be a digit
    for field in layout.fields:
        others = int(field.kind in signed) if field.is_number else field.width
        places += "." * others + "0" * (field.width - others)
    digits = F.lit(True)
    for run in re.finditer("0+", places):
        digits = digits & F.unhex(_text(layout, run.start(), len(run[0]))).isNotNull()
    for field in layout.fields:
        if field.kind is Kind.INTEGER and Kind.INTEGER in signed:
            digits = digits & _text(layout, layout.offset(field.name), 1).isin("-", *map(str, range(10)))
    return digits


def _message_reason(layout: Layout) -> Column:
    readable = F.col("strict")
    for field in layout.fields[1:]:
        if field.is_number:
            readable = readable & F.col(field.name).isNotNull()
        elif field.kind is Kind.LETTER:
            readable = readable & F.col(field.name).isin(*field.letters)
    kind = F.col(layout.fields[0].name) == layout.letter
    return F.when(~kind, InvalidReason.UNKNOWN_KIND.value).when(~readable, _UNREADABLE)


def _header(name: str) -> Column:
    """The value of a Kafka header as text, null if the record has no such header."""
    return F.get(F.filter("headers", lambda header: header["key"] == name), F.lit(0))["value"].cast("string")
