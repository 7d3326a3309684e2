"""Pipelines as values: their fields and topology, and every mistake found where it is made, in one sentence."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import pytest

from market_spread.common.errors import UsageError
from market_spread.common.wire.layout import NBBO, ORDER, Field, Kind, Layout
from market_spread.streaming import (
    AsOfJoin,
    Bytes,
    CountWindow,
    Csv,
    Deduplicate,
    Filter,
    FlatMap,
    IntervalJoin,
    Json,
    Map,
    MapBatches,
    Pipeline,
    PipelineError,
    RangeWindow,
    Row,
    RunningTotal,
    SessionWindow,
    Sink,
    Source,
    StatefulMap,
    Text,
)
from market_spread.streaming.applications.market_spread import market_spread
from market_spread.streaming.applications.word_count import word_count
from market_spread.streaming.modes.support import check, remarks, why_by_row
from market_spread.streaming.operators.stateful import StateComputation
from tests.support.pipelines import counting, pass_through, sequence_window

LINES = Source("lines", Text())
QUOTES = Source("nbbo", NBBO, time="intended_us", sequence="sequence")
ORDERS = Source("orders", ORDER, time="intended_us")
FILLED = Source("filled", ORDER, time="intended_us")
NEWEST_QUOTE = AsOfJoin("newest quote", of="nbbo", added={"bid": "bid"})
TOTAL = RunningTotal("total", into="total")
COUNTS = Sink("counts", Text("{text} {total}"))


@dataclass
class Trade:
    lots: list[int]


@dataclass
class Order:
    at_us: int


def anything(*_: object) -> Any:
    raise AssertionError("a function of a step is not called before the pipeline runs")


def near(before_s: float = 1, **added: str) -> IntervalJoin:
    return IntervalJoin("near", of="filled", before_s=before_s, after_s=1, added=added)


LONGEST = StatefulMap("longest", takes=("text",), state={"n": "bigint"}, gives={"n": "bigint"}, update=anything)


# What a pipeline is


def test_verbs_change_nothing_but_return_a_new_stream() -> None:
    split = LINES.to(FlatMap("words", anything, into="word"))

    assert split.fields == ("text", "word")
    assert LINES.fields == ("text",)
    assert split.key_by("word").keys == ("word",)
    assert split.keys == ()


def test_market_spread_describes_itself() -> None:
    assert market_spread().describe() == (
        "market_spread\n"
        "  source nbbo: symbol string, bid bigint, offer bigint, intended_us bigint, sequence bigint\n"
        "    key by symbol\n"
        "  source orders: symbol string, side string, account bigint, order_id bigint, quantity bigint, price bigint, "
        "intended_us bigint\n"
        "    key by symbol\n"
        "  merge\n"
        "  as-of join newest quote; keeps the latest row of nbbo for each key, for ever\n"
        "  sink alerts"
    )


def test_steps_are_described_by_the_field_s_words() -> None:
    steps = (
        Filter, Map, FlatMap, MapBatches, AsOfJoin, RunningTotal, StatefulMap, CountWindow, RangeWindow, SessionWindow,
        Deduplicate, IntervalJoin,
    )  # fmt: skip

    assert [step.kind for step in steps] == [
        "filter", "map", "flat map", "map batches", "as-of join", "running total", "stateful map", "count window",
        "range window", "session window", "deduplicate", "interval join",
    ]  # fmt: skip


def test_steps_stand_where_they_are_done() -> None:
    shout = Map("shout", {"loud": anything})
    pipeline = LINES.to(Filter("some", anything)).key_by("text").to(TOTAL).to(shout).to_sink(COUNTS, name="shouting")

    assert pipeline.describe().splitlines()[1:] == [
        "  source lines: text string", "    filter some", "    key by text",
        "  running total total; keeps a number for each key, for ever", "  map shout", "  sink counts",
    ]  # fmt: skip
    assert pipeline.stream.fields == ("text", "total", "loud")


def test_fields_of_a_source_are_described_with_their_types_and_those_of_its_records() -> None:
    @dataclass
    class Booking:
        account: str
        side: Literal["buy", "sell"]
        cents: int | None
        price: Decimal
        share: float
        paid: bool

    source = Source("bookings", Json(Booking), key="user", timestamp="at_us", headers={"trace": "trace-id"})

    assert source.describe() == (
        "source bookings: account string, side string, cents bigint or null, price decimal(38,18), share double, "
        "paid boolean, user string or null, trace string or null, at_us bigint"
    )


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        (NEWEST_QUOTE, "the latest row of nbbo for each key, for ever"),
        (TOTAL, "a number for each key, for ever"),
        (LONGEST, "the state of each key, for ever"),
        (
            replace(LONGEST, forget_after_s=60, late_s=0.5),
            "the state of each key, for 60 s after its last row, and 0.5 s more",
        ),
        (
            CountWindow("mean", size=2, takes=("text",), gives={"n": "bigint"}, function=anything),
            "the rows of each key since its last full window, for ever",
        ),
        (
            RangeWindow("volume", size_s=60, slide_s=10, late_s=1.5, aggregates={"n": anything}),
            "windows of 60 s for each key, until 1.5 s after their end",
        ),
        (
            SessionWindow("visit", gap_s=1800, late_s=2, aggregates={"n": anything}),
            "sessions of each key, until 1800 s after their last row, and 2 s more",
        ),
        (Deduplicate("once", late_s=86_400), "the keys and times of the last 86400 s"),
        (near(before_s=3, paid="account"), "3 s of filled, 1 s of the other, and 0 s more of both"),
    ],
)
def test_what_a_state_keeps_and_how_long_is_described(step: StateComputation, kept: str) -> None:
    joined = {AsOfJoin: QUOTES, IntervalJoin: FILLED}.get(type(step))
    texts = Source("texts", Text(), timestamp="at_us", time="at_us").key_by("text")
    rows = ORDERS.key_by("symbol").merge(joined.key_by("symbol")) if joined else texts

    described = rows.to(step).to_sink(Sink("out", Json()), name="described").describe()

    assert f"  {step.kind} {step.name}; keeps {kept}\n" in described


def test_rows_of_python_have_what_it_gives_and_their_key() -> None:
    assert LINES.key_by("text").to(LONGEST).fields == ("text", "n")
    assert LINES.to(MapBatches("arrays", takes=("text",), gives={"n": "bigint"}, function=anything)).fields == ("n",)


def test_window_has_its_key_its_borders_and_its_aggregates() -> None:
    window = RangeWindow("minute", size_s=60, aggregates={"volume": anything})

    assert ORDERS.key_by("symbol").to(window).fields == ("symbol", "window_start_us", "window_end_us", "volume")


def test_sink_of_late_rows_is_one_of_the_ends_and_writes_the_rows_before_the_step() -> None:
    window = RangeWindow("minute", size_s=60, aggregates={}, late=Sink("late", Text("{symbol} {price}")))
    pipeline = ORDERS.key_by("symbol").to(window).to_sink(Sink("out", Text("{window_end_us}")), name="windows")

    assert pipeline.ends == ("orders", "out", "late")
    assert pipeline.describe().endswith("\n  sink out\n  sink late")
    assert pipeline.late is not None
    assert (pipeline.late.stream.fields, pipeline.late.late) == (ORDERS.fields, None)


@pytest.mark.parametrize("application", [market_spread, word_count, counting, pass_through, sequence_window])
def test_every_application_runs_in_micro_batch_mode(application: Callable[[], Pipeline]) -> None:
    check(application(), "micro-batch")


@pytest.mark.parametrize("application", [market_spread, word_count, pass_through])
def test_applications_of_columns_run_in_real_time_mode(application: Callable[[], Pipeline]) -> None:
    check(application(), "real-time")


def test_row_gives_its_values_by_name_and_names_what_it_has_instead() -> None:
    row = Row({"bid": 1, "offer": 2})

    assert (row.bid, row["offer"], dict(row)) == (1, 2, {"bid": 1, "offer": 2})
    with pytest.raises(AttributeError, match="no field 'ask'; the row has bid, offer"):
        _ = row.ask


# Mistakes


def text_layout(field: Field) -> Layout:
    return Layout("note", (Field("kind", 1, Kind.LETTER, "T"), field))


MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: LINES.key_by("word"), "key_by('word') names an unknown field 'word'; the rows have text"),
    (lambda: Source("s", Bytes("raw")).key_by("raw"), "key_by('raw') names bytes; key by what a step reads in them"),
    (lambda: LINES.to(TOTAL), "'total' keeps state by key; put key_by before it"),
    (
        lambda: LINES.key_by("text").to(TOTAL).to(RunningTotal("again", into="n")),
        "'again' comes after the stateful step 'total'; a pipeline has only one; make two",
    ),
    (
        lambda: LINES.key_by("text").to(TOTAL).key_by("total"),
        "key_by('total') comes after the stateful step 'total'; a pipeline has only one; make two",
    ),
    (
        lambda: ORDERS.key_by("symbol", "venue"),
        "key_by('symbol', 'venue') names an unknown field 'venue'; the rows have "
        "symbol, side, account, order_id, quantity, price, intended_us",
    ),
    (lambda: LINES.key_by("text", "text"), "key_by('text', 'text') names a field twice; name each field of the key"),
    (LINES.key_by, "key_by() names no field; name each field of the key"),
    (
        lambda: Source("lines", Text("{name} {n}")),
        "the source 'lines' reads a text as it is; cut it by a step, and give it Text()",
    ),
    (
        lambda: LINES.key_by("text").to(TOTAL).numbered_by("total"),
        "the sequence 'total' is named after the stateful step; name it before",
    ),
    (
        lambda: Source("trades", Json(Trade)).fields,
        "Trade.lots is a list[int]; a message has fields of int, float, str, bool, Decimal, an Enum or Literal of "
        "texts, or one of these or None",
    ),
    (lambda: Source("trades", Csv(int)), "<class 'int'> is no dataclass; declare the fields of a message by one"),
    (
        lambda: (
            LINES.key_by("text")
            .merge(Source("orders", Json(Order), time="at_us").to(Map("text", {"text": anything})).key_by("text"))
            .to(AsOfJoin("newest", of="orders", added={}))
        ),
        "'newest': the source 'orders' declares no sequence, so no row is known to be later; declare one",
    ),
    (
        lambda: LINES.to(Filter("some", anything)).to(Map("some", {})),
        "step names must be unique; two are named 'some'",
    ),
    (
        lambda: LINES.to(MapBatches("arrays", takes=("word",), gives={}, function=anything)),
        "'arrays' takes the field 'word'; the rows have text",
    ),
    (
        lambda: LINES.to(Map("own", {"_key": anything})),
        "'own' has a field '_key'; begin its name with a letter, and use no point in it",
    ),
    (
        lambda: LINES.to(Map("own", {"a.b": anything})),
        "'own' has a field 'a.b'; begin its name with a letter, and use no point in it",
    ),
    (
        lambda: LINES.to(Map("where", {"offset": anything})),
        "'where' has a field 'offset', a name that every row uses for its metadata; rename it",
    ),
    (
        lambda: QUOTES.key_by("symbol").merge(ORDERS),
        "rows keyed by 'symbol' are merged with rows keyed by nothing; give both the same key_by",
    ),
    (lambda: QUOTES.merge(QUOTES), "the source 'nbbo' is merged with itself; name it once"),
    (
        lambda: LINES.key_by("text").to(TOTAL).merge(ORDERS),
        "merge comes after a stateful step; move it before that step",
    ),
    (
        lambda: QUOTES.key_by("symbol").to(NEWEST_QUOTE),
        "'newest quote': it joins two sources, one of them 'nbbo', not nbbo; merge two",
    ),
    (
        lambda: QUOTES.merge(ORDERS).key_by("symbol").to(AsOfJoin("newest", of="trades", added={})),
        "'newest': there is no source 'trades' before it, only nbbo, orders; merge it in",
    ),
    (
        lambda: QUOTES.merge(ORDERS).key_by("symbol").to(AsOfJoin("newest", of="orders", added={})),
        "'newest': the source 'orders' declares no sequence, so no row is known to be later; declare one",
    ),
    (
        lambda: QUOTES.merge(Source("orders", ORDER)).key_by("symbol").to(NEWEST_QUOTE),
        "'newest quote': the source 'orders' declares no time, so its rows have no order; declare one",
    ),
    (
        lambda: QUOTES.merge(ORDERS).key_by("symbol").to(AsOfJoin("newest", of="nbbo", added={"ask": "ask"})),
        "'newest': the source 'nbbo' has no field 'ask'; it has symbol, bid, offer, intended_us, sequence",
    ),
    (
        lambda: QUOTES.merge(ORDERS).key_by("symbol").to(AsOfJoin("newest", of="nbbo", added={"name": "symbol"})),
        "'newest': 'symbol' of 'nbbo' is not a number, and the state keeps only numbers; leave it out",
    ),
    (
        lambda: Source("orders", ORDER, sequence="quantity"),
        "the source 'orders' has no whole number 'quantity' for its sequence; it has account, order_id, intended_us; "
        "if a step makes it, name it after that step by numbered_by",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(RunningTotal("total", into="total", of="volume")),
        "'total': there is no field 'volume'; the rows have "
        "symbol, side, account, order_id, quantity, price, intended_us",
    ),
    (
        lambda: QUOTES.merge(ORDERS).key_by("symbol").to(TOTAL),
        "'total': 'nbbo' declares a sequence and is merged with another source; do one or the other",
    ),
    (
        lambda: LINES.key_by("text").to(CountWindow("two", size=0, takes=(), gives={}, function=anything)),
        "'two': a window of 0 rows never fills; use 1 or more",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(RangeWindow("minute", size_s=60, slide_s=90, aggregates={})),
        "'minute': size_s=60 and slide_s=90; use 0 < slide_s <= size_s",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(RangeWindow("minute", size_s=60, late_s=-1, aggregates={})),
        "'minute': late_s=-1; use 0 or more, in whole milliseconds",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(Deduplicate("once", late=COUNTS)),
        "the sink 'counts' writes the field 'text'; the rows have "
        "symbol, side, account, order_id, quantity, price, intended_us",
    ),
    (
        lambda: LINES.key_by("text").to(RangeWindow("minute", size_s=60, aggregates={})),
        "'minute': the source 'lines' declares no time; declare one",
    ),
    (
        lambda: QUOTES.key_by("symbol").to(RangeWindow("minute", size_s=60, aggregates={})),
        "'minute': it goes by time, and cannot drop repeated rows by sequence; declare no sequence for 'nbbo'",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(SessionWindow("visit", gap_s=0, aggregates={})),
        "'visit': gap_s=0; use more than 0",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(replace(LONGEST, takes=(), state={"n": "Map< int, string>"})),
        "'longest': the keys of 'n', a Map< int, string>, do not stay what they are; let them be string",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(replace(LONGEST, takes=(), forget_after_s=-1)),
        "'longest': forget_after_s=-1; use more than 0, or leave it out",
    ),
    (
        lambda: LINES.key_by("text").to(replace(LONGEST, forget_after_s=1)),
        "'longest': the source 'lines' declares no time; declare one",
    ),
    (
        lambda: LINES.key_by("text").to(Deduplicate("once")),
        "'once': the source 'lines' declares no time; declare one",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(near()),
        "'near': there is no source 'filled' before it, only orders; merge it in",
    ),
    (
        lambda: ORDERS.merge(FILLED).key_by("symbol").to(near(before_s=-1)),
        "'near': before_s=-1; use 0 or more, in whole milliseconds",
    ),
    (
        lambda: ORDERS.merge(FILLED).key_by("symbol").to(near(paid="cents")),
        "'near': the source 'filled' has no field 'cents'; it has "
        "symbol, side, account, order_id, quantity, price, intended_us",
    ),
    (
        lambda: ORDERS.merge(FILLED).key_by("symbol").to(near(price="price")),
        "'near': the rows have a field 'price' already; add it by another name",
    ),
    (lambda: LINES.to_sink(name="nothing"), "the pipeline 'nothing' has no sink; name one"),
    (
        lambda: LINES.key_by("text").to_sink(Sink("out", Text()), name="keyed"),
        "no stateful step follows key_by('text'); add one, or leave key_by out",
    ),
    (
        lambda: LINES.to_sink(COUNTS, name="counts"),
        "the sink 'counts' writes the field 'total'; the rows have text",
    ),
    (
        lambda: LINES.to_sink(Sink("out", Text(), key="word"), name="keyed"),
        "the sink 'out' writes the field 'word'; the rows have text",
    ),
    (
        lambda: Source("orders", ORDER, time="symbol"),
        "the source 'orders' has no whole number 'symbol' for its time; it has account, order_id, intended_us; "
        "if a step makes it, name it after that step by timed_by",
    ),
    (
        lambda: Source("orders", Json(Order), key="at_us"),
        "the source 'orders' has two fields 'at_us'; give that of the record another name",
    ),
    (
        lambda: Source("lines", Text(), timestamp="sent_us"),
        "the source 'lines' has a field 'sent_us', a name that every row uses for its metadata; rename it",
    ),
    (
        lambda: Source("orders", Json()),
        "the source 'orders' names no record; declare its messages by a dataclass",
    ),
    (
        lambda: Source("lines", Text(), sequence="n"),
        "the source 'lines' has no whole number 'n' for its sequence; it has none; "
        "if a step makes it, name it after that step by numbered_by",
    ),
    (
        lambda: LINES.to_sink(Sink("lines", Text()), name="loop"),
        "'lines' names a sink and a source, or the malformed messages; rename one",
    ),
    (
        lambda: LINES.to_sink(Sink("invalid", Text()), name="mixed"),
        "'invalid' names a sink and a source, or the malformed messages; rename one",
    ),
    (
        lambda: LINES.to(Filter("short", anything, on_error="drop")),  # type: ignore[arg-type]
        "'short' has on_error='drop'; it takes fail and divert",
    ),
    (
        lambda: LINES.to(MapBatches("cut", takes=("text",), gives={"n": "integr"}, function=anything)),
        "'cut' has 'n' of type 'integr'; use one of Spark, such as bigint",
    ),
    (
        lambda: LINES.key_by("text").to(replace(LONGEST, state={"n": int})),  # type: ignore[dict-item]
        "'longest' has 'n' of type <class 'int'>; use one of Spark, such as bigint",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(RangeWindow("minute", size_s=0.0015, aggregates={})),
        "'minute': size_s=0.0015; use 0 or more, in whole milliseconds",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(SessionWindow("visit", gap_s=float("nan"), aggregates={})),
        "'visit': gap_s=nan; use 0 or more, in whole milliseconds",
    ),
    (
        lambda: ORDERS.key_by("symbol").to(Deduplicate("once", late_s=float("inf"))),
        "'once': late_s=inf; use 0 or more, in whole milliseconds",
    ),
    (
        lambda: ORDERS.merge(FILLED).key_by("symbol").to(near(before_s=1e-6)),
        "'near': before_s=1e-06; use 0 or more, in whole milliseconds",
    ),
    (
        lambda: Text("{}"),
        "the pattern '{}' has more or less than a name in braces; write {name}",
    ),
    (
        lambda: Text("{text:>5}"),
        "the pattern '{text:>5}' has more or less than a name in braces; write {name}",
    ),
    (
        lambda: Source("notes", text_layout(Field("reason", 8, Kind.TEXT))),
        "the source 'notes' has a field 'reason', a name that every row uses for its metadata; rename it",
    ),
]


@pytest.mark.parametrize(("make", "said"), MISTAKES, ids=[said[:40] for _, said in MISTAKES])
def test_mistake_is_told_where_it_is_made(make: Callable[[], object], said: str) -> None:
    with pytest.raises(PipelineError) as raised:
        make()

    assert str(raised.value) == said


@pytest.mark.parametrize(
    "kind", ["bigint", "LONG", "decimal(38, 2)", "array<int>", "map<string,double>", "struct<a: int>", "timestamp_ntz"]
)
def test_types_of_spark_are_taken_as_spark_takes_them(kind: str) -> None:
    assert LINES.to(MapBatches("cut", takes=("text",), gives={"n": kind}, function=anything)).fields == ("n",)


def test_a_lone_brace_in_a_pattern_is_refused_with_the_remedy() -> None:
    with pytest.raises(UsageError) as raised:
        Text("{text")

    assert (
        str(raised.value)
        == "the pattern '{text' cannot be read: expected '}' before end of string; write a brace as two"
    )
    assert Text("{{{text}}}").fields == ("text",)


def test_a_role_whose_field_is_gone_is_none() -> None:
    """A step that gives other fields leaves neither time nor sequence, so nothing is looked for in its rows."""
    arrays = MapBatches("arrays", takes=("bid",), gives={"spread": "bigint"}, function=anything)
    counted = QUOTES.to(arrays).key_by("spread").to(TOTAL).to_sink(Sink("out", Text("{total}")), name="spreads")

    (schema,) = counted.stream.schemas.values()
    assert (schema.time, schema.sequence) == (None, None)
    check(counted, "micro-batch")


# What a mode cannot run


def joined(*steps: Filter, newest: AsOfJoin = NEWEST_QUOTE, orders: Source = ORDERS) -> Pipeline:
    quotes = QUOTES.to(steps[0]) if steps else QUOTES
    return quotes.merge(orders).key_by("symbol").to(newest).to_sink(Sink("out", Text("{bid}")), name="joined")


def keyed(*names: str) -> Pipeline:
    quotes = QUOTES.merge(ORDERS).key_by(*names).to(NEWEST_QUOTE)
    return quotes.to_sink(Sink("out", Text("{bid}")), name="joined")


def json_joined() -> Pipeline:
    quotes = Source("quotes", Json(Order), time="at_us", sequence="at_us")
    newest = AsOfJoin("newest", of="quotes", added={"quoted_us": "at_us"})
    joined = quotes.merge(Source("orders", Json(Order), time="at_us")).key_by("at_us").to(newest)
    return joined.to_sink(Sink("out", Text("{quoted_us}")), name="joined")


NOTES = Source(
    "notes",
    Layout("note", (
        Field("kind", 1, Kind.LETTER, "T"), Field("symbol", 6, Kind.TEXT), Field("author", 8, Kind.TEXT),
        Field("time_us", 16, Kind.DIGITS),
    )),
    time="time_us",
)  # fmt: skip


def numbered(key_width: int, sequence_width: int) -> Pipeline:
    """A join whose key and sequence are so wide."""
    head, key = Field("kind", 1, Kind.LETTER, "W"), Field("name", key_width, Kind.TEXT)
    time, sequence = Field("time_us", 16, Kind.DIGITS), Field("number", sequence_width, Kind.DIGITS)
    prices = Source("prices", Layout("price", (head, key, time, sequence)), time="time_us", sequence="number")
    trades = Source("trades", Layout("trade", (head, key, time)), time="time_us")
    newest = AsOfJoin("newest", of="prices", added={"number": "number"})
    return prices.merge(trades).key_by("name").to(newest).to_sink(Sink("out", Text("{number}")), name="wide")


REFUSED: list[tuple[Callable[[], Pipeline], str, str]] = [
    (
        lambda: LINES.key_by("text").to(LONGEST).to_sink(Sink("out", Text("{n}")), name="python"),
        "real-time",
        "python: 'longest' is Python, which real-time does not run; use columns, or micro-batch",
    ),
    (
        counting,
        "real-time",
        "counting: 'total' cannot drop repeated rows of 'numbers' in real-time; "
        "declare no sequence, or use micro-batch",
    ),
    (
        lambda: joined(orders=NOTES),
        "real-time",
        "joined: 'newest quote' would pass on the text 'author' of 'notes', and real-time passes on only numbers "
        "and letters; make it a number, or use micro-batch",
    ),
    (
        lambda: joined(Filter("some", anything)),
        "real-time",
        "joined: 'some' comes before 'newest quote'; move it after the join, or use micro-batch",
    ),
    (
        lambda: keyed("symbol", "intended_us"),
        "real-time",
        "joined: 'newest quote' joins by symbol and intended_us; key by one field, or use micro-batch",
    ),
    (
        lambda: joined(orders=replace(ORDERS, headers={"trace": "trace-id"})),
        "real-time",
        "joined: 'newest quote' takes nothing of the records but their values; leave 'trace' out, or use micro-batch",
    ),
    (
        json_joined,
        "real-time",
        "joined: 'newest': the messages of 'quotes' have no fixed width; give it a layout, or use micro-batch",
    ),
    (
        lambda: (
            ORDERS.key_by("symbol")
            .to(RangeWindow("minute", size_s=60, aggregates={"n": anything}))
            .to_sink(Sink("out", Text("{n}")), name="windows")
        ),
        "real-time",
        "windows: 'minute' goes by time, and real-time does not notice when a time is over; use micro-batch",
    ),
]


@pytest.mark.parametrize(("make", "mode", "said"), REFUSED, ids=[f"{mode}: {said[:40]}" for _, mode, said in REFUSED])
def test_mode_refuses_what_it_cannot_run(make: Callable[[], Pipeline], mode: str, said: str) -> None:
    with pytest.raises(PipelineError) as raised:
        check(make(), mode)

    assert str(raised.value) == said


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: numbered(8, 12), None),
        (lambda: numbered(9, 12), "'name' of 'prices' is 9 bytes wide; make it 8 at most"),
        (lambda: numbered(8, 13), "'number' of 'prices' is 13 bytes wide; make it 12 at most"),
        (lambda: joined(Filter("some", anything)), "'some' comes before 'newest quote'; move it after the join"),
        (lambda: keyed("symbol", "intended_us"), "'newest quote' joins by symbol and intended_us; key by one field"),
    ],
)
def test_as_of_join_on_rows_says_why(make: Callable[[], Pipeline], why: str | None) -> None:
    pipeline = make()

    check(pipeline, "micro-batch")
    assert why_by_row(pipeline) == why
    assert [remark.partition("; ")[2] for remark in remarks(pipeline, "micro-batch")] == ([why] if why else [])
