"""Awkward but legal messages, names and results of functions: none is changed, lost or ends the job without a word."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import functions as F

from market_spread.common.errors import RunFailedError
from market_spread.streaming import (
    Csv,
    Json,
    Map,
    MapBatches,
    Pipeline,
    Row,
    RunningTotal,
    Sink,
    Source,
    StatefulMap,
    Stream,
    Text,
)
from market_spread.streaming.testing import Outputs, run

MODES = ("micro-batch", "real-time")
BATCH = "micro-batch"


@dataclass
class Note:
    name: str
    n: int


ROWS = ['{"name": "x", "n": 1}', '{"name": "y", "n": 2}', '{"name": "x", "n": 3}']
ALL_FIELDS = Json()
NOTES = Source("in", Json(Note))


def to_out(stream: Stream | Source, messages: Json | Csv | Text = ALL_FIELDS) -> Pipeline:
    return stream.to_sink(Sink("out", messages), name="awkward")


def read(found: Outputs) -> list[dict[str, Any]]:
    return [json.loads(value) for value in found["out"]]


@pytest.mark.parametrize("mode", MODES)
class TestInEveryMode:
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


def remembered(value: Any, kind: str) -> list[Any]:
    """What the second batch finds in the state, if the first one has put the value there."""

    def update(_: str, __: Row, before: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return {"was": [str(before["it"]) if before else ""]}, {"it": value}

    step = StatefulMap("step", takes=("n",), state={"it": kind}, gives={"was": "string"}, update=update)
    found = run(to_out(NOTES.key_by("name").to(step)), {"in": ROWS[:1]}, {"in": ROWS[:1]}, mode=BATCH)
    return [row["was"] for row in read(found)]


class TestPython:
    def test_integers_beside_none_stay_what_they_are(self) -> None:
        found = run(batches(lambda _: {"out": [None, 2**60 + 1]}), {"in": ROWS}, mode=BATCH)

        assert [row["out"] for row in read(found)] == [None, 2**60 + 1]

    @pytest.mark.parametrize("returned", [{"uot": [1]}, {"out": "gold"}, {"out": 1}, {"out": {1, 2}}])
    def test_result_that_is_no_array_of_its_name_fails(self, returned: Mapping[str, Any]) -> None:
        with pytest.raises(RunFailedError, match=r"a function returned .*; let it return an array or list of 'out'"):
            run(batches(lambda _: returned, "string"), {"in": ROWS}, mode=BATCH)

    def test_function_is_not_called_without_rows(self) -> None:
        found = run(batches(lambda rows: {"out": [max(rows.n)]}), {"in": ["no object"]}, {"in": ROWS}, mode=BATCH)

        assert read(found) == [{"out": 3}]

    def test_name_that_is_not_english_is_one_everywhere(self) -> None:
        found = run(batches(lambda rows: {"größe": rows.n}, name="größe"), {"in": ROWS}, mode=BATCH)

        assert [row["größe"] for row in read(found)] == [1, 2, 3]

    @pytest.mark.parametrize(
        ("value", "kind", "found"),
        [(5, "double", "5.0"), (True, "bigint", "1"), (7, "decimal(10,2)", "7.00"), (None, "bigint", "None"),
         (5, "string", "5"), (Decimal("1.50"), "decimal(10,2)", "1.50"), ([1, None], "array<bigint>", "[1, None]")],
    )  # fmt: skip
    def test_state_comes_back_as_it_was_put_there(self, value: Any, kind: str, found: str) -> None:
        assert remembered(value, kind) == ["", found]

    @pytest.mark.parametrize(
        ("value", "kind"), [(1.5, "bigint"), ("x", "bigint"), (2**63, "bigint"), ("x", "double"), (1, "boolean")]
    )
    def test_state_of_another_type_fails_and_is_not_forgotten(self, value: Any, kind: str) -> None:
        with pytest.raises(RunFailedError, match=f"the new state has {value!r} as 'it'; let it be of the type {kind}"):
            remembered(value, kind)
