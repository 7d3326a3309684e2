"""Messages of any form, nulls and malformed ones: the same answer in each mode, and nothing lost."""

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import pytest
from pyspark.sql import functions as F

from market_spread.streaming import (
    AsOfJoin,
    Csv,
    Deduplicate,
    Field,
    Filter,
    FlatMap,
    IntervalJoin,
    Json,
    Kind,
    Layout,
    Map,
    MapBatches,
    Pipeline,
    RangeWindow,
    Row,
    RunningTotal,
    SessionWindow,
    Sink,
    Source,
    StatefulMap,
    Stream,
    Text,
)
from market_spread.streaming.testing import InputRecord, run

MODES = ("real-time", "micro-batch")


@dataclass
class Trade:
    account: str
    side: Literal["buy", "sell"]
    quantity: int
    price: Decimal | None = None
    at_us: int = 0


@dataclass
class Paid:
    account: str
    price: float


@dataclass
class PaidExactly:
    account: str
    price: Decimal


@dataclass
class Quote:
    account: str
    side: str
    number: int
    bid: int | None
    at_us: int


@dataclass
class Position:
    account: str
    quantity: int
    price: Decimal | None
    total: int


def trade(account: str, quantity: object, at_us: int = 0, **more: object) -> str:
    return json.dumps({"account": account, "side": "buy", "quantity": quantity, "at_us": at_us, **more})


def reasons(invalid: Iterable[bytes]) -> list[tuple[str, int | None]]:
    """Each with the offset of its record, in the order of the input."""
    reports = [json.loads(report) for report in invalid]
    return sorted(((it["reason"], it.get("offset")) for it in reports), key=lambda it: (it[1] or 0, it[0]))


# One mode after the other, so that each has one session; the classes below use the last one.


@pytest.mark.parametrize("mode", MODES, scope="class")
class TestInEveryMode:
    def test_json_comes_and_goes_as_its_records_say(self, mode: str) -> None:
        trades = Source("trades", Json(Trade)).key_by("account").to(RunningTotal("total", into="total", of="quantity"))
        pipeline = trades.to_sink(Sink("positions", Json(Position), key="account"), name="positions")
        given = [
            trade("anna", 5, price=1.25, unnamed=[1]),
            "no object",
            trade("bert", 2**60 + 1),
            trade("anna", "5"),
            trade("anna", 1.5),
            '{"account": "anna", "side": "buy", "at_us": 0}',
            '{"account": "anna", "side": "hold", "quantity": 1, "at_us": 0}',
            trade("anna", 6),
        ]

        found = run(pipeline, {"trades": [*given, b"\xff", b""]}, mode=mode)

        assert sorted(map(json.loads, found["positions"]), key=lambda it: (it["account"], it["total"])) == [
            {"account": "anna", "quantity": 5, "price": 1.25, "total": 5},
            {"account": "anna", "quantity": 6, "price": None, "total": 11},
            {"account": "bert", "quantity": 2**60 + 1, "price": None, "total": 2**60 + 1},
        ]
        assert reasons(found["invalid"]) == [
            ("unreadable_field", 1), ("unreadable_field", 3), ("unreadable_field", 4), ("missing_value", 5),
            ("unreadable_field", 6), ("unreadable_field", 8), ("unreadable_field", 9),
        ]  # fmt: skip

    def test_csv_comes_and_goes_as_its_records_say(self, mode: str) -> None:
        pipeline = Source("trades", Csv(Trade)).to_sink(Sink("copies", Csv(Trade)), name="copies")

        found = run(
            pipeline, {"trades": ['"a, b",buy,5,1.25,7', "anna,sell,x,,7", "anna,sell,3,,7", "anna"]}, mode=mode
        )

        assert found["copies"] == [b'"a, b",buy,5,1.250000000000000000,7', b"anna,sell,3,,7"]
        assert [reason for reason, _ in reasons(found["invalid"])] == ["unreadable_field"] * 2

    def test_bytes_that_are_no_text_are_malformed(self, mode: str) -> None:
        counted = Source("lines", Text()).key_by("text").to(RunningTotal("count", into="count"))
        pipeline = counted.to_sink(Sink("counts", Text("{text} {count}")), name="counts")

        found = run(pipeline, {"lines": [b"anna", b"\xff\xfe 3", "é", b"anna"]}, mode=mode)

        assert sorted(found["counts"]) == sorted([b"anna 1", "é 1".encode(), b"anna 2"])
        assert reasons(found["invalid"]) == [("unreadable_field", 1)]

    def test_bytes_in_a_layout_that_are_no_text_are_malformed(self, mode: str) -> None:
        layout = Layout("named", (Field("kind", 1, Kind.LETTER, "N"), Field("name", 4, Kind.TEXT)))
        counted = Source("names", layout).key_by("name").to(RunningTotal("count", into="count"))
        pipeline = counted.to_sink(Sink("counts", Text("{name} {count}")), name="counts")

        found = run(pipeline, {"names": [b"Nanna" + b"N\xff\xfe  " + b"Nbert"]}, mode=mode)

        assert sorted(found["counts"]) == [b"anna 1", b"bert 1"]
        assert [json.loads(report)["position"] for report in found["invalid"]] == [1]

    def test_rows_without_a_value_where_a_step_needs_one_are_malformed(self, mode: str) -> None:
        number = Map("cut", {"name": word(0), "fare": lambda row: word(1)(row).try_cast("bigint")})
        words = Source("lines", Text()).to(number).key_by("name").to(RunningTotal("sum", into="sum", of="fare"))
        pipeline = words.to_sink(Sink("sums", Text("{name} {sum}")), name="sums")

        found = run(pipeline, {"lines": ["anna 12", "bert x", "anna 30", "bert 7"]}, mode=mode)

        assert sorted(found["sums"]) == [b"anna 12", b"anna 42", b"bert 7"]
        assert reasons(found["invalid"]) == [("missing_value", 1)]

    def test_null_is_malformed_to_filter_flat_map_and_sink(self, mode: str) -> None:
        cut = Map("cut", {"fare": lambda row: word(1)(row).try_cast("bigint"), "more": word(2)})
        letters = FlatMap("letters", lambda row: F.split(row.more, "-"), into="letter")
        kept = Source("lines", Text()).to(cut).to(Filter("paid", lambda row: row.fare > 1)).to(letters)
        last = kept.to(Map("last", {"seat": lambda row: F.when(row.letter != "z", row.letter)}))
        paid = Sink("paid", Text("{fare} {seat}"), keep=lambda row: row.fare < 50)
        pipeline = last.to_sink(paid, Sink("dear", Text("{fare}"), keep=lambda row: row.fare >= 50), name="letters")

        found = run(pipeline, {"lines": ["a 2 x-y", "b x x", "c 3", "d 4 z", "e 1 x", "f 60 z"]}, mode=mode)

        assert found["paid"] == [b"2 x", b"2 y"]
        assert found["dear"] == [b"60"]
        assert reasons(found["invalid"]) == [("missing_value", 1), ("missing_value", 2), ("missing_value", 3)]

    def test_total_that_leaves_64_bits_is_refused_and_stays_so(self, mode: str) -> None:
        trades = Source("trades", Json(Trade)).key_by("account").to(RunningTotal("total", into="total", of="quantity"))
        pipeline = trades.to_sink(Sink("totals", Text("{account} {total}")), name="totals")
        first = {"trades": [trade("zoe", 2**63 - 1), trade("zoe", 1), trade("anna", 1)]}

        found = run(pipeline, first, {"trades": [trade("zoe", -5), trade("anna", 2)]}, mode=mode)

        assert sorted(found["totals"]) == [b"anna 1", b"anna 3", b"zoe 9223372036854775807"]
        assert reasons(found["invalid"]) == [("overflow", 1), ("overflow", 3)]

    @pytest.mark.parametrize(
        ("kind", "beyond"),
        [(Paid, ("1e30", "-1e19", "NaN", "Infinity")), (PaidExactly, ("1e19", "-9223372036854775809"))],
    )
    def test_number_without_a_whole_part_of_64_bits_is_refused_alone(
        self, kind: type, beyond: tuple[str, ...], mode: str
    ) -> None:
        trades = Source("paid", Json(kind)).key_by("account").to(RunningTotal("total", into="total", of="price"))
        pipeline = trades.to_sink(Sink("totals", Text("{account} {total}")), name="totals")
        prices = ["1.75", *beyond, "2.5"]

        found = run(pipeline, {"paid": [f'{{"account": "zoe", "price": {price}}}' for price in prices]}, mode=mode)

        assert found["totals"] == [b"zoe 1", b"zoe 3"]
        assert reasons(found["invalid"]) == [("overflow", at) for at in range(1, len(beyond) + 1)]

    def test_value_that_its_field_cannot_hold_is_refused_not_cut(self, mode: str) -> None:
        numbers = {"count": Kind.DIGITS, "change": Kind.SIGNED, "price": Kind.INTEGER}
        widths = {"count": 3, "change": 4, "price": 4}
        fields = [Field(name, widths[name], kind) for name, kind in numbers.items()]
        name, side = Field("name", 4, Kind.TEXT), Field("side", 1, Kind.LETTER, "BS")
        held = Layout("held", (Field("kind", 1, Kind.LETTER, "H"), name, *fields, side))
        as_numbers = {each: lambda row, at=at: word(at)(row).try_cast("bigint") for at, each in enumerate(numbers, 1)}
        rows = Source("lines", Text()).to(Map("cut", {"name": word(0), **as_numbers, "side": word(4)}))
        pipeline = rows.to_sink(Sink("held", held), Sink("all", Text("{name} {side}")), name="held")
        right = ["abcd 999 -999 -999 B", "a 0 999 9999 S"]
        wrong = [
            "abcde 1 1 1 B", "éab 1 1 1 B", "a 1000 1 1 B", "a -1 1 1 B", "a 1 1000 1 B", "a 1 -1000 1 B",
            "a 1 1 10000 B", "a 1 1 -1000 B", "a 1 1 1 X",
        ]  # fmt: skip

        found = run(pipeline, {"lines": [*right, *wrong]}, mode=mode)

        assert found["held"] == [b"Habcd999-999-999B", b"Ha   000+9999999S"]
        assert found["all"] == [b"abcd B", b"a S"]
        assert reasons(found["invalid"]) == [("overflow", at) for at in range(2, 2 + len(wrong))]

    @pytest.mark.parametrize("form", [Json, Csv])
    def test_value_that_is_none_of_its_declared_type_is_refused_not_null(
        self, form: type[Json | Csv], mode: str
    ) -> None:
        cut = {name: word(at) for at, name in enumerate(("account", "side", "quantity", "price", "at_us"))}
        cut["price"] = lambda row: F.nullif(word(3)(row), F.lit("-"))
        rows = Source("lines", Text()).to(Map("cut", cut))
        pipeline = rows.to_sink(Sink("trades", form(Trade)), Sink("all", Text("{account}")), name="typed")
        right = ["zoe buy 3 1.50 7", "anna sell -2 - 8"]
        wrong = [
            "hold hold 3 1.50 7",
            "text buy three 1.50 7",
            "big buy 9223372036854775808 1.50 7",
            "dear buy 3 much 7",
        ]

        found = run(pipeline, {"lines": [*right, *wrong]}, mode=mode)

        assert len(found["trades"]) == len(right), found["trades"]
        assert found["all"] == [b"zoe", b"anna"]
        assert reasons(found["invalid"]) == [("overflow", at) for at in range(2, 2 + len(wrong))]

    def test_key_headers_and_time_of_a_record_are_fields(self, mode: str) -> None:
        trades = Source("trades", Json(Trade), key="desk", timestamp="recorded_us", headers={"trace": "trace-id"})
        counted = trades.key_by("desk").to(RunningTotal("count", into="count"))
        pattern = "{desk} {quantity} {recorded_us} {count}"
        kept = (
            Sink("traced", Text(pattern + " {trace}"), keep=lambda row: row.trace.isNotNull()),
            Sink("others", Text(pattern), key="desk", keep=lambda row: row.trace.isNull()),
        )
        given = [
            InputRecord(
                trade("anna", 5), key="é", at_us=1_700_000_000_123_000, headers={"trace-id": "x", "trace": "y"}
            ),
            InputRecord(trade("anna", 6), key="é", at_us=2_000),
            trade("anna", 7),
            InputRecord(trade("anna", 8), key=b"\xff"),
            InputRecord(trade("anna", 9), key="b", headers={"trace-id": b"\xff"}),
            InputRecord("none", key="b"),
        ]

        found = run(counted.to_sink(*kept, name="desks"), {"trades": given}, mode=mode)

        assert found["traced"] == ["é 5 1700000000123000 1 x".encode()]
        assert found["others"] == ["é 6 2000 2".encode()]
        assert reasons(found["invalid"]) == [
            ("missing_value", 2), ("unreadable_field", 3), ("unreadable_field", 4), ("unreadable_field", 5),
        ]  # fmt: skip

    def test_each_message_of_a_frame_has_what_its_record_has(self, mode: str) -> None:
        layout = Layout("named", (Field("kind", 1, Kind.LETTER, "N"), Field("name", 4, Kind.TEXT)))
        names = Source("names", layout, key="of", timestamp="at_us", time="at_us")
        pipeline = names.to_sink(Sink("out", Text("{name} {of} {at_us}")), name="names")

        found = run(pipeline, {"names": [InputRecord(b"NannaNbert", key="x", at_us=7_000)]}, mode=mode)

        assert sorted(found["out"]) == [b"anna x 7000", b"bert x 7000"]

    def test_key_of_several_fields_keeps_them_apart(self, mode: str) -> None:
        cut = Map("cut", {"first": word(0), "second": word(1)})
        words = Source("lines", Text()).to(cut).key_by("first", "second").to(RunningTotal("count", into="count"))
        pipeline = words.to_sink(Sink("counts", Text("{first},{second}: {count}")), name="counts")

        found = run(pipeline, {"lines": ["a b", "ab ", "a b", "a c"]}, mode=mode)

        assert sorted(found["counts"]) == [b"a,b: 1", b"a,b: 2", b"a,c: 1", b"ab,: 1"]

    def test_steps_after_merge_and_key_by_are_done_in_each_branch(self, mode: str) -> None:
        cut = Map("cut", {"name": word(0)})
        merged = Source("left", Text()).merge(Source("right", Text())).key_by("text").to(cut).key_by("name")
        pipeline = merged.to(RunningTotal("count", into="count")).to_sink(
            Sink("counts", Text("{name} {count}")), name="counts"
        )

        found = run(pipeline, {"left": ["a 1"]}, {"right": ["a 2"]}, mode=mode)

        assert found["counts"] == [b"a 1", b"a 2"]


def word(number: int):  # type: ignore[no-untyped-def]
    def cut(row: Row):  # type: ignore[no-untyped-def]
        return F.get(F.split(row.text, " "), F.lit(number))

    return cut


def random_market(random: random.Random, batch: int) -> dict[str, list[dict[str, Any]]]:
    """Quotes and trades of few times, so that many are at one time; quotes in and out of order, and sent again."""
    keys = [{"account": account, "side": side} for account in "ab" for side in ("buy", "sell")]
    quotes = [
        {
            **random.choice(keys),
            "at_us": batch * 4 + random.randrange(10),
            "number": number,
            "bid": random.randrange(20),
        }
        for number in random.choices(range(batch * 20, batch * 20 + 40), k=60)
    ]
    trades = [
        {**random.choice(keys), "at_us": batch * 4 + random.randrange(10), "quantity": batch * 100 + n}
        for n in range(100)
    ]
    if batch == 0:
        quotes[2]["bid"] = trades[5]["side"] = None
    return {"quotes": quotes, "trades": trades}


def as_of(batches: Iterable[dict[str, list[dict[str, Any]]]]) -> Iterator[bytes]:
    """The join, row by row, by a plain loop."""
    newest: dict[tuple[str, str], tuple[int, int]] = {}
    for batch in batches:
        rows = [*((it["at_us"], 0, it) for it in batch["quotes"]), *((it["at_us"], 1, it) for it in batch["trades"])]
        for _, is_trade, it in sorted(rows, key=lambda row: row[:2]):
            number, bid = newest.get((it["account"], it["side"]), (0, 0))
            if is_trade and it["side"] and bid != 7:
                yield f"{it['account']} {it['side']} {it['quantity']} {bid} {number}".encode()
            last = newest.get((it["account"], it["side"]), (-1, 0))[0]
            if not is_trade and it["number"] % 7 and it["bid"] is not None and it["number"] > last:
                newest[it["account"], it["side"]] = it["number"], it["bid"]


def timed(source: str) -> Stream:
    """Lines such as `a 10`: a name, and a time in seconds."""
    cut = Map("cut " + source, {"name": word(0), "at_us": lambda row: word(1)(row).try_cast("bigint") * 1_000_000})
    return Source(source, Text()).to(cut).timed_by("at_us")


def seconds(end: str):  # type: ignore[no-untyped-def]
    return lambda row: (row[f"window_{end}_us"] / 1_000_000).cast("bigint")


TIMED = timed("lines")


class TestInMicroBatchMode:
    def test_texts_have_windows_of_the_time_that_a_step_makes(self) -> None:
        cut = Map("cut", {"name": word(0), "at_us": lambda row: word(1)(row).try_cast("bigint") * 1_000_000})
        window = RangeWindow("ten", size_s=10, aggregates={"n": lambda _: F.count("*")})
        windows = Source("lines", Text()).to(cut).timed_by("at_us").key_by("name").to(window)
        pipeline = windows.to_sink(Sink("counts", Text("{name} {n}")), name="windows")

        found = run(pipeline, {"lines": ["a 1", "a 2", "b x", "a 11"]}, {"lines": ["a 30"]})

        assert sorted(found["counts"]) == [b"a 1", b"a 2"]
        assert reasons(found["invalid"]) == [("missing_value", 2)]

    def test_sessions_end_where_a_key_pauses(self) -> None:
        window = SessionWindow("visit", gap_s=10, late_s=5, aggregates={"n": lambda _: F.count("*")})
        visits = TIMED.key_by("name").to(window).to(Map("s", {"begin": seconds("start"), "end": seconds("end")}))
        pipeline = visits.to_sink(Sink("visits", Text("{name} {begin} {end} {n}")), name="visits")

        first = {"lines": ["a 1", "b 4", "a 10", "a 21", "c no"]}
        found = run(pipeline, first, {"lines": ["b 3", "a 18"]}, {"lines": ["z 60"]}, {"lines": ["a 20", "a 200"]})

        # With the 18, which came late, a pauses for 9, 8 and 3 s. b's 3 is too late after 21, as is a's 20 after 60.
        assert sorted(found["visits"]) == [b"a 1 31 4", b"b 4 14 1", b"z 60 70 1"]
        assert reasons(found["invalid"]) == [("missing_value", 4)]

    def test_what_is_sent_again_comes_out_once(self) -> None:
        once = TIMED.key_by("name").to(Deduplicate("once", late_s=10))
        pipeline = once.to_sink(Sink("out", Text("{text}")), name="once")

        first = {"lines": ["a 1", "a 1", "b 1", "a 2", "none"]}
        found = run(pipeline, first, {"lines": ["a 1", "c 3", "a 2"]}, {"lines": ["d 50"]}, {"lines": ["a 1", "d 50"]})

        assert sorted(found["out"]) == [b"a 1", b"a 2", b"b 1", b"c 3", b"d 50"]
        assert reasons(found["invalid"]) == [("missing_value", 4)]

    def test_rows_join_those_of_another_source_that_are_near(self) -> None:
        paid = IntervalJoin("paid", of="payments", before_s=1, after_s=5, added={"cents": "at_us"}, late_s=20)
        orders, payments = (timed(name).key_by("name") for name in ("orders", "payments"))
        joined = payments.merge(orders).to(paid).to(Map("s", {"paid": lambda row: row.cents / 1_000_000}))
        pipeline = joined.to_sink(Sink("out", Text("{text}: {paid}")), name="paid")

        first = {"orders": ["a 10", "b 10", "a 13", "none"], "payments": ["a 9", "a 8", "b 16"]}
        found = run(pipeline, first, {"payments": ["a 15", "b 15", "a 19", "bad"]}, {"orders": ["a 15"]})

        near = {("a", 10): (9, 15), ("b", 10): (15,), ("a", 13): (15,), ("a", 15): (15, 19)}
        expected = {f"{key} {at}: {other}.0".encode() for (key, at), others in near.items() for other in others}
        assert set(found["out"]) == expected
        assert len(found["out"]) == len(expected)
        assert reasons(found["invalid"]) == [("missing_value", 3), ("missing_value", 6)]

    def test_a_state_is_forgotten_when_its_time_is_over(self) -> None:
        def paid(key: tuple[str, str], rows: Row, before: Any) -> tuple[dict[str, Any], dict[str, Any]]:
            cents = (before["cents"] if before else 0) + int(rows.quantity.sum())
            return {"cents": [cents] if before else []}, {"cents": cents}

        state: StatefulMap = StatefulMap(
            "paid", takes=("quantity",), state={"cents": "bigint"}, gives={"cents": "bigint"}, update=paid,
            forget_after_s=10, late_s=5, forgotten=lambda key, state: {"cents": [-state["cents"]]},
        )  # fmt: skip
        orders = Source("orders", Json(Trade), time="at_us").key_by("account", "side").to(state)
        pipeline = orders.to_sink(Sink("out", Text("{account} {side} {cents}")), name="forgets")
        second = 1_000_000

        batches = (
            [trade("a", 1, second), trade("b", 5, 4 * second), trade("c", "x"), trade("a", 2, 9 * second)],
            [trade("b", 7, 12 * second), trade("d", 9, 19 * second)],
            [trade("d", 1, 26 * second)],  # a's ends at 19, which is over now
            [trade("b", 1, 27 * second)],  # b's would have ended at 22, had it not had another row
            [trade("z", 1, 60 * second)],
            [trade("b", 1, 61 * second)],  # it begins anew
        )
        found = run(pipeline, *({"orders": batch} for batch in batches))

        expected = ["a buy -3", "b buy 12", "b buy 13", "b buy -13", "d buy 10", "d buy -10"]
        assert sorted(found["out"]) == sorted(it.encode() for it in expected)
        assert reasons(found["invalid"]) == [("unreadable_field", 2)]

    def test_json_joins_as_of_its_time(self) -> None:
        quotes = Source("quotes", Json(Quote), time="at_us", sequence="number")
        real = quotes.to(Filter("real", lambda quote: quote.number % 7 != 0))
        merged = real.merge(Source("trades", Json(Trade), time="at_us"))
        newest = AsOfJoin("newest", of="quotes", added={"bid": "bid", "n": "number"}, emit=lambda row: row.bid != 7)
        pipeline = (
            merged.key_by("account", "side").to(newest)
            .to_sink(Sink("out", Text("{account} {side} {quantity} {bid} {n}")), name="as_of")
        )  # fmt: skip
        batches = [random_market(random.Random(seed), seed) for seed in range(3)]

        found = run(pipeline, *({name: [json.dumps(it) for it in rows] for name, rows in it.items()} for it in batches))

        assert sorted(found["out"]) == sorted(as_of(batches))
        assert reasons(found["invalid"]) == [("missing_value", 2), ("missing_value", 5)]

    def test_json_has_windows_of_its_time_and_drops_what_is_sent_again(self) -> None:
        source = Source("trades", Json(Trade), sequence="at_us").key_by("account")
        pipeline = source.to(RunningTotal("total", into="total", of="quantity")).to_sink(
            Sink("totals", Text("{account} {total}")), name="totals"
        )

        found = run(pipeline, {"trades": [trade("a", 5, 1), trade("a", 10, 2), trade("a", 5, 1), trade("a", 15, 3)]})

        assert found["totals"] == [b"a 5", b"a 15", b"a 30"]

    def test_python_never_gets_a_null(self) -> None:
        seen: StatefulMap = StatefulMap(
            "seen", takes=("price",), state={"n": "bigint"}, gives={"n": "bigint"},
            update=lambda key, rows, before: ({"n": [len(rows.price)]}, {"n": len(rows.price)}),
        )  # fmt: skip
        batches = MapBatches("n", takes=("n",), gives={"m": "bigint"}, function=lambda row: {"m": row.n + 1})
        stream = Source("trades", Json(Trade)).key_by("account").to(seen).to(batches)
        pipeline: Pipeline = stream.to_sink(Sink("out", Text("{m}")), name="nulls")

        found = run(pipeline, {"trades": [trade("a", 1, price=1.5), trade("a", 1), trade("b", 1, price=2)]})

        assert found["out"] == [b"2", b"2"]
        assert reasons(found["invalid"]) == [("missing_value", 1)]
