"""Nulls, malformed messages and totals that overflow: the same answer in each mode, and nothing lost."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from market_spread.streaming import (
    Field,
    Filter,
    FlatMap,
    Kind,
    Layout,
    Map,
    MapBatches,
    Pipeline,
    RangeWindow,
    Row,
    RunningTotal,
    Sink,
    Source,
    StatefulMap,
    Text,
)
from market_spread.streaming.testing import MemoryRun, open_session

MODES = ("micro-batch", "real-time")
Run = Callable[..., dict[str, list[bytes]]]


@pytest.fixture(scope="module", params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def spark(mode: str) -> Iterator[SparkSession]:
    with open_session(mode) as session:
        yield session


@pytest.fixture
def run(spark: SparkSession, mode: str) -> Run:
    """What each sink, and `invalid`, gets of inputs, of which each is processed before the next is sent."""

    def done(pipeline: Pipeline, *inputs: Mapping[str, Iterable[bytes | str]]) -> dict[str, list[bytes]]:
        with MemoryRun(spark, pipeline, mode) as running:
            for given in inputs:
                for source, values in given.items():
                    running.send(source, [value.encode() if isinstance(value, str) else value for value in values])
                running.process()
            return {sink: running.received(sink) for sink in (*(each.name for each in pipeline.sinks), "invalid")}

    return done


def reasons(invalid: Iterable[bytes]) -> list[tuple[str, int | None]]:
    """Each with the offset of its record, in the order of the input."""
    reports = [json.loads(report) for report in invalid]
    return sorted(((it["reason"], it.get("offset")) for it in reports), key=lambda it: (it[1] or 0, it[0]))


def word(number: int, kind: str = "string") -> Callable[[Row], Column]:
    return lambda row: F.get(F.split(row.text, " "), F.lit(number)).try_cast(kind)


CUT = Map("cut", {"name": word(0), "fare": word(1, "bigint")})


def test_bytes_that_are_no_text_are_malformed(run: Run) -> None:
    counted = Source("lines", Text()).key_by("text").to(RunningTotal("count", into="count"))
    pipeline = counted.to_sink(Sink("counts", Text("{text} {count}")), name="counts")

    found = run(pipeline, {"lines": [b"anna", b"\xff\xfe 3", "é", b"anna"]})

    assert sorted(found["counts"]) == sorted([b"anna 1", "é 1".encode(), b"anna 2"])
    assert reasons(found["invalid"]) == [("unreadable_field", 1)]


def test_bytes_in_a_layout_that_are_no_text_are_malformed(run: Run) -> None:
    layout = Layout("named", (Field("kind", 1, Kind.LETTER, "N"), Field("name", 4, Kind.TEXT)))
    counted = Source("names", layout).key_by("name").to(RunningTotal("count", into="count"))
    pipeline = counted.to_sink(Sink("counts", Text("{name} {count}")), name="counts")

    found = run(pipeline, {"names": [b"Nanna" + b"N\xff\xfe  " + b"Nbert"]})

    assert sorted(found["counts"]) == [b"anna 1", b"bert 1"]
    assert [json.loads(report)["position"] for report in found["invalid"]] == [1]


def test_rows_without_a_value_where_a_step_needs_one_are_malformed(run: Run) -> None:
    words = Source("lines", Text()).to(CUT).key_by("name").to(RunningTotal("sum", into="sum", of="fare"))
    pipeline = words.to_sink(Sink("sums", Text("{name} {sum}")), name="sums")

    found = run(pipeline, {"lines": ["anna 12", "bert x", "anna 30", "bert 7"]})

    assert sorted(found["sums"]) == [b"anna 12", b"anna 42", b"bert 7"]
    assert reasons(found["invalid"]) == [("missing_value", 1)]


def test_row_that_only_passes_keeps_its_nulls(run: Run) -> None:
    counted = Source("lines", Text()).to(CUT).key_by("name").to(RunningTotal("count", into="count"))
    known = Map("known", {"said": lambda row: F.when(row.fare.isNull(), "none").otherwise(row.fare.cast("string"))})
    pipeline = counted.to(known).to_sink(Sink("out", Text("{name} {count} {said}")), name="nulls")

    found = run(pipeline, {"lines": [f"anna {2**60 + 1}", "anna x", "anna 0"]})

    assert found["out"] == [f"anna 1 {2**60 + 1}".encode(), b"anna 2 none", b"anna 3 0"]
    assert found["invalid"] == []


def test_null_is_malformed_to_filter_flat_map_and_sink(run: Run) -> None:
    letters = FlatMap("letters", lambda row: F.split(row.more, "-"), into="letter")
    cut = Source("lines", Text()).to(CUT).to(Map("more", {"more": word(2)}))
    kept = cut.to(Filter("paid", lambda row: row.fare > 1)).to(letters)
    last = kept.to(Map("last", {"seat": lambda row: F.when(row.letter != "z", row.letter)}))
    paid = Sink("paid", Text("{fare} {seat}"), keep=lambda row: row.fare < 50)
    pipeline = last.to_sink(paid, Sink("dear", Text("{fare}"), keep=lambda row: row.fare >= 50), name="letters")

    found = run(pipeline, {"lines": ["a 2 x-y", "b x x", "c 3", "d 4 z", "e 1 x", "f 60 z"]})

    assert found["paid"] == [b"2 x", b"2 y"]
    assert found["dear"] == [b"60"]
    assert reasons(found["invalid"]) == [("missing_value", 1), ("missing_value", 2), ("missing_value", 3)]


def test_total_that_leaves_64_bits_is_refused_and_stays_so(run: Run) -> None:
    words = Source("lines", Text()).to(CUT).key_by("name").to(RunningTotal("total", into="total", of="fare"))
    pipeline = words.to_sink(Sink("totals", Text("{name} {total}")), name="totals")

    found = run(pipeline, {"lines": [f"zoe {2**63 - 1}", "zoe 1", "anna 1"]}, {"lines": ["zoe -5", "anna 2"]})

    assert sorted(found["totals"]) == [b"anna 1", b"anna 3", b"zoe 9223372036854775807"]
    assert reasons(found["invalid"]) == [("overflow", 1), ("overflow", 3)]


def test_steps_after_merge_and_key_by_are_done_in_each_branch(run: Run) -> None:
    merged = Source("left", Text()).merge(Source("right", Text())).key_by("text").to(CUT).key_by("name")
    counted = merged.to(RunningTotal("count", into="count"))
    pipeline = counted.to_sink(Sink("counts", Text("{name} {count}")), name="counts")

    found = run(pipeline, {"left": ["a 1"]}, {"right": ["a 2"]})

    assert found["counts"] == [b"a 1", b"a 2"]


@pytest.mark.parametrize("mode", ["micro-batch"], scope="module")
def test_texts_have_windows_of_the_time_that_a_step_makes(run: Run, mode: str) -> None:
    window = RangeWindow("ten", size_s=10, aggregates={"n": lambda _: F.count("*")})
    time = Map("time", {"at_us": lambda row: row.fare * 1_000_000})
    windows = Source("lines", Text()).to(CUT).to(time).timed_by("at_us").key_by("name").to(window)
    pipeline = windows.to_sink(Sink("counts", Text("{name} {n}")), name="windows")

    found = run(pipeline, {"lines": ["a 1", "a 2", "b x", "a 11"]}, {"lines": ["a 30"]})

    assert sorted(found["counts"]) == [b"a 1", b"a 2"]
    assert reasons(found["invalid"]) == [("missing_value", 2)]


@pytest.mark.parametrize("mode", ["micro-batch"], scope="module")
def test_python_never_gets_a_null(run: Run, mode: str) -> None:
    seen = StatefulMap(
        "seen", takes=("fare",), state={"n": "bigint"}, gives={"n": "bigint"},
        update=lambda key, rows, before: ({"n": [len(rows.fare)]}, {"n": len(rows.fare)}),
    )  # fmt: skip
    batches = MapBatches("n", takes=("n",), gives={"m": "bigint"}, function=lambda row: {"m": row.n + 1})
    stream = Source("lines", Text()).to(CUT).key_by("name").to(seen).to(batches)
    pipeline = stream.to_sink(Sink("out", Text("{m}")), name="nulls")

    found = run(pipeline, {"lines": ["a 1", "a x", "b 2"]})

    assert found["out"] == [b"2", b"2"]
    assert reasons(found["invalid"]) == [("missing_value", 1)]
