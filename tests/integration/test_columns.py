"""The job's columns on static frames, in a real Spark: cutting messages, packing words, the rule, what leaves."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from market_spread.common.codec import decode
from market_spread.common.layout import ALERT, NBBO, ORDER, Layout
from market_spread.streaming.applications.market_spread import alerts_and_invalid, decide
from market_spread.streaming.frames import count_messages, frames_to_messages, records_to_frames
from market_spread.streaming.rule import too_wide
from market_spread.streaming.words import Part, Word

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "headers array<struct<key: string, value: binary>>"
)
WRONG_LENGTH, UNKNOWN_KIND, UNREADABLE_FIELD, UNKNOWN_FORMAT = 1, 2, 3, 4
Headers = Sequence[tuple[str, bytes]]
FORMAT_1: Headers = [("format", b"1"), ("sent_us", b"1700000000000500")]

QUOTE = b"QAAPL  000100000000010005001700000000000000000000000007"
ORDER_MESSAGE = b"OAAPL  B0000570000000042+0000001000001000000" + b"1700000000000100"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.ansi.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", "1g")
        .config("spark.local.dir", str(tmp_path_factory.mktemp("spark")))
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    yield session
    session.stop()


def records(
    spark: SparkSession,
    *values: bytes | None,
    topic: str = "nbbo",
    partition: int = 1,
    headers: Headers | None = FORMAT_1,
) -> DataFrame:
    """Records of one partition, at the offsets 100, 101 and so on."""
    rows = [(None, value, topic, partition, 100 + i, headers) for i, value in enumerate(values)]
    return spark.createDataFrame(rows, SCHEMA)


def messages(frame: DataFrame, layout: Layout) -> DataFrame:
    return frames_to_messages(records_to_frames(frame, layout), layout)


def read(frame: DataFrame, layout: Layout = NBBO) -> list[Row]:
    return messages(frame, layout).orderBy("offset", "position").collect()


def faults(frame: DataFrame, layout: Layout = NBBO) -> list[tuple[int, int, int | None]]:
    """Offset, position and reason of every message."""
    return [(row["offset"], row["position"], row["reason"]) for row in read(frame, layout)]


def quote(
    symbol: str = "AAPL", *, bid: int = 1_000_000, offer: int = 1_000_500, sequence: int = 7, intended_us: int = 17
) -> bytes:
    return b"Q%-6s%010d%010d%016d%012d" % (symbol.encode(), bid, offer, intended_us, sequence)


def order(
    symbol: str = "AAPL",
    *,
    side: str = "B",
    account: int = 57,
    order_id: int = 42,
    quantity: int = 100,
    price: int = 1_000_000,
    intended_us: int = 17,
) -> bytes:
    return b"O%-6s%c%06d%010d%+09d%010d%016d" % (
        symbol.encode(), ord(side), account, order_id, quantity, price, intended_us,
    )  # fmt: skip


def replaced(message: bytes, layout: Layout, field: str, text: bytes) -> bytes:
    begin = layout.offset(field)
    assert len(text) == layout.field(field).width
    return message[:begin] + text + message[begin + len(text) :]


# Frames into messages


def test_quote_is_cut_into_its_fields(spark: SparkSession) -> None:
    row = read(records(spark, QUOTE))[0].asDict()

    read_us = row.pop("read_us")
    assert row == {
        "kind": "Q",
        "symbol": "AAPL  ",
        "bid": 1_000_000,
        "offer": 1_000_500,
        "intended_us": 1_700_000_000_000_000,
        "sequence": 7,
        "topic": "nbbo",
        "partition": 1,
        "offset": 100,
        "position": 0,
        "sent_us": 1_700_000_000_000_500,
        "reason": None,
    }
    assert 1_700_000_000_000_000 < read_us < 5_000_000_000_000_000


def test_order_is_cut_into_its_fields(spark: SparkSession) -> None:
    sell = replaced(ORDER_MESSAGE, ORDER, "side", b"S")
    sell = replaced(sell, ORDER, "quantity", b"-00000100")

    row = read(records(spark, sell, topic="orders"), ORDER)[0].asDict()

    wanted = {
        "kind": "O",
        "symbol": "AAPL  ",
        "side": "S",
        "account": 57,
        "order_id": 42,
        "quantity": -100,
        "price": 1_000_000,
        "intended_us": 1_700_000_000_000_100,
        "topic": "orders",
        "reason": None,
    }
    assert {name: row[name] for name in wanted} == wanted


@pytest.mark.parametrize("count", [1, 2, 3])
def test_frame_becomes_a_row_for_each_message(spark: SparkSession, count: int) -> None:
    frame = b"".join(quote(sequence=10 + i) for i in range(count))

    rows = read(records(spark, frame, frame))

    assert [(row["offset"], row["position"], row["sequence"]) for row in rows] == [
        (offset, i, 10 + i) for offset in (100, 101) for i in range(count)
    ]
    assert {row["reason"] for row in rows} == {None}
    for offset in (100, 101):
        assert len({row["read_us"] for row in rows if row["offset"] == offset}) == 1


def test_largest_numbers_of_every_field_are_read(spark: SparkSession) -> None:
    largest = b"QZZZZZZ" + b"9" * 48

    row = read(records(spark, largest))[0]

    assert (row["bid"], row["offer"]) == (9_999_999_999, 9_999_999_999)
    assert (row["intended_us"], row["sequence"]) == (9_999_999_999_999_999, 999_999_999_999)
    assert row["reason"] is None


def test_messages_are_counted_malformed_frames_as_one(spark: SparkSession) -> None:
    frames = records_to_frames(records(spark, quote() * 3, b"noise", None), NBBO)

    counted = count_messages(frames, NBBO)

    assert [row["messages"] for row in counted.orderBy("offset").collect()] == [3, 1, 1]


@pytest.mark.parametrize(
    "value",
    [b"", None, b"Q", QUOTE[:-1], QUOTE + b"x", QUOTE + QUOTE[:20], ORDER_MESSAGE, b"\xff\x00\xfe", b"\n"],
    ids=["empty", "null", "a letter", "short", "long", "torn", "an order", "noise bytes", "blank line"],
)
def test_frame_of_wrong_length_is_one_malformed_row(spark: SparkSession, value: bytes | None) -> None:
    assert faults(records(spark, QUOTE, value, QUOTE)) == [(100, 0, None), (101, 0, WRONG_LENGTH), (102, 0, None)]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("bid", b"00001x0000"),
        ("bid", b"0000100.50"),
        ("bid", b"-000100000"),
        ("bid", b"          "),
        ("bid", b"1e00000005"),
        ("bid", b"0x00000010"),
        ("bid", b"\x00" * 10),
        ("bid", "١".encode() * 5),
        ("offer", b"NaN       "),
        ("offer", b"000010 500"),
        ("intended_us", b"2026-11-21T14:51"),
        ("sequence", b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6\xf5\xf4"),
    ],
)
def test_quote_with_an_unreadable_number_is_malformed_at_its_position(
    spark: SparkSession, field: str, text: bytes
) -> None:
    frame = quote() + replaced(quote(), NBBO, field, text) + quote()

    assert faults(records(spark, frame)) == [(100, 0, None), (100, 1, UNREADABLE_FIELD), (100, 2, None)]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("side", b"X"),
        ("side", b"b"),
        ("side", b" "),
        ("side", b"\xff"),
        ("account", b"-00057"),
        ("account", b"five  "),
        ("order_id", b"HMtWvd    "),
        ("quantity", b"+0000x100"),
        ("quantity", b"+00001.00"),
        ("quantity", b"--0000100"),
        ("quantity", b"         "),
        ("price", b"0100.00000"),
        ("price", b"-000000001"),
        ("intended_us", b"                "),
    ],
)
def test_order_with_an_unreadable_field_is_malformed_at_its_position(
    spark: SparkSession, field: str, text: bytes
) -> None:
    frame = order() + replaced(order(), ORDER, field, text)

    assert faults(records(spark, frame, topic="orders"), ORDER) == [(100, 0, None), (100, 1, UNREADABLE_FIELD)]


@pytest.mark.parametrize("kind", [b"O", b"q", b" ", b"\x00", b"\xff"])
def test_unknown_kind_is_told_before_unreadable_fields(spark: SparkSession, kind: bytes) -> None:
    unknown = kind + quote()[1:]
    unreadable_too = replaced(unknown, NBBO, "bid", b"0000000bad")

    assert faults(records(spark, quote() + unknown + unreadable_too)) == [
        (100, 0, None),
        (100, 1, UNKNOWN_KIND),
        (100, 2, UNKNOWN_KIND),
    ]


@pytest.mark.parametrize("version", [b"2", b"", b"1.0", b"\xff", b"11"])
def test_frame_of_an_unknown_format_is_one_malformed_row(spark: SparkSession, version: bytes) -> None:
    frame = records(spark, QUOTE * 3, b"noise", headers=[("format", version)])

    assert faults(frame) == [(100, 0, UNKNOWN_FORMAT), (101, 0, UNKNOWN_FORMAT)]


@pytest.mark.parametrize("headers", [None, [], [("trace", b"x")]], ids=["null", "empty", "others"])
def test_frame_without_our_headers_is_accepted(spark: SparkSession, headers: Headers | None) -> None:
    rows = read(records(spark, QUOTE, headers=headers))

    assert [(row["reason"], row["sent_us"], row["bid"]) for row in rows] == [(None, 0, 1_000_000)]


@pytest.mark.parametrize("sent_us", [b"", b"soon", b"\xff\xff"])
def test_unreadable_time_of_sending_is_taken_as_none(spark: SparkSession, sent_us: bytes) -> None:
    rows = read(records(spark, QUOTE, headers=[("format", b"1"), ("sent_us", sent_us)]))

    assert [(row["reason"], row["sent_us"]) for row in rows] == [(None, 0)]


def test_two_megabytes_of_noise_are_malformed_and_harm_no_other_frame(spark: SparkSession) -> None:
    noise = np.random.default_rng(1).integers(0, 256, 2_000_001, np.uint8).tobytes()
    whole = noise[: 2_000_001 // 55 * 55]

    by_offset = (
        messages(records(spark, QUOTE, noise, whole, QUOTE), NBBO)
        .groupBy("offset", F.col("reason").isNull().alias("good"))
        .agg(F.count("*").alias("rows"), F.max("position").alias("last"))
    )
    found = {(row["offset"], row["good"]): (row["rows"], row["last"]) for row in by_offset.collect()}

    assert len(noise) % 55 != 0
    assert found == {
        (100, True): (1, 0),
        (101, False): (1, 0),
        (102, False): (36_363, 36_362),
        (103, True): (1, 0),
    }


# Words

WORD = Word(Part("tag", 4), Part("signed", 28, bias=100_000_000), Part("low", 31))


@pytest.mark.parametrize(
    ("tag", "signed", "low"),
    [
        (0, -100_000_000, 0),
        (15, 99_999_999, 2**31 - 1),
        (15, 168_435_455, 0),
        (8, -1, 1),
        (0, 0, 2**31 - 1),
        (1, -99_999_999, 2**30),
    ],
)
def test_word_gives_back_what_was_packed(spark: SparkSession, tag: int, signed: int, low: int) -> None:
    frame = spark.createDataFrame([(tag, signed, low)], "tag int, signed bigint, low bigint")
    packed = frame.select(WORD.pack(tag=F.col("tag"), signed=F.col("signed"), low=F.col("low")).alias("word"))

    row = packed.select("word", *(WORD.unpack(F.col("word"), name).alias(name) for name in ("tag", "signed", "low")))

    found = row.collect()[0]
    assert (found["tag"], found["signed"], found["low"]) == (tag, signed, low)
    assert found["word"] >= 0


def test_words_compare_as_their_highest_part_does(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 99_999_999), (2, -100_000_000)], "tag bigint, signed bigint")

    packed = frame.select("tag", WORD.pack(tag=F.col("tag"), signed=F.col("signed")).alias("word"))

    assert [row["tag"] for row in packed.orderBy("word").collect()] == [1, 2]


def test_word_of_a_null_is_null(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, None)], "tag bigint, low bigint")

    assert frame.select(WORD.pack(tag=F.col("tag"), low=F.col("low")).isNull().alias("null")).collect()[0]["null"]


def test_parts_that_need_the_sign_are_refused() -> None:
    with pytest.raises(ValueError, match="64 bits do not fit in 63"):
        Word(Part("a", 32), Part("b", 32))


# The rule


def test_rule_on_columns_is_the_rule_on_arrays(spark: SparkSession) -> None:
    random = np.random.default_rng(7)
    bid = np.concatenate([random.integers(0, 10**10, 500), random.integers(0, 20_000, 1_500)])
    offer = np.clip(bid + random.integers(-700, 700, len(bid)), 0, 10**10 - 1)
    quotes = spark.createDataFrame(
        [(i, int(b), int(o)) for i, (b, o) in enumerate(zip(bid, offer, strict=True))],
        "i int, bid bigint, offer bigint",
    )

    verdicts = quotes.select("i", too_wide(F.col("bid"), F.col("offer")).alias("rejects")).orderBy("i").collect()

    expected = too_wide(bid, offer)
    assert 500 < int(expected.sum()) < 1_500
    assert [row["rejects"] for row in verdicts] == expected.tolist()


# Decisions, and what leaves


def leaving(
    spark: SparkSession,
    *,
    quotes: Sequence[bytes | None] = (),
    orders: Sequence[bytes | None] = (),
    headers: Headers = FORMAT_1,
) -> list[Row]:
    """The Kafka records that the job makes of these frames. One order a symbol: a batch has no order of arrival."""
    decisions = decide(
        messages(records(spark, *quotes, headers=headers), NBBO),
        messages(records(spark, *orders, topic="orders", partition=3, headers=headers), ORDER),
    )
    left = alerts_and_invalid(decisions, alerts_topic="the-alerts", invalid_topic="the-invalid")
    assert left.columns == ["topic", "key", "value"]
    assert dict(left.dtypes)["value"] == "binary"
    return left.orderBy("topic", "value").collect()


def alerts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The alerts among them, their numbers as integers."""
    found = []
    for row in rows:
        if row["topic"] == "the-alerts":
            decoded = decode(ALERT, bytes(row["value"]))
            assert decoded.readable.all()
            assert bytes(row["key"]) == b"%010d" % int(decoded.ints("order_id")[0])
            found.append({name: column[0] for name, column in decoded.columns.items()})
    return found


def reports(rows: Sequence[Row]) -> list[bytes]:
    assert all(row["key"] is None for row in rows if row["topic"] == "the-invalid")
    return [bytes(row["value"]) for row in rows if row["topic"] == "the-invalid"]


def test_order_in_a_wide_market_leaves_as_an_alert_with_its_quote(spark: SparkSession) -> None:
    rows = leaving(
        spark,
        quotes=[quote(bid=1_000_000, offer=1_000_500, sequence=12)],
        orders=[order(side="S", quantity=-30, intended_us=1_700_000_000_000_000)],
    )

    alert = alerts(rows)[0]
    assert len(rows) == 1
    assert alert.pop("read_us") < alert.pop("emitted_us") + 1
    assert alert == {
        "kind": ord("A"),
        "order_id": 42,
        "symbol": b"AAPL  ",
        "side": ord("S"),
        "account": 57,
        "quantity": -30,
        "price": 1_000_000,
        "bid": 1_000_000,
        "offer": 1_000_500,
        "quote_sequence": 12,
        "intended_us": 1_700_000_000_000_000,
        "sent_us": 1_700_000_000_000_500,
    } | {"symbol": alert["symbol"]}
    assert alert["symbol"].ljust(6) == b"AAPL  "


def test_order_in_a_tight_market_leaves_nothing(spark: SparkSession) -> None:
    assert leaving(spark, quotes=[quote(bid=1_000_000, offer=1_000_499)], orders=[order()]) == []


def test_quotes_alone_leave_nothing(spark: SparkSession) -> None:
    assert leaving(spark, quotes=[quote(bid=0, offer=0), quote("MSFT")]) == []


def test_order_without_a_quote_is_rejected_on_zeros(spark: SparkSession) -> None:
    rows = leaving(spark, quotes=[quote("MSFT", offer=1_000_100)], orders=[order("AAPL")])

    alert = alerts(rows)[0]
    assert (alert["bid"], alert["offer"], alert["quote_sequence"]) == (0, 0, 0)


@pytest.mark.parametrize("newest_first", [False, True])
def test_newest_quote_decides_whatever_the_order_of_arrival(spark: SparkSession, newest_first: bool) -> None:
    tight = [quote(bid=1_000_000, offer=1_000_100, sequence=8), quote("MSFT", bid=5, offer=1_005, sequence=1)]
    wide = [
        quote(bid=1_000_000, offer=1_009_900, sequence=9),
        quote("MSFT", bid=1_000_000, offer=1_000_000, sequence=2),
    ]
    frames = [b"".join(wide), b"".join(tight)] if newest_first else [b"".join(tight), b"".join(wide)]

    rows = leaving(spark, quotes=frames, orders=[order("AAPL", order_id=1), order("MSFT", order_id=2)])

    assert [(alert["order_id"], alert["offer"], alert["quote_sequence"]) for alert in alerts(rows)] == [
        (1, 1_009_900, 9)
    ]


@pytest.mark.parametrize(
    ("bid", "offer"),
    [
        (9_999_999_499, 9_999_999_999),
        (0, 9_999_999_999),
        (0, 0),
        (2_047, 2_548),
        (2_048, 2_548),
        (4_194_303, 4_296_704),
        (8_589_934_592, 8_589_936_640),
    ],
)
@pytest.mark.parametrize("sequence", [1, 999_999_999_999])
def test_prices_of_every_size_come_out_as_they_went_in(
    spark: SparkSession, bid: int, offer: int, sequence: int
) -> None:
    rows = leaving(spark, quotes=[quote(bid=bid, offer=offer, sequence=sequence)], orders=[order()])

    alert = alerts(rows)[0]
    assert (alert["bid"], alert["offer"], alert["quote_sequence"]) == (bid, offer, sequence)


@pytest.mark.parametrize("quantity", [99_999_999, -99_999_999, 0])
@pytest.mark.parametrize("side", ["B", "S"])
def test_orders_at_their_limits_come_out_as_they_went_in(spark: SparkSession, quantity: int, side: str) -> None:
    largest = order(
        "ZZZZZZ", side=side, account=999_999, order_id=9_999_999_999, quantity=quantity, price=9_999_999_999,
        intended_us=1_700_000_000_000_000,
    )  # fmt: skip

    alert = alerts(leaving(spark, orders=[largest]))[0]

    assert (alert["account"], alert["order_id"], alert["price"]) == (999_999, 9_999_999_999, 9_999_999_999)
    assert (alert["quantity"], chr(alert["side"]), alert["symbol"]) == (quantity, side, b"ZZZZZZ")


def test_smallest_order_comes_out_as_it_went_in(spark: SparkSession) -> None:
    alert = alerts(leaving(spark, orders=[order("A", account=0, order_id=0, quantity=0, price=0)]))[0]

    assert (alert["account"], alert["order_id"], alert["quantity"], alert["price"]) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("sent_us", "told_us"),
    [
        (b"1700000000000000", 1_700_000_000_000_000),
        (b"1699999999999999", 1_699_999_999_999_999),
        (b"1700000999999999", 1_700_000_999_999_999),
        (b"1700002000000000", 1_700_001_000_000_000),
        (b"1699990000000000", 1_699_999_000_000_000),
    ],
    ids=["at once", "before its time", "late", "too late to be told", "too early to be told"],
)
def test_time_of_sending_is_told_within_a_quarter_of_an_hour(spark: SparkSession, sent_us: bytes, told_us: int) -> None:
    headers = [("format", b"1"), ("sent_us", sent_us)]

    alert = alerts(leaving(spark, orders=[order(intended_us=1_700_000_000_000_000)], headers=headers))[0]

    assert alert["sent_us"] == told_us


def test_malformed_frame_is_reported_with_its_place(spark: SparkSession) -> None:
    rows = leaving(spark, quotes=[QUOTE, b"noise"])

    assert reports(rows) == [b'{"reason":"wrong_length","topic":"nbbo","partition":1,"offset":101,"position":0}']


def test_malformed_message_is_reported_with_its_position(spark: SparkSession) -> None:
    bad = replaced(order(), ORDER, "side", b"?")

    rows = leaving(spark, orders=[order("GOOD") + bad])

    assert reports(rows) == [b'{"reason":"unreadable_field","topic":"orders","partition":3,"offset":100,"position":1}']
    assert [alert["order_id"] for alert in alerts(rows)] == [42]


@pytest.mark.parametrize(
    ("frame", "headers", "reason"),
    [
        (b"", FORMAT_1, "wrong_length"),
        (None, FORMAT_1, "wrong_length"),
        (b"X" + ORDER_MESSAGE[1:], FORMAT_1, "unknown_kind"),
        (replaced(ORDER_MESSAGE, ORDER, "price", b"abcdefghij"), FORMAT_1, "unreadable_field"),
        (ORDER_MESSAGE, [("format", b"9")], "unknown_format"),
    ],
)
def test_every_reason_has_its_name(spark: SparkSession, frame: bytes | None, headers: Headers, reason: str) -> None:
    rows = leaving(spark, orders=[frame], headers=headers)

    assert [json.loads(report)["reason"] for report in reports(rows)] == [reason]
    assert alerts(rows) == []


def test_malformed_quote_changes_no_market(spark: SparkSession) -> None:
    wide_but_unreadable = replaced(quote(offer=1_009_000, sequence=8), NBBO, "bid", b"0000000bad")

    rows = leaving(spark, quotes=[quote(offer=1_000_100, sequence=7), wide_but_unreadable], orders=[order()])

    assert alerts(rows) == []
    assert len(reports(rows)) == 1


def test_largest_place_of_a_malformed_message_is_told(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(None, b"x", "orders", 2**31 - 1, 2**53, None)], SCHEMA)
    decisions = decide(messages(records(spark), NBBO), messages(frame, ORDER))

    rows = alerts_and_invalid(decisions, alerts_topic="the-alerts", invalid_topic="the-invalid").collect()

    assert json.loads(reports(rows)[0]) == {
        "reason": "wrong_length",
        "topic": "orders",
        "partition": 2_147_483_647,
        "offset": 9_007_199_254_740_992,
        "position": 0,
    }


def test_emission_is_stamped_with_the_time_of_day(spark: SparkSession) -> None:
    alert = alerts(leaving(spark, orders=[order()]))[0]
    now_us: Column = F.unix_micros(F.current_timestamp())

    after_us = spark.range(1).select(now_us.alias("now")).collect()[0]["now"]

    assert after_us - 60_000_000 < alert["emitted_us"] <= after_us


def test_alert_is_as_wide_as_its_layout(spark: SparkSession, tmp_path: Path) -> None:
    rows = leaving(spark, orders=[order("A")])

    assert len(bytes(rows[0]["value"])) == 144
