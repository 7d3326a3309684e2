"""Awkward but legal messages, names and results of functions: none is changed, lost or ends the job without a word."""

import csv
import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import pytest
from pyspark.sql import functions as F

from market_spread.common.errors import RunFailedError
from market_spread.streaming import (
    Bytes,
    Csv,
    FlatMap,
    Json,
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
from market_spread.streaming.testing import Outputs, run
from tests.integration.test_messages_of_pipelines import reasons
from tests.unit.streaming.modes.test_python_results import NO_STATES, WRONG_VALUES

MODES = ("real-time", "micro-batch")
BATCH = "micro-batch"


@dataclass
class Note:
    name: str
    n: int


@dataclass
class Maybe:
    name: str
    n: int | None


@dataclass
class Priced:
    id: int
    ID: int


@dataclass
class Cost:
    name: str
    price: Decimal


@dataclass
class Event:
    name: str
    at_us: int


ROWS = ['{"name": "x", "n": 1}', '{"name": "y", "n": 2}', '{"name": "x", "n": 3}']
ALL_FIELDS = Json()
NOTES = Source("in", Json(Note))
TEXTS = [
    " a ", 'say "hi"', "a,b", "a\\b", "a\nb", "#a", "a\\", '"', '\\"', "null", "\t", " ", '""', 'a""b', "x\r\n", "'q'",
    "größe",
]  # fmt: skip


RUBBISH = [b"\xff\0a", b"", b"abc", b"\n"]


def to_out(stream: Stream | Source, messages: Json | Csv | Text = ALL_FIELDS) -> Pipeline:
    return stream.to_sink(Sink("out", messages), name="awkward")


def read(found: Outputs) -> list[dict[str, Any]]:
    return [json.loads(value) for value in found["out"]]


@pytest.mark.parametrize("mode", MODES, scope="class")
class TestInEveryMode:
    def test_bytes_go_through_as_they_are(self, mode: str) -> None:
        source = Source("in", Bytes("raw"))
        copies = source.to_sink(Sink("out", Bytes("raw"), key="raw"), Sink("json", Json()), name="copies")
        found = run(copies, {"in": RUBBISH}, mode=mode)
        assert (found["out"], found["invalid"]) == (RUBBISH, [])
        assert [b64decode(json.loads(row)["raw"]) for row in found["json"]] == RUBBISH
        digits = source.to(Map("digits", {"key": lambda row: F.hex(row.raw)})).key_by("key")
        counted = digits.to(RunningTotal("n", into="n")).to_sink(Sink("out", Text("{key} {n}")), name="counted")
        found = run(counted, {"in": [RUBBISH[0], RUBBISH[1], RUBBISH[0]]}, mode=mode)
        assert (sorted(found["out"]), found["invalid"]) == ([b" 1", b"FF0061 1", b"FF0061 2"], [])

    def test_csv_is_what_other_programs_write_and_read(self, mode: str) -> None:
        given = [json.dumps({"name": text, "n": 1}) for text in TEXTS]

        written = run(to_out(NOTES, Csv(Note)), {"in": given}, mode=mode)["out"]
        again = run(to_out(Source("in", Csv(Note))), {"in": [*written, '"say ""hi""",1', " a ,2"]}, mode=mode)

        lines = [value.decode().splitlines(keepends=True) for value in written]
        assert [next(csv.reader(line, strict=True)) for line in lines] == [[text, "1"] for text in TEXTS]
        assert [row["name"] for row in read(again)] == [*TEXTS, 'say "hi"', " a "]

    def test_text_keeps_its_blanks(self, mode: str) -> None:
        lines = ["a  ", "  a", "  ", "a\t", ""]

        assert run(to_out(Source("in", Text()), Text()), {"in": lines}, mode=mode)["out"] == [
            line.encode() for line in lines
        ]

    def test_what_follows_a_json_value_makes_it_unreadable(self, mode: str) -> None:
        good = '{"name": "x", "n": 1}'
        wrong = [good + good, good + " x", good + ",", good + "," + good, good + "]", good + "}", f"[{good}]", "null"]
        wrong += [f'{good}],"x":[{good}', f'{good}] , "only": [{good}']

        found = run(to_out(NOTES), {"in": [*wrong, f" {good}\r"]}, mode=mode)

        assert read(found) == [{"name": "x", "n": 1}]
        assert reasons(found["invalid"]) == [("unreadable_field", at) for at in range(len(wrong))]

    def test_names_that_differ_in_case_are_two(self, mode: str) -> None:
        upper = Map("upper", {"Name": lambda row: F.upper(row.name), "Topic": lambda row: row.n})
        total = RunningTotal("total", into="N", of="n")

        found = run(to_out(NOTES.to(upper).key_by("Name").to(total)), {"in": ROWS[::2]}, mode=mode)
        ids = run(to_out(Source("in", Json(Priced))), {"in": ['{"id": 1, "ID": 2}']}, mode=mode)

        assert read(found) == [
            {"Name": "X", "name": "x", "n": 1, "Topic": 1, "N": 1},
            {"Name": "X", "name": "x", "n": 3, "Topic": 3, "N": 4},
        ]
        assert read(ids) == [{"id": 1, "ID": 2}]

    def test_fraction_is_not_cut_off_for_a_whole_number(self, mode: str) -> None:
        halves = NOTES.to(Map("half", {"n": lambda row: row.n / 2}))

        found = run(to_out(halves, Json(Note)), {"in": ['{"name": "x", "n": 3}', '{"name": "x", "n": 4}']}, mode=mode)

        assert read(found) == [{"name": "x", "n": 2}]
        assert reasons(found["invalid"]) == [("overflow", 0)]

    @pytest.mark.parametrize(
        ("messages", "lines"),
        [
            (
                Json(Cost),
                ['{"name": "a,b", "price": 1.5}', '{"name": "c", "price": "2.50"}', '{"name":"d","price":"1,5"}'],
            ),
            (Csv(Cost), ['"a,b",1.5', "c,2.50", 'd,"1,5"']),
        ],
    )
    def test_comma_in_a_decimal_is_not_left_out(self, mode: str, messages: Json | Csv, lines: list[str]) -> None:
        found = run(to_out(Source("in", messages), Text("{name} {price}")), {"in": lines}, mode=mode)

        assert found["out"] == [b"a,b 1.500000000000000000", b"c 2.500000000000000000"]
        assert reasons(found["invalid"]) == [("unreadable_field", 2)]

    def test_null_among_elements_is_reported(self, mode: str) -> None:
        pairs = FlatMap("pairs", lambda row: F.array(row.n, F.lit(7)), into="element")

        found = run(to_out(Source("in", Json(Maybe)).to(pairs)), {"in": [ROWS[0], '{"name": "y"}']}, mode=mode)

        assert [row["element"] for row in read(found)] == [1, 7, 7]
        assert reasons(found["invalid"]) == [("missing_value", 1)]

    def test_dates_pass_a_running_total(self, mode: str) -> None:
        dated = Map(
            "dated",
            {
                "day": lambda row: F.to_date(F.when(row.n > 1, "1969-02-28")),
                "at": lambda _: F.lit("a").try_cast("date"),
            },
        )

        found = run(
            to_out(NOTES.to(dated).key_by("name").to(RunningTotal("count", into="count"))), {"in": ROWS}, mode=mode
        )

        assert sorted((row["name"], row["count"], row["day"], row["at"]) for row in read(found) if row["day"]) == [
            ("x", 2, "1969-02-28", None), ("y", 1, "1969-02-28", None),
        ]  # fmt: skip


def batches(function: Callable[[Row], Any], kind: str = "bigint", name: str = "out") -> Pipeline:
    return to_out(NOTES.to(MapBatches("step", takes=("n",), gives={name: kind}, function=function)))


# What a first batch puts into a state, of this type, and what the second one finds there.
KEPT = [
    (5, "double", "5.0"), (True, "bigint", "1"), (7, "decimal(10,2)", "7.00"), (None, "bigint", "None"),
    (5, "string", "5"), (Decimal("1.50"), "decimal(10,2)", "1.50"), ([1, None], "array<bigint>", "[1, None]"),
    ({"a": 1}, "map<string,bigint>", "{'a': 1}"), ({"a": [1.5]}, "MAP < STRING, ARRAY<DOUBLE>>", "{'a': [1.5]}"),
    ({"n": 1, "of": {"x": None}}, "struct<n: int, of: map<string,string>>", "{'n': 1, 'of': {'x': None}}"),
    ([1, 2.5], "array<double>", "[1, 2.5]"), (True, "LONG", "1"), (b"\x01", "binary", "b'\\x01'"),
]  # fmt: skip


def returning(*returned: Any, state: Mapping[str, str], on_error: Literal["fail", "divert"] = "fail") -> Pipeline:
    """The step's function returns the one of these that has the row's number."""
    step = StatefulMap(
        "step", takes=("n",), state=state, gives={"was": "bigint"}, on_error=on_error,
        update=lambda key, *_: returned[key],
    )  # fmt: skip
    return to_out(NOTES.key_by("n").to(step))


def rows(count: int) -> list[str]:
    return [f'{{"name": "x", "n": {n}}}' for n in range(count)]


class TestPython:
    def test_integers_beside_none_stay_what_they_are(self) -> None:
        found = run(batches(lambda _: {"out": [None, 2**60 + 1]}), {"in": ROWS}, mode=BATCH)

        assert [row["out"] for row in read(found)] == [None, 2**60 + 1]

    def test_result_that_is_no_array_of_its_name_fails(self) -> None:
        with pytest.raises(RunFailedError, match=r"a function returned .*; let it return an array or list of 'out'"):
            run(batches(lambda _: {"out": 1}, "string"), {"in": ROWS}, mode=BATCH)

    def test_function_is_not_called_without_rows(self) -> None:
        found = run(batches(lambda rows: {"out": [max(rows.n)]}), {"in": ["no object"]}, {"in": ROWS}, mode=BATCH)

        assert read(found) == [{"out": 3}]

    def test_name_that_is_not_english_is_one_everywhere(self) -> None:
        found = run(batches(lambda rows: {"größe": rows.n}, name="größe"), {"in": ROWS}, mode=BATCH)

        assert [row["größe"] for row in read(found)] == [1, 2, 3]

    def test_state_comes_back_as_it_was_put_there(self) -> None:
        kinds = {f"s{at}": kind for at, (_, kind, _) in enumerate(KEPT)}
        values = {f"s{at}": value for at, (value, *_) in enumerate(KEPT)}

        def update(_: str, __: Row, before: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
            return {"was": [json.dumps([str(before[name]) for name in kinds] if before else [])]}, values

        step = StatefulMap("step", takes=("n",), state=kinds, gives={"was": "string"}, update=update)
        found = run(to_out(NOTES.key_by("name").to(step)), {"in": ROWS[:1]}, {"in": ROWS[:1]}, mode=BATCH)

        assert [json.loads(row["was"]) for row in read(found)] == [[], [found for *_, found in KEPT]]

    def test_state_of_another_type_is_not_forgotten(self) -> None:
        kinds = {f"s{at}": kind for at, (_, kind) in enumerate(WRONG_VALUES)}
        returned = [({"was": [1]}, dict.fromkeys(kinds) | {f"s{at}": it}) for at, (it, _) in enumerate(WRONG_VALUES)]
        right = ({"was": [1]}, dict.fromkeys(kinds))

        found = run(
            returning(*returned, right, state=kinds, on_error="divert"), {"in": rows(len(returned) + 1)}, mode=BATCH
        )

        assert reasons(found["invalid"]) == [("function_raised", at) for at in range(len(returned))]
        assert read(found) == [{"n": len(returned), "was": 1}]

    @pytest.mark.parametrize(("value", "kind"), [(1.5, "bigint"), ([1], "map<string,bigint>")])
    def test_state_of_another_type_fails(self, value: Any, kind: str) -> None:
        said = re.escape(f"the new state has {value!r} as 'it'; let it be of the type {kind}")
        with pytest.raises(RunFailedError, match=said):
            run(returning(({"was": [1]}, {"it": value}), state={"it": kind}), {"in": rows(1)}, mode=BATCH)

    def test_what_is_no_state_of_the_names_that_are_declared_is_diverted(self) -> None:
        right = ({"was": [1]}, {"it": 1})

        found = run(
            returning(*NO_STATES, right, state={"it": "bigint"}, on_error="divert"),
            {"in": rows(len(NO_STATES) + 1)},
            mode=BATCH,
        )

        assert reasons(found["invalid"]) == [("function_raised", at) for at in range(len(NO_STATES))]
        assert read(found) == [{"n": len(NO_STATES), "was": 1}]

    @pytest.mark.parametrize("returned", [None, ({"was": [1]}, {"ti": 1})])
    def test_what_is_no_state_of_the_names_that_are_declared_fails(self, returned: Any) -> None:
        said = re.escape(f"a function returned {returned!r}; let it return the output, and the state with it")
        with pytest.raises(RunFailedError, match=said):
            run(returning(returned, state={"it": "bigint"}), {"in": rows(1)}, mode=BATCH)

    @pytest.mark.parametrize("window", [
        RangeWindow("step", size_s=1, aggregates={"n": lambda _: F.count("*")}, late=Sink("late", Json(Event))),
        SessionWindow("step", gap_s=1, aggregates={"n": lambda _: F.count("*")}, late=Sink("late", Json(Event))),
    ])  # fmt: skip
    def test_time_that_nobody_has_ends_no_job(self, window: RangeWindow | SessionWindow) -> None:
        named = Source("in", Json(Event), time="at_us").to(Map("window", {"window": lambda row: row.name}))
        times_us = (1, 1_700_000_000_000_000_000, 2**63 - 1, -(2**63), 9_000_000)
        events = [json.dumps({"name": "x", "at_us": at}) for at in times_us]

        found = run(to_out(named.key_by("window").to(window)), {"in": events}, mode=BATCH)

        assert [(row["window"], row["n"]) for row in read(found)] == [("x", 1)]
        assert reasons(found["invalid"]) == [("overflow", 1), ("overflow", 2), ("overflow", 3)]
