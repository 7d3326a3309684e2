"""Messages in Avro, as `fastavro` writes and reads them: strangers' schemas, a registry's prefix, malformed ones."""

import io
import json
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from market_spread.streaming import Avro, Json, Map, Pipeline, PipelineError, RunningTotal, Sink, Source
from market_spread.streaming.testing import InputRecord, run

MODES = ("real-time", "micro-batch")
SIDE = {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}
CENTS = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
# What the record does not name stands between what it does, and one type is named by its first use.
TRADE = {
    "type": "record", "name": "Trade", "namespace": "com.example", "fields": [
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "account", "type": {"type": "string", "avro.java.string": "String"}},
        {"name": "opposite", "type": SIDE},
        {"name": "side", "type": ["null", "com.example.Side"]},
        {"name": "quantity", "type": "int"},
        {"name": "inner", "type": ["null", {"type": "record", "name": "Inner", "fields": [
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}}]}]},
        {"name": "price", "type": ["null", CENTS], "default": None},
        {"name": "at_us", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "rate", "type": "float"},
        {"name": "is_open", "type": "boolean"},
    ],
}  # fmt: skip
POSITION = {
    "type": "record", "name": "Position", "fields": [
        {"name": "account", "type": "string"}, {"name": "side", "type": ["null", SIDE]},
        {"name": "comment", "type": ["null", "string"]}, {"name": "quantity", "type": "int"},
        {"name": "price", "type": ["null", CENTS]}, {"name": "at_us", "type": "long"}, {"name": "day", "type": "int"},
        {"name": "rate", "type": "float"}, {"name": "is_open", "type": "boolean"}, {"name": "total", "type": "long"},
    ],
}  # fmt: skip
RAW = json.loads(json.dumps(TRADE).replace('"logicalType": "timestamp-micros"', '"x": 1').replace('"date"', '"none"'))


@dataclass
class Trade:
    account: str
    side: str | None
    quantity: int
    price: Decimal | None
    at_us: int
    day: int
    rate: float
    is_open: bool


@dataclass
class Position(Trade):
    total: int


@dataclass
class Pair:
    word: str
    number: int | None


def encoded(schema: dict[str, Any], value: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), value)
    return buffer.getvalue()


def decoded(schema: dict[str, Any], value: bytes) -> Any:
    buffer = io.BytesIO(value)
    found = fastavro.schemaless_reader(buffer, fastavro.parse_schema(schema), None)
    assert buffer.read() == b"", "there is more behind the record"
    return found


def trades(count: int) -> list[dict[str, Any]]:
    draw = random.Random(18)
    return [
        {
            "tags": ["a"] * draw.randrange(3), "account": draw.choice(["anna", "böb", "", "日本"]),
            "opposite": draw.choice(["BUY", "SELL"]), "side": draw.choice(["BUY", "SELL", None]),
            "quantity": draw.choice([0, -1, 63, 64, -(2**31), 2**31 - 1, draw.randrange(1000)]),
            "inner": draw.choice([None, {"at": draw.randrange(2**50)}]),
            "price": draw.choice([None, Decimal(draw.randrange(-(10**10) + 1, 10**10)).scaleb(-2), Decimal("0.00")]),
            "at_us": draw.choice([0, -5, 2**62, draw.randrange(2**50)]), "day": draw.randrange(-10, 40_000),
            "rate": draw.choice([0.0, 1.5, -2.25, float("inf")]), "is_open": draw.random() < 0.5,
        }
        for _ in range(count)
    ]  # fmt: skip


def totals(source: Avro, sink: Avro) -> Pipeline:
    counted = Source("trades", source).key_by("account").to(RunningTotal("total", into="total", of="quantity"))
    return counted.to_sink(Sink("positions", sink, key="account"), name="positions")


def reasons(found: dict[str, list[bytes]]) -> list[tuple[str, int]]:
    reports = [json.loads(value) for value in found["invalid"]]
    return sorted(((it["reason"], it["offset"]) for it in reports), key=lambda report: report[1])


@pytest.mark.parametrize("mode", MODES, scope="class")
class TestAvro:
    def test_records_of_a_strangers_schema_are_read_and_written_for_a_strangers_reader(self, mode: str) -> None:
        given = trades(200)
        pipeline = totals(Avro(Trade, json.dumps(TRADE)), Avro(Position, json.dumps(POSITION)))
        found = run(pipeline, {"trades": [encoded(RAW, trade) for trade in given]}, mode=mode)
        assert found["invalid"] == []
        sums: dict[str, int] = {}
        expected = []
        for trade in given:
            sums[trade["account"]] = sums.get(trade["account"], 0) + trade["quantity"]
            kept = {name: trade[name] for name in Trade.__dataclass_fields__}
            expected.append({**kept, "comment": None, "total": sums[trade["account"]]})
        by_account = {account: [it for it in expected if it["account"] == account] for account in sums}
        read = [decoded(POSITION, value) for value in found["positions"]]
        assert {account: [it for it in read if it["account"] == account] for account in sums} == by_account

    def test_a_record_without_a_schema_has_one_that_a_strangers_reader_takes(self, mode: str) -> None:
        sink = Avro(Position)
        given = [trade | {"rate": 0.1} for trade in trades(50)]
        found = run(
            totals(Avro(Trade, json.dumps(TRADE)), sink), {"trades": [encoded(RAW, it) for it in given]}, mode=mode
        )
        read = [decoded(json.loads(sink.avro.text), value) for value in found["positions"]]
        prices = [[it["price"] and float(it["price"]) for it in several] for several in (read, given)]
        assert len(read) == 50
        assert sorted(prices[0], key=str) == sorted(prices[1], key=str)

    def test_what_is_malformed_is_reported_and_nothing_else(self, mode: str) -> None:
        trade = trades(1)[0] | {"account": "anna", "side": "BUY", "price": None}
        good = encoded(RAW, trade)
        nameless = json.loads(json.dumps(RAW))
        nameless["fields"][1]["type"] = ["null", {"type": "string", "avro.java.string": "String"}]
        other = Avro(Trade, json.dumps(nameless), registry_id=7)
        no_account = b"\0\0\0\0\7" + encoded(nameless, trade | {"account": None})
        whole = b"\0\0\0\0\7" + encoded(nameless, trade)
        messages = [
            whole, whole[:-1], whole + b"\0", b"", whole[:5], b"\0\0\0\0\x08" + whole[5:], good, no_account,
            whole.replace(b"anna", b"a\xffna"), whole + whole, whole,
        ]  # fmt: skip
        found = run(totals(other, Avro(Position, json.dumps(POSITION), 2**31 - 1)), {"trades": messages}, mode=mode)
        assert [decoded(POSITION, value[5:])["total"] for value in found["positions"]] == [
            trade["quantity"], 2 * trade["quantity"],
        ]  # fmt: skip
        assert {value[:5] for value in found["positions"]} == {b"\0\x7f\xff\xff\xff"}
        assert reasons(found) == [
            ("unreadable_field", 1), ("unreadable_field", 2), ("unknown_format", 3), ("unreadable_field", 4),
            ("unknown_format", 5), ("unknown_format", 6), ("missing_value", 7), ("unreadable_field", 8),
            ("unreadable_field", 9),
        ]  # fmt: skip

    def test_a_message_of_nulls_is_a_message_and_one_of_rubbish_is_none(self, mode: str) -> None:
        @dataclass
        class Note:
            word: str | None
            number: int | None

        pipeline = Source("notes", Avro(Note)).to_sink(Sink("copies", Avro(Note)), name="copies")
        found = run(pipeline, {"notes": [b"\0\0", b"\4", b"\2\2a\2\1", b"\0\0\0"]}, mode=mode)
        assert found["copies"] == [b"\0\0", b"\2\2a\2\1"]
        assert reasons(found) == [("unreadable_field", 1), ("unreadable_field", 3)]

    def test_a_value_that_the_schema_cannot_hold_is_reported(self, mode: str) -> None:
        given = [trade | {"account": str(at), "side": "BUY", "quantity": 1} for at, trade in enumerate(trades(6))]
        schema = json.loads(json.dumps(POSITION).replace('"BUY", "SELL"', '"BUY"'))
        schema["fields"][-1]["type"] = "int"
        changed = [
            given[0] | {"quantity": 2**31 - 1}, given[0] | {"quantity": 5},  # together more than an int
            given[1] | {"side": "SELL"}, given[2] | {"price": Decimal("12345678.90")},
        ]  # fmt: skip
        exact = Map("digits", {"price": lambda row: row.price + Decimal("0.001")})
        source = Source("trades", Avro(Trade, json.dumps(TRADE)))
        totals = source.key_by("account").to(RunningTotal("total", into="total", of="quantity"))
        sink = Sink("positions", Avro(Position, json.dumps(schema)))
        found = run(totals.to_sink(sink, name="it"), {"trades": [encoded(RAW, it) for it in changed]}, mode=mode)
        assert reasons(found) == [("overflow", 1), ("overflow", 2)]
        cut = run(totals.to(exact).to_sink(sink, name="it"), {"trades": [encoded(RAW, changed[3])]}, mode=mode)
        assert (reasons(cut), cut["positions"]) == ([("overflow", 0)], [])

    def test_a_message_that_says_more_than_there_is_ends_no_job(self, mode: str) -> None:
        @dataclass
        class Note:
            text: str
            cents: Decimal | None

        schema = {"type": "record", "name": "Note", "fields": [
            {"name": "text", "type": "string"}, {"name": "cents", "type": ["null", CENTS]},
            {"name": "next", "type": ["null", "Note"]}, {"name": "more", "type": {"type": "array", "items": "null"}},
        ]}  # fmt: skip
        notes = Avro(Note, json.dumps(schema))
        good = notes.encode({"text": "a", "cents": "-0.05", "next": None, "more": []})
        # Texts of 2 GiB, and a hundred thousand records in each other.
        huge = [b"\xfe\xff\xff\xff\x07a", b"\xee\xff\xff\xff\x0f", b"\0\0\2" * 100_000]
        # 2**64 + 5 and 11 digits; Spark takes the last 64 bits of a decimal of ten.
        wide = [b"\2a\2" + bytes([2 * len(n)]) + n + b"\0\0" for n in (b"\1\0\0\0\0\0\0\0\5", b"\2\x54\x0b\xe4\0")]
        copies = Source("notes", notes, key="text_of_key").to_sink(Sink("copies", Json(Note)), name="copies")
        found = run(copies, {"notes": [good, *huge, *wide, good]}, mode=mode)
        assert found["copies"] == [b'{"text":"a","cents":-0.050000000000000000}'] * 2
        assert reasons(found) == [("unreadable_field", at) for at in range(1, 6)]

    def test_a_number_beyond_a_float_is_reported(self, mode: str) -> None:
        @dataclass
        class Rate:
            key_of_it: str | None
            rate: float

        narrow = json.dumps({"type": "record", "name": "Rate", "fields": [
            {"name": "key_of_it", "type": ["null", "string"]}, {"name": "rate", "type": "float"},
        ]})  # fmt: skip
        rates = [0.1, 1e300, -1e39, float("inf"), float("nan"), 3.4e38]
        rows = Source("rates", Avro(Rate)).to_sink(Sink("out", Avro(Rate, narrow)), name="rates")
        given = [Avro(Rate).encode({"key_of_it": None, "rate": rate}) for rate in rates]
        found = run(rows, {"rates": given}, mode=mode)
        assert [str(decoded(json.loads(narrow), value)["rate"])[:4] for value in found["out"]] == [
            "0.10", "inf", "nan", "3.39",
        ]  # fmt: skip
        assert reasons(found) == [("overflow", 1), ("overflow", 2)]

    def test_what_java_refuses_in_a_sink_is_a_sentence(self, mode: str) -> None:
        @dataclass
        class Rate:
            rate: float

        text = json.dumps({"type": "record", "name": "my-rate", "fields": [{"name": "rate", "type": "double"}]})
        rates = Source("rates", Json(Rate)).to_sink(Sink("out", Avro(Rate, text)), name="rates")
        with pytest.raises(PipelineError, match=r"an Avro schema cannot be read: .*my-rate"):
            run(rates, {"rates": []}, mode=mode)

    def test_a_key_may_be_named_as_the_message_is_within(self, mode: str) -> None:
        @dataclass
        class Rate:
            rate: float

        rates = Source("rates", Avro(Rate), key="text").to_sink(Sink("out", Json()), name="rates")
        given = InputRecord(Avro(Rate).encode({"rate": 1.5}), key="EUR")
        assert run(rates, {"rates": [given]}, mode=mode)["out"] == [b'{"rate":1.5,"text":"EUR"}']
