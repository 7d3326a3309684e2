"""Records into rows: one row per message, with its fields and origin; malformed ones are marked with the reason.

It uses only built-in columns, because Real-Time Mode takes no others.
"""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.common.wire.layout import FORMAT_HEADER, FORMAT_VERSION, SENT_HEADER, InvalidReason, Kind, Layout
from market_spread.streaming.operators.stateless import Text

MESSAGES_METRIC = "messages"  # in the progress of a batch, once per source


def wall_clock_us() -> Column:
    """Unix microseconds now, evaluated for every row (`current_timestamp` is constant within a batch)."""
    return F.unix_micros(F.reflect(F.lit("java.time.Instant"), F.lit("now")).cast("timestamp"))


def records_to_frames(records: DataFrame, messages: Layout | Text) -> DataFrame:
    """Kafka records into frames: value, topic, partition, offset, sent_us, read_us, frame_reason, messages.

    `messages` is the number of rows that the frame becomes: one, with its reason in `frame_reason`, if it is not a
    whole number of messages. A text record is one message. The time of reading is taken here, once per record.
    """
    format_version = _header(FORMAT_HEADER)
    known_format = F.coalesce(format_version, F.lit(FORMAT_VERSION)) == FORMAT_VERSION
    reason = F.when(~known_format, _code(InvalidReason.UNKNOWN_FORMAT)).when(
        ~F.coalesce(_is_whole(messages), F.lit(False)), _code(InvalidReason.WRONG_LENGTH)
    )
    frames = records.select(
        "value",
        "topic",
        F.col("partition").cast("bigint").alias("partition"),
        "offset",
        F.coalesce(_header(SENT_HEADER).try_cast("bigint"), F.lit(0)).cast("bigint").alias("sent_us"),
        wall_clock_us().alias("read_us"),
        reason.alias("frame_reason"),
    )
    if isinstance(messages, Text):
        return frames.withColumn("messages", F.lit(1))
    count = (F.length("value") / messages.width).cast("int")
    return frames.withColumn("messages", F.when(F.col("frame_reason").isNull(), count).otherwise(1))


def count_messages(frames: DataFrame, source: str) -> DataFrame:
    """The same frames; the query's progress then counts the source's messages in each committed batch."""
    return frames.observe(f"{source}_messages", F.sum("messages").alias(MESSAGES_METRIC))


def frames_to_messages(frames: DataFrame, messages: Layout | Text) -> DataFrame:
    """Frames into messages: their fields, topic, partition, offset, position, sent_us, read_us, reason.

    Numbers are bigint, other fields string; text has the single field `text`. `reason` is null for a readable message,
    else the code of an InvalidReason; the fields of such a row must not be used.
    """
    if isinstance(messages, Text):
        return frames.select(
            F.col("value").cast("string").alias("text"),
            *("topic", "partition", "offset"),
            F.lit(0).alias("position"),
            *("sent_us", "read_us"),
            F.col("frame_reason").alias("reason"),
        )
    return _cut(frames, messages)


def _cut(frames: DataFrame, layout: Layout) -> DataFrame:
    position = F.explode(F.sequence(F.lit(0), F.col("messages") - 1)).alias("position")
    source = ("topic", "partition", "offset", "sent_us", "read_us", "frame_reason")
    rows = frames.select("value", *source, position)
    fields = (_field(layout, field.name).alias(field.name) for field in layout.fields)
    cut = rows.select(*fields, _strict(layout).alias("strict"), *source, "position")
    return cut.withColumn("reason", F.coalesce("frame_reason", _message_reason(layout))).drop("frame_reason", "strict")


def _is_whole(messages: Layout | Text) -> Column:
    if isinstance(messages, Text):
        return F.col("value").isNotNull()
    length = F.length("value")
    return (length > 0) & (length % messages.width == 0)


def _field(layout: Layout, name: str) -> Column:
    field = layout.field(name)
    text = _text(layout, layout.offset(name), field.width)
    return text.try_cast("bigint") if field.is_number else text


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
    digits = F.lit(True)
    for offset, width in _digit_blocks(layout, signed):
        digits = digits & F.unhex(_text(layout, offset, width)).isNotNull()
    if Kind.INTEGER in signed:
        for field in layout.fields:
            if field.kind is Kind.INTEGER:
                digits = digits & _text(layout, layout.offset(field.name), 1).isin("-", *map(str, range(10)))
    return digits


def _digit_blocks(layout: Layout, signed: Collection[Kind]) -> list[tuple[int, int]]:
    """Offset and width of each run of digits, across adjacent fields, without the signs."""
    blocks: list[tuple[int, int]] = []
    for field in layout.fields:
        if not field.is_number:
            continue
        sign = 1 if field.kind in signed else 0
        offset, width = layout.offset(field.name) + sign, field.width - sign
        if blocks and sum(blocks[-1]) == offset:
            before, width_before = blocks.pop()
            offset, width = before, width_before + width
        blocks.append((offset, width))
    return blocks


def _message_reason(layout: Layout) -> Column:
    readable = F.col("strict")
    for field in layout.fields:
        if field.is_number:
            readable = readable & F.col(field.name).isNotNull()
    for field in layout.fields[1:]:
        if field.kind is Kind.LETTER:
            readable = readable & F.col(field.name).isin(*field.letters)
    kind = F.col(layout.fields[0].name) == layout.letter
    return F.when(~kind, _code(InvalidReason.UNKNOWN_KIND)).when(~readable, _code(InvalidReason.UNREADABLE_FIELD))


def _header(name: str) -> Column:
    """The value of a Kafka header as text, null if the record has no such header."""
    return F.get(F.filter("headers", lambda header: header["key"] == name), F.lit(0))["value"].cast("string")


def _code(reason: InvalidReason) -> Column:
    return F.lit(reason.value)
