"""The job's columns on static frames, in a real Spark: cutting messages, packing words, the rule, what leaves."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from market_spread.common.wire.codec import decode
from market_spread.common.wire.layout import ALERT, NBBO, ORDER, Layout
from market_spread.controller.plan.plan import state_partition_of
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD
from market_spread.loadgen.market.symbols import universe
from market_spread.streaming import AsOfJoin, Json, Sink, Source, Text
from market_spread.streaming.applications.market_spread import market_spread, too_wide
from market_spread.streaming.modes.micro_batch.as_of_join import frames_of
from market_spread.streaming.modes.real_time import compile as real_time
from market_spread.streaming.modes.real_time.bit_packing import BitField, BitPacking
from market_spread.streaming.modes.real_time.compile import PackedRows
from market_spread.streaming.modes.rows import union_all
from market_spread.streaming.record_codec import count_messages, frames_to_messages, records_to_frames
from market_spread.streaming.testing import open_session
from tests.support.markets import ids_in

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "headers array<struct<key: string, value: binary>>"
)
WRONG_LENGTH, UNKNOWN_KIND, UNREADABLE_FIELD, UNKNOWN_FORMAT = 1, 2, 3, 4
Headers = Sequence[tuple[str, bytes]]
FORMAT_1: Headers = [("format", b"1"), ("sent_us", b"1700000000000500")]

QUOTE = b"QAAPL  000100000000010005001700000000000000000000000007"
ORDER_MESSAGE = b"OAAPL  B0000570000000042+0000010000010000001700000000000100"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """With the settings of a job, and the class path of its JVM, which later tests in this process have too."""
    with open_session("micro-batch", cores=2) as session:
        yield session


@dataclass(frozen=True)
class Record:
    """A Kafka record that is not like the others."""

    value: bytes | None
    headers: Headers | None


Given = bytes | Record | None


@dataclass
class Account:
    discount_bp: int | None


def records(spark: SparkSession, *given: Given, topic: str = "nbbo", partition: int = 1) -> DataFrame:
    """Records of one partition, at the offsets 100, 101 and so on; values alone have our headers."""
    plain = (record if isinstance(record, Record) else Record(record, FORMAT_1) for record in given)
    rows = [(None, record.value, topic, partition, 100 + i, record.headers) for i, record in enumerate(plain)]
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


def test_frame_becomes_a_row_for_each_message(spark: SparkSession) -> None:
    frames = [b"".join(quote(sequence=10 + i) for i in range(count)) for count in (1, 2, 3)]

    rows = read(records(spark, *frames))

    assert [(row["offset"], row["position"], row["sequence"], row["reason"]) for row in rows] == [
        (100, 0, 10, None),
        (101, 0, 10, None),
        (101, 1, 11, None),
        (102, 0, 10, None),
        (102, 1, 11, None),
        (102, 2, 12, None),
    ]
    assert len({row["read_us"] for row in rows if row["offset"] == 102}) == 1


def test_largest_numbers_of_every_field_are_read(spark: SparkSession) -> None:
    largest = b"QZZZZZZ" + b"9" * 48

    row = read(records(spark, largest))[0]

    assert (row["bid"], row["offer"]) == (9_999_999_999, 9_999_999_999)
    assert (row["intended_us"], row["sequence"]) == (9_999_999_999_999_999, 999_999_999_999)
    assert row["reason"] is None


def test_messages_are_counted_malformed_frames_as_one(spark: SparkSession) -> None:
    frames = records_to_frames(records(spark, quote() * 3, b"noise", None), NBBO)

    counted = count_messages(frames, "nbbo")

    assert [row["messages"] for row in counted.orderBy("offset").collect()] == [3, 1, 1]


def test_frame_of_wrong_length_is_one_malformed_row(spark: SparkSession) -> None:
    wrong = [b"", None, b"Q", QUOTE[:-1], QUOTE + b"x", QUOTE + QUOTE[:20], ORDER_MESSAGE, b"\xff\x00\xfe", b"\n"]

    found = faults(records(spark, QUOTE, *wrong, QUOTE))

    assert found == [(100, 0, None), *((offset, 0, WRONG_LENGTH) for offset in range(101, 110)), (110, 0, None)]


def test_a_json_record_without_a_value_is_reported_and_not_taken_as_one_of_nulls(spark: SparkSession) -> None:
    account = Json(Account)

    rows = frames_to_messages(records_to_frames(records(spark, b'{"discount_bp": 50}', None), account), account)

    assert [(row.offset, row.reason) for row in rows.orderBy("offset").collect()] == [(100, None), (101, WRONG_LENGTH)]


UNREADABLE_QUOTES = [
    ("bid", b"00001x0000"),
    ("bid", b"0000100.50"),
    ("bid", b"-00010000-"),
    ("bid", b"--00100000"),
    ("bid", b"+000100000"),
    ("bid", b"-000 10000"),
    ("bid", b"-00001e000"),
    ("bid", b".000100000"),
    ("offer", b"-         "),
    ("intended_us", b"-000000000000017"),
    ("bid", b"          "),
    ("bid", b"1e00000005"),
    ("bid", b"0x00000010"),
    ("bid", b"\x00" * 10),
    ("bid", "١".encode() * 5),
    ("offer", b"NaN       "),
    ("offer", b"000010 500"),
    ("intended_us", b"2026-11-21T14:51"),
    ("sequence", b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6\xf5\xf4"),
    # What Spark's cast would take.
    ("bid", b"   1000000"),
    ("bid", b"001000000 "),
    ("bid", b"+001000000"),
    ("offer", b"\n001000500"),
    ("offer", b"00100050\r\n"),
    ("offer", b"\x7f001000500"),
    ("intended_us", b"+000000000000017"),
    ("intended_us", b"000000000000017\x00"),
    ("sequence", b"00000000007\n"),
    ("sequence", b"\t00000000007"),
    ("sequence", b"0000000000a7"),
]


def test_quote_with_an_unreadable_number_is_malformed_at_its_position(spark: SparkSession) -> None:
    frames = [quote() + replaced(quote(), NBBO, field, text) + quote() for field, text in UNREADABLE_QUOTES]

    found = faults(records(spark, *frames))

    reasons = [(0, None), (1, UNREADABLE_FIELD), (2, None)]
    assert found == [(100 + i, *place) for i in range(len(UNREADABLE_QUOTES)) for place in reasons]


UNREADABLE_ORDERS = [
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
    ("price", b"-00000000-"),
    ("intended_us", b"                "),
    # What Spark's cast would take.
    ("account", b"+00057"),
    ("account", b"-00000"),
    ("account", b"   057"),
    ("order_id", b"000000042 "),
    ("quantity", b"000000100"),
    ("quantity", b"        7"),
    ("quantity", b" +0000100"),
    ("quantity", b"+0000100 "),
    ("quantity", b"+000010\r\n"),
    ("quantity", b",00000100"),
    ("quantity", b"\x7f00000100"),
    ("price", b" 000100000"),
    ("price", b"+000100000"),
    ("intended_us", b"\n000000000000017"),
]


@pytest.mark.parametrize(
    ("layout", "message", "cases"),
    [(NBBO, quote(), UNREADABLE_QUOTES), (ORDER, order(), UNREADABLE_ORDERS)],
    ids=["quotes", "orders"],
)
def test_job_refuses_what_the_codec_refuses(
    spark: SparkSession, layout: Layout, message: bytes, cases: list[tuple[str, bytes]]
) -> None:
    texts = [(field.name, text) for field in layout.fields[2:] for text in _texts(field.width)]
    frame = b"".join(replaced(message, layout, field, text) for field, text in [*cases, *texts])

    reasons = [row["reason"] for row in read(records(spark, frame), layout)]

    assert [reason is None for reason in reasons] == decode(layout, frame).readable.tolist()


def _texts(width: int) -> list[bytes]:
    """Digits, with every byte in turn at the beginning, at the end and in between."""
    digits = b"1" * width
    places = {0, width // 2, width - 1}
    return [digits[:at] + bytes([byte]) + digits[at + 1 :] for at in places for byte in range(128)]


def test_order_with_an_unreadable_field_is_malformed_at_its_position(spark: SparkSession) -> None:
    frames = [order() + replaced(order(), ORDER, field, text) for field, text in UNREADABLE_ORDERS]

    found = faults(records(spark, *frames, topic="orders"), ORDER)

    reasons = [(0, None), (1, UNREADABLE_FIELD)]
    assert found == [(100 + i, *place) for i in range(len(UNREADABLE_ORDERS)) for place in reasons]


def test_unknown_kind_is_told_before_unreadable_fields(spark: SparkSession) -> None:
    unknown = [kind + quote()[1:] for kind in (b"O", b"q", b" ", b"\x00", b"\xff")]
    unreadable_too = replaced(unknown[0], NBBO, "bid", b"0000000bad")

    found = faults(records(spark, quote() + b"".join(unknown) + unreadable_too))

    assert found == [(100, 0, None), *((100, position, UNKNOWN_KIND) for position in range(1, 7))]


def test_frame_of_an_unknown_format_is_one_malformed_row(spark: SparkSession) -> None:
    versions = [b"2", b"", b"1.0", b"\xff", b"11"]
    frames = [Record(QUOTE * 3, [("format", version)]) for version in versions]

    found = faults(records(spark, *frames, Record(b"noise", [("format", b"2")])))

    assert found == [(offset, 0, UNKNOWN_FORMAT) for offset in range(100, 106)]


def test_frame_without_our_headers_is_accepted(spark: SparkSession) -> None:
    frames = [Record(QUOTE, None), Record(QUOTE, []), Record(QUOTE, [("trace", b"x")])]

    rows = read(records(spark, *frames))

    assert [(row["reason"], row["sent_us"], row["bid"]) for row in rows] == [(None, 0, 1_000_000)] * 3


def test_unreadable_time_of_sending_is_taken_as_none(spark: SparkSession) -> None:
    frames = [Record(QUOTE, [("format", b"1"), ("sent_us", text)]) for text in (b"", b"soon", b"\xff\xff")]

    rows = read(records(spark, *frames))

    assert [(row["reason"], row["sent_us"]) for row in rows] == [(None, 0)] * 3


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

PARTS = (BitField("signed", 28, bias=100_000_000), BitField("low", 31), BitField("price", 34))
PACKINGS = {
    "whole": (BitPacking(PARTS, head=BitField("tag", 4)), 2),
    "cut": (BitPacking([*PARTS, BitField("rest", 29)], head=BitField("tag", 4)), 2),
    "on top": (BitPacking(PARTS, on_top=BitField("tag", 40)), 5),
}


@pytest.mark.parametrize("name", PACKINGS)
def test_words_give_back_what_was_packed(spark: SparkSession, name: str) -> None:
    packing, words = PACKINGS[name]
    values = [
        (0, -100_000_000, 0, 0),
        (1, 0, 2**31 - 1, 1),
        (2, -99_999_999, 2**30, 2**34 - 1),
        (8, -1, 1, 2**33),
        (14, 99_999_999, 2**31 - 1, 2**20 + 7),
        (15, 168_435_455, 0, 2**34 - 1),
    ]
    names = ("tag", "signed", "low", "price")
    frame = spark.createDataFrame(values, "tag int, signed bigint, low bigint, price bigint")
    packed = packing.pack({name: F.col(name) for name in names})
    assert len(packed) == packing.words == words

    columns = [column.alias(f"w{i}") for i, column in enumerate(packed)]
    read = [packing.unpack([F.col(f"w{i}") for i in range(words)], name).alias(name) for name in names]
    rows = frame.select(*columns).select("*", *read).orderBy("tag").collect()

    assert [tuple(row[name] for name in names) for row in rows] == values
    assert all(row[f"w{i}"] >= 0 for row in rows for i in range(words))


def test_every_word_compares_as_what_stands_on_top(spark: SparkSession) -> None:
    packing, words = PACKINGS["on top"]
    given = [(1, 99_999_999, 2**31 - 1, 2**34 - 1), (2, -100_000_000, 0, 0)]
    frame = spark.createDataFrame(given, "tag bigint, signed bigint, low bigint, price bigint")
    packed = packing.pack({name: F.col(name) for name in frame.columns})

    largest = frame.agg(*(F.max(column).alias(f"w{i}") for i, column in enumerate(packed)))

    read = [packing.unpack([F.col(f"w{i}") for i in range(words)], name).alias(name) for name in frame.columns]
    assert tuple(largest.select(*read).collect()[0]) == given[1]


def test_word_of_a_null_is_null(spark: SparkSession) -> None:
    packing, _ = PACKINGS["whole"]
    frame = spark.createDataFrame([(1, None)], "tag bigint, low bigint")

    packed = packing.pack({"tag": F.col("tag"), "low": F.col("low")})

    row = frame.select(*(column.isNull().alias(f"w{i}") for i, column in enumerate(packed))).collect()[0]
    assert any(row)


def test_part_wider_than_a_word_is_cut_and_given_back(spark: SparkSession) -> None:
    packing = BitPacking([BitField("wide", 54), BitField("wide too", 54)], on_top=BitField("tag", 40))
    values = {"tag": 2**40 - 1, "wide": 2**54 - 1, "wide too": 12_345_678_901_234_567 % 2**54}
    frame = spark.range(1).select(*(F.lit(value).alias(name) for name, value in values.items()))

    packed = frame.select(*packing.pack({name: F.col(f"`{name}`") for name in values}))
    words = [F.col(f"`{name}`") for name in packed.toDF(*(f"w{i}" for i in range(packing.words))).columns]
    read = packed.toDF(*(f"w{i}" for i in range(packing.words))).select(*(packing.unpack(words, n) for n in values))

    assert tuple(read.collect()[0]) == tuple(values.values())


# The rule


def test_rule_on_columns_is_the_rule_on_arrays(spark: SparkSession) -> None:
    random = np.random.default_rng(7)
    bid = np.concatenate([random.integers(0, 10**10, 500), random.integers(0, 4_000, 1_500)])
    offer = np.clip(bid + random.integers(-700, 700, len(bid)), 0, 10**10 - 1)
    quotes = spark.createDataFrame(
        [(i, int(b), int(o)) for i, (b, o) in enumerate(zip(bid, offer, strict=True))],
        "i int, bid bigint, offer bigint",
    )

    verdicts = quotes.select("i", too_wide(F.col("bid"), F.col("offer")).alias("rejects")).orderBy("i").collect()

    expected = too_wide(bid, offer)
    assert 500 < int(expected.sum()) < 1_500
    assert [row["rejects"] for row in verdicts] == expected.tolist()


# Where a symbol's state is


@pytest.mark.parametrize("partitions", [1, 2, 7, 16])
def test_state_partition_of_a_symbol_is_that_of_the_plan_s_group_key(spark: SparkSession, partitions: int) -> None:
    market = universe(350, 4)
    names = market.names[[*range(5), *market.probe_ids]]
    quotes = b"".join(quote(name.decode().rstrip()) for name in names)
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    try:
        state = market_spread().stream.state
        assert isinstance(state, AsOfJoin)
        packed = PackedRows(market_spread(), state)
        rows = packed.rows({"nbbo": records(spark, quotes), "orders": records(spark, topic="orders")})
        placed = rows.repartition(partitions, packed.key).select(packed.key, F.spark_partition_id()).collect()
        one_by_bucket = [records(spark, QUOTE, partition=bucket) for bucket in range(4)]
        frames = frames_of(market_spread().sources[:1], {"nbbo": union_all(one_by_bucket)})
        by_bucket = frames.repartition(partitions, "bucket").select(F.spark_partition_id()).collect()
        words = frames.repartition(partitions, "bucket").select("words").collect()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 1)

    def state_partitions(mode: str) -> list[int]:
        job = {"mode": mode, "shuffle_partitions": partitions}
        found = state_partition_of(names, DEFAULT_WORKLOAD.changed(job=job, market={"partitions": 4}))
        return [int(partition) for partition in found]

    assert dict(map(tuple, placed)) == dict(
        zip((name.decode() for name in names), state_partitions("real-time"), strict=True)
    )
    of_bucket = {int(words.split(" ")[3]): place for (words,), (place,) in zip(words, by_bucket, strict=True)}
    assert len(of_bucket) == 4
    assert [of_bucket[int(bucket)] for bucket in market.bucket[ids_in(market, names)]] == state_partitions(
        "micro-batch"
    )


# Decisions, and the output


def output(spark: SparkSession, *, quotes: Sequence[Given] = (), orders: Sequence[Given] = ()) -> list[Row]:
    """The Kafka records that the job makes of these frames. One order a symbol: a batch has no order of arrival."""
    given = {"nbbo": records(spark, *quotes), "orders": records(spark, *orders, topic="orders", partition=3)}
    left = real_time.compile_pipeline(market_spread(), given, {"alerts": "the-alerts", "invalid": "the-invalid"})
    assert left.dtypes == [("topic", "string"), ("key", "binary"), ("value", "binary")]
    return left.orderBy("topic", "value").collect()


def alerts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The alerts among them by order id: numbers as int, texts padded with blanks."""
    found = []
    for row in rows:
        if row["topic"] == "the-alerts":
            decoded = decode(ALERT, bytes(row["value"]))
            assert decoded.readable.all()
            assert bytes(row["key"]) == b"%010d" % decoded.ints("order_id")[0]
            found.append({name: column[0] for name, column in decoded.columns.items()})
    return found


def reports(rows: Sequence[Row]) -> list[bytes]:
    assert all(row["key"] is None for row in rows if row["topic"] == "the-invalid")
    return [bytes(row["value"]) for row in rows if row["topic"] == "the-invalid"]


def test_order_in_a_wide_market_leaves_as_an_alert_with_its_quote(spark: SparkSession) -> None:
    rows = output(
        spark,
        quotes=[quote(bid=1_000_000, offer=1_000_500, sequence=12)],
        orders=[order(side="S", quantity=-30, intended_us=1_700_000_000_000_000)],
    )

    assert len(rows) == 1
    alert = alerts(rows)[0]
    assert alert.pop("read_us") <= alert.pop("emitted_us")
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
    }


def test_order_in_a_tight_market_leaves_nothing_and_quotes_leave_nothing(spark: SparkSession) -> None:
    quotes = [quote(bid=1_000_000, offer=1_000_499), quote("MSFT", bid=0, offer=0), quote("CROSS", bid=9_000, offer=0)]

    assert output(spark, quotes=quotes, orders=[order("AAPL"), order("CROSS")]) == []


def test_order_without_a_quote_is_rejected_on_zeros(spark: SparkSession) -> None:
    rows = output(spark, quotes=[quote("MSFT", offer=1_000_100)], orders=[order("AAPL")])

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

    rows = output(spark, quotes=frames, orders=[order("AAPL", order_id=1), order("MSFT", order_id=2)])

    assert [(alert["order_id"], alert["offer"], alert["quote_sequence"]) for alert in alerts(rows)] == [
        (1, 1_009_900, 9)
    ]


def test_prices_of_every_size_come_out_as_they_went_in(spark: SparkSession) -> None:
    prices = [
        (-999_999_999, 9_999_999_999),
        (-999_999_999, -999_999_999),
        (-501, -1),
        (-1, 499),
        (-1_000, -1_000),
        (9_999_999_499, 9_999_999_999),
        (0, 9_999_999_999),
        (0, 0),
        (2_047, 2_548),
        (2_048, 2_548),
        (4_194_303, 4_296_704),
        (8_589_934_592, 8_589_936_640),
    ]
    quotes = [
        quote(f"S{i}", bid=bid, offer=offer, sequence=999_999_999_999 - i) for i, (bid, offer) in enumerate(prices)
    ]
    orders = [order(f"S{i}", order_id=i) for i in range(len(prices))]

    found = alerts(output(spark, quotes=quotes, orders=orders))

    assert [(alert["bid"], alert["offer"]) for alert in found] == prices
    assert [alert["quote_sequence"] for alert in found] == [999_999_999_999 - i for i in range(len(prices))]


def test_orders_at_their_limits_come_out_as_they_went_in(spark: SparkSession) -> None:
    fields = ("symbol", "side", "account", "order_id", "quantity", "price")
    given = [
        ("A", "B", 0, 0, 0, 0),
        ("B", "B", 999_999, 9_999_999_996, 99_999_999, 9_999_999_999),
        ("C", "S", 999_999, 9_999_999_997, 99_999_999, 9_999_999_999),
        ("ZZZZZY", "B", 999_999, 9_999_999_998, -99_999_999, 9_999_999_999),
        ("ZZZZZZ", "S", 999_999, 9_999_999_999, -99_999_999, -999_999_999),
    ]
    orders = [order(**dict(zip(fields, values, strict=True))) for values in given]  # type: ignore[arg-type]

    found = alerts(output(spark, orders=orders))

    assert [
        (a["symbol"].decode().rstrip(), chr(a["side"]), *(a[name] for name in fields[2:])) for a in found
    ] == given  # fmt: skip


def test_time_of_sending_is_told_within_a_quarter_of_an_hour(spark: SparkSession) -> None:
    sent_and_told = [
        (b"1700000000000000", 1_700_000_000_000_000),
        (b"1699999999999999", 1_699_999_999_999_999),
        (b"1700000999999999", 1_700_000_999_999_999),
        (b"1700002000000000", 1_700_001_000_000_000),
        (b"1699990000000000", 1_699_999_000_000_000),
    ]
    orders = [
        Record(order(f"S{i}", order_id=i, intended_us=1_700_000_000_000_000), [("sent_us", sent_us)])
        for i, (sent_us, _) in enumerate(sent_and_told)
    ]

    found = alerts(output(spark, orders=orders))

    assert [alert["sent_us"] for alert in found] == [told_us for _, told_us in sent_and_told]


def test_order_without_a_time_of_sending_is_taken_as_sent_when_intended(spark: SparkSession) -> None:
    found = alerts(output(spark, orders=[Record(order(intended_us=1_700_000_000_000_000), [])]))

    assert [alert["sent_us"] for alert in found] == [1_700_000_000_000_000]


def test_malformed_message_is_reported_with_its_place(spark: SparkSession) -> None:
    bad = replaced(order(), ORDER, "side", b"?")

    rows = output(spark, quotes=[QUOTE, b"noise"], orders=[order("GOOD") + bad])

    assert reports(rows) == [
        b'{"reason":"unreadable_field","topic":"orders","partition":3,"offset":100,"position":1}',
        b'{"reason":"wrong_length","topic":"nbbo","partition":1,"offset":101,"position":0}',
    ]
    assert [alert["order_id"] for alert in alerts(rows)] == [42]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (Record(None, FORMAT_1), "wrong_length"),
        (b"X" + ORDER_MESSAGE[1:], "unknown_kind"),
        (replaced(ORDER_MESSAGE, ORDER, "price", b"abcdefghij"), "unreadable_field"),
        (Record(ORDER_MESSAGE, [("format", b"9")]), "unknown_format"),
    ],
    ids=["wrong_length", "unknown_kind", "unreadable_field", "unknown_format"],
)
def test_every_reason_has_its_name(spark: SparkSession, frame: Given, reason: str) -> None:
    rows = output(spark, orders=[frame])

    assert [json.loads(report)["reason"] for report in reports(rows)] == [reason]
    assert alerts(rows) == []


def test_malformed_quote_changes_no_market(spark: SparkSession) -> None:
    wide_but_unreadable = replaced(quote(offer=1_009_000, sequence=8), NBBO, "bid", b"0000000bad")

    rows = output(spark, quotes=[quote(offer=1_000_100, sequence=7), wide_but_unreadable], orders=[order()])

    assert alerts(rows) == []
    assert len(reports(rows)) == 1


def test_largest_place_of_a_malformed_message_is_told(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(None, b"x", "orders", 2**31 - 1, 2**53, None)], SCHEMA)
    topics = {"alerts": "the-alerts", "invalid": "the-invalid"}

    rows = real_time.compile_pipeline(market_spread(), {"nbbo": records(spark), "orders": frame}, topics).collect()

    assert json.loads(reports(rows)[0]) == {
        "reason": "wrong_length",
        "topic": "orders",
        "partition": 2_147_483_647,
        "offset": 9_007_199_254_740_992,
        "position": 0,
    }


def test_emission_is_stamped_with_the_time_of_day(spark: SparkSession) -> None:
    alert = alerts(output(spark, orders=[order()]))[0]
    now_us: Column = F.unix_micros(F.current_timestamp())

    after_us = spark.range(1).select(now_us.alias("now")).collect()[0]["now"]

    assert after_us - 60_000_000 < alert["emitted_us"] <= after_us


def test_what_has_no_room_for_stamps_has_them_in_its_headers(spark: SparkSession) -> None:
    """A text and the report of a malformed frame; not an alert, which has them as fields."""
    before_us = time.time_ns() // 1000
    lines = Source("nbbo", Text()).to_sink(Sink("lines", Text()), name="lines")
    of_text = real_time.compile_pipeline(
        lines, {"nbbo": records(spark, b"a line")}, {"lines": "lines", "invalid": "invalid"}
    )
    both = Source("nbbo", NBBO).to_sink(Sink("lines", Text("{symbol}")), name="symbols")
    of_frames = real_time.compile_pipeline(
        both, {"nbbo": records(spark, QUOTE, b"short")}, {"lines": "lines", "invalid": "invalid"}
    )

    written = [*of_text.collect(), *of_frames.collect()]

    assert [row["topic"] for row in written] == ["lines", "lines", "invalid"]
    for row in written:
        stamps = {header["key"]: int(header["value"]) for header in row["headers"]}
        assert list(stamps) == ["read_us", "emitted_us"]
        assert before_us <= stamps["read_us"] <= stamps["emitted_us"] <= time.time_ns() // 1000
    pipeline, frames = market_spread(), {"nbbo": records(spark, QUOTE), "orders": records(spark, ORDER_MESSAGE)}
    topics = {name: name for name in (*pipeline.ends, "invalid")}
    assert "headers" not in real_time.compile_pipeline(pipeline, frames, topics).columns
