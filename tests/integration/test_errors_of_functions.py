"""An exception in a user's function ends the job in a sentence, or diverts the record, as the step says."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pytest
from pyspark.sql import functions as F

from market_spread.common.errors import RunFailedError
from market_spread.streaming import (
    Filter,
    FlatMap,
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
from market_spread.streaming.testing import run
from tests.integration.test_messages_of_pipelines import reasons, word

MODES = ("real-time", "micro-batch")
OnError = Literal["fail", "divert"]


def checked(row: Row) -> Any:
    """The number in a line; an exception for `x`."""
    return F.when(row.text == "a x", F.raise_error(F.lit("no x"))).otherwise(word(1)(row)).try_cast("bigint")


def out(stream: Stream, pattern: str = "{text}") -> Pipeline:
    return stream.to_sink(Sink("out", Text(pattern)), name="p")


def numbers(on_error: OnError) -> Stream:
    # The function occurs twice, so Spark would calculate it once, before both.
    added = {"n": checked, "twice": lambda row: checked(row) * 2, "name": word(0)}
    return Source("lines", Text()).to(Map("numbers", added, on_error=on_error))


LINES = ["a 1", "a x", "b none", "a 3"]


@pytest.mark.parametrize("mode", MODES, scope="class")
class TestColumns:
    def test_map_diverts_the_row_for_which_it_raises(self, mode: str) -> None:
        added = numbers("divert").key_by("name").to(RunningTotal("total", into="total", of="twice"))

        found = run(out(added, "{name} {n} {total}"), {"lines": LINES}, mode=mode)

        assert found["out"] == [b"a 1 2", b"a 3 8"]
        assert reasons(found["invalid"]) == [("function_raised", 1), ("missing_value", 2)]

    def test_filter_and_flat_map_do_too(self, mode: str) -> None:
        positive = Filter("positive", lambda row: checked(row) > 1, on_error="divert")
        letters = FlatMap("letters", lambda row: F.array(word(0)(row), checked(row)), into="it", on_error="divert")
        lines = Source("lines", Text())

        filtered = run(out(lines.to(positive)), {"lines": LINES}, mode=mode)
        flat = run(out(lines.to(letters), "{it}"), {"lines": ["a 1", "a x"]}, mode=mode)

        assert filtered["out"] == [b"a 3"]
        assert reasons(filtered["invalid"]) == [("function_raised", 1), ("missing_value", 2)]
        assert flat["out"] == [b"a", b"1"]
        assert reasons(flat["invalid"]) == [("function_raised", 1)]

    def test_by_default_it_fails_and_says_why(self, mode: str) -> None:
        with pytest.raises(RunFailedError) as raised:
            run(out(numbers("fail"), "{n}"), {"lines": LINES}, mode=mode)

        assert str(raised.value) == "[USER_RAISED_EXCEPTION] no x"

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            (lambda _: F.col("nope"), "name `nope` cannot be resolved. Did you mean one of the following? "),
            (lambda row: F.size(row.text), 'Cannot resolve "size(text)" due to data type mismatch: '),
        ],
        ids=["name", "type"],
    )
    def test_what_spark_cannot_plan_fails_in_one_sentence(
        self, mode: str, wrong: Callable[[Row], Any], said: str
    ) -> None:
        step = Map("wrong", {"n": wrong})

        with pytest.raises(RunFailedError) as raised:
            run(out(Source("lines", Text()).to(step), "{n}"), {"lines": LINES}, mode=mode)

        assert said in str(raised.value)
        assert re.search(r"\n|SQLSTATE|Project", str(raised.value)) is None


def squared(row: Row) -> Mapping[str, Any]:
    if (row.n == 7).any():
        raise ValueError("no sevens")
    return {"square": row.n**2}


def highest(name: str, rows: Row, before: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    squared(rows)
    seen = np.maximum.accumulate([before["best"] if before else 0, *rows.n])
    return {"best": seen[1:], "n": rows.n if 13 not in rows.n else rows.n[1:]}, {"best": int(seen[-1])}


def squares(on_error: OnError) -> Pipeline:
    arrays = MapBatches("squares", takes=("n",), gives={"square": "bigint"}, function=squared, on_error=on_error)
    return out(numbers("fail").to(arrays), "{square}")


class TestPython:
    """In micro-batch mode; the other runs no Python."""

    def test_arrays_divert_only_the_rows_for_which_they_raise(self) -> None:
        found = run(squares("divert"), {"lines": [f"a {number % 50}" for number in range(1_000)]})

        assert sorted(map(int, found["out"])) == sorted((n % 50) ** 2 for n in range(1_000) if n % 50 != 7)
        assert reasons(found["invalid"]) == [("function_raised", n) for n in range(7, 1_000, 50)]

    def test_state_stays_as_it_was_before_the_row_that_is_diverted(self) -> None:
        best = StatefulMap(
            "best", takes=("n",), state={"best": "bigint"}, gives={"best": "bigint", "n": "bigint"}, update=highest,
            on_error="divert",
        )  # fmt: skip
        pipeline = out(numbers("fail").key_by("name").to(best), "{name} {n} {best}")
        # 13 gives arrays of unlike lengths.
        first = {"lines": ["a 1", "a 7", "a 5", "b 7", "a 13", "a 2", "b 6"]}

        found = run(pipeline, first, {"lines": ["a 7"]}, {"lines": ["a 3", "b 7", "b 9"]})

        assert sorted(found["out"]) == sorted([b"a 1 1", b"a 5 5", b"a 2 5", b"b 6 6", b"a 3 5", b"b 9 9"])
        assert reasons(found["invalid"]) == [("function_raised", n) for n in (1, 3, 4, 7, 9)]

    def test_by_default_it_fails_with_file_and_line(self) -> None:
        with pytest.raises(RunFailedError) as raised:
            run(squares("fail"), {"lines": ["a 1", "a 7"]})

        line = squared.__code__.co_firstlineno + 2
        assert str(raised.value) == f"test_errors_of_functions.py:{line}: ValueError: no sevens"
