"""Avro schemas and messages, without Spark: what a record may be, and what is refused before a JVM starts."""

import json
from dataclasses import dataclass, make_dataclass
from decimal import Decimal
from time import process_time
from typing import Any, Literal

import pytest

from market_spread.common.errors import UsageError
from market_spread.streaming import Avro, Json, PipelineError, Sink, Source


@dataclass
class Trade:
    side: Literal["BUY", "SELL"]
    amount: Decimal | None
    at_us: int


SIDE = {"type": "enum", "name": "Side", "namespace": "com.example", "symbols": ["BUY", "SELL", "SHORT"]}
AMOUNT = {"type": "fixed", "name": "Cents", "size": 8, "logicalType": "decimal", "precision": 12, "scale": 2}
TIME = {"type": "long", "logicalType": "timestamp-micros"}


def schema(**changed: Any) -> str:
    types = {"side": SIDE, "amount": ["null", AMOUNT], "at_us": TIME} | changed
    fields = [{"name": name, "type": of} for name, of in types.items() if of is not None]
    return json.dumps({"type": "record", "name": "Trade", "fields": fields})


def test_fields_are_of_the_record_and_written_as_the_schema_has_them() -> None:
    side, amount, at_us = Avro(Trade, schema()).typed_fields
    assert (side.type, side.written, side.values, side.is_nullable) == ("string", "string", ("BUY", "SELL"), False)
    assert (amount.type, amount.written, amount.is_nullable) == ("decimal(38,18)", "decimal(12,2)", True)
    assert (at_us.type, at_us.written) == ("bigint", "bigint")
    assert Avro(Trade, schema(at_us="int")).typed_fields[2].written == "int"
    assert not Avro(Trade, schema(amount=AMOUNT)).typed_fields[1].is_nullable


def test_a_type_that_another_field_defines_is_found() -> None:
    fields = json.loads(schema())["fields"]
    first = {"name": "opposite", "type": SIDE}
    named = {"name": "side", "type": ["null", "com.example.Side"]}
    trade = Avro(Trade, json.dumps({"type": "record", "name": "Trade", "fields": [first, named, *fields[1:]]}))
    only = json.loads(trade.avro.only(trade.fields))
    assert [field["name"] for field in only["fields"]] == ["side", "amount", "at_us"]
    assert only["fields"][0]["type"][1]["symbols"] == ["BUY", "SELL", "SHORT"]


def test_a_message_is_encoded_with_its_number_and_decoded() -> None:
    trades = Avro(Trade, schema(note=["null", "string"]), registry_id=258)
    record = {"side": "SELL", "amount": "12.50", "at_us": 5, "note": "hi"}
    message = trades.encode(record)
    assert message == b"\0\0\0\1\2" + b"\2" + b"\2" + (1250).to_bytes(8, "big") + b"\x0a" + b"\2\4hi"
    assert trades.decode(message) == record | {"amount": Decimal("12.50")}


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"side": "HOLD", "amount": None, "at_us": 5}, "HOLD"),
        ({"side": "BUY", "amount": None, "at_us": 2**63}, "9223372036854775808"),
        ({"side": "BUY", "amount": None, "at_us": None}, "at_us"),
        ({"side": "BUY", "amount": None}, "at_us"),
        ({"side": "BUY", "amount": None, "at_us": 5, "more": 1}, "more"),
        ({"side": "BUY", "amount": "1.234", "at_us": 5}, "1.234"),
        ({"side": "BUY", "amount": "much", "at_us": 5}, "much"),
        ({"side": "BUY", "amount": "1e9999", "at_us": 5}, "1e9999"),
        ({"side": "BUY", "amount": Decimal("1e9999"), "at_us": 5}, "1E+9999"),
        ([5], "5"),
    ],
)
def test_what_is_no_record_of_the_schema_is_refused(record: Any, says: str) -> None:
    with pytest.raises(UsageError, match="is no record of its Avro schema") as error:
        Avro(Trade, schema()).encode(record)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("message", [b"", b"\0\0\0\0\7", b"\0\0\0\0\7\2\0", b"\0\0\0\0\7\2\0\2\0", b"\2\0\2"])
def test_a_malformed_message_is_refused(message: bytes) -> None:
    with pytest.raises(UsageError, match=r"does not begin with|is no record"):
        Avro(Trade, schema(), 7).decode(message)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "cannot be read"), ("5", "cannot be read"), ('"string"', "cannot be read"), ("[]", "cannot be read"),
        ('{"type": "record", "name": "R"}', "which has"), (schema(amount="money"), "cannot be read"),
        (schema().replace('"at_us"', '"side"'), "each field once"),
        (schema(at_us=None), "Trade.at_us is not in its Avro schema, which has side, amount"),
        (schema(at_us="string"), "Trade.at_us is bigint to Spark, and in its Avro schema"),
        (schema(at_us=["null", "int", "long"]), "Trade.at_us is bigint"), (schema(at_us=[]), "Trade.at_us is bigint"),
        (schema(at_us="null"), "Trade.at_us is bigint"), (schema(amount="double"), "Trade.amount is decimal"),
        (schema(amount={"type": "bytes", "logicalType": "decimal"}), "Trade.amount is decimal"),
        (schema(amount={"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 2}), "Trade.amount is"),
        (schema(amount={"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 19}), "Trade.amount is"),
        (schema(amount={"type": "string", "logicalType": "decimal", "precision": 9}), "Trade.amount is decimal"),
        (schema(amount={"type": "bytes", "logicalType": "decimal", "precision": 0}), "Trade.amount is decimal"),
        (schema(amount={"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": None}), "Trade.amount is"),
        (schema(at_us=["null", ["int"]]), "Trade.at_us is bigint"),
        (schema(note="X").replace('"X"', '{"type": ' * 20_000 + '"int"' + "}" * 20_000), "cannot be read"),
        (schema(side={"type": "enum", "name": "S", "symbols": ["BUY"]}), "takes 'SELL', and its Avro schema only BUY"),
    ],
)  # fmt: skip
def test_a_schema_that_is_not_the_records_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        Avro(Trade, text)
    assert says in str(error.value)


@pytest.mark.parametrize("registry_id", [-1, 2**31, "7", 1.0])
def test_a_number_that_no_registry_has_is_refused(registry_id: Any) -> None:
    with pytest.raises(PipelineError, match="is no number of a schema"):
        Avro(Trade, None, registry_id)


def test_without_a_record_it_is_refused() -> None:
    with pytest.raises(PipelineError, match="names no record"):
        Avro()


def test_a_sink_needs_all_that_its_schema_needs() -> None:
    wide = Avro(Trade, schema(venue="string", note=["null", "string"]))
    assert Source("trades", wide).to_sink(Sink("out", Json()), name="it").sources[0].fields == wide.fields
    with pytest.raises(PipelineError, match="the sink 'out' writes no 'venue', which its Avro schema needs"):
        Sink("out", wide)
    assert Sink("out", Avro(Trade, schema(note=["null", "string"]))).needs == wide.fields


def test_a_field_that_is_only_the_key_is_none_of_the_message() -> None:
    @dataclass
    class Venue:
        venue: str

    text = json.dumps({"type": "record", "name": "V", "fields": [
        {"name": "venue", "type": "string"}, {"name": "at_us", "type": "long"}, {"name": "emitted_us", "type": "long"},
    ]})  # fmt: skip
    with pytest.raises(PipelineError, match="the sink 'out' writes no 'at_us'"):
        Sink("out", Avro(Venue, text), key="at_us")

    @dataclass
    class Stamped(Venue):
        at_us: int
        emitted_us: int

    assert Sink("out", Avro(Stamped, text)).needs == ("venue", "at_us")


def test_a_wide_record_is_declared_at_once() -> None:
    wide = make_dataclass("Wide", [(f"f{number}", int) for number in range(200)])
    fields = [{"name": f"f{number}", "type": "long"} for number in range(200)]
    begun = process_time()
    messages = Avro(wide, json.dumps({"type": "record", "name": "Wide", "fields": fields}))
    copies = Source("in", messages).to_sink(Sink("out", messages), name="copies")
    assert len(copies.stream.fields) == 200
    assert process_time() - begun < 2  # a minute, when each field had the whole schema read
