"""Every application as a black box in a real Spark, from memory to memory, in every mode that runs it."""

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from market_spread.common.wire.codec import decode
from market_spread.common.wire.layout import ALERT, DECISION, NBBO, Field, Kind, Layout
from market_spread.streaming import (
    CountWindow,
    Filter,
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
from market_spread.streaming.applications.market_spread import market_spread, market_spread_all_decisions, too_wide
from market_spread.streaming.applications.word_count import word_count
from market_spread.streaming.testing import MemoryRun, open_session
from tests.support.pipelines import NUMBER, SIZE, counting, pass_through, sequence_window

REAL_TIME, MICRO_BATCH = "real-time", "micro-batch"
MODES = (REAL_TIME, MICRO_BATCH)

# A manual's prose that comes with Python: every fifth chapter, as Spark takes minutes for all of it.
BOOK = "\n".join([*topics.values()][::5])


class Sparks:
    """One session at a time: a process has one Spark."""

    def __init__(self) -> None:
        self._open: tuple[str, object, SparkSession] | None = None

    def of(self, mode: str) -> SparkSession:
        if self._open is None or self._open[0] != mode:
            self.close()
            context = open_session(mode)
            self._open = (mode, context, context.__enter__())
        return self._open[2]

    def close(self) -> None:
        if self._open is not None:
            self._open[1].__exit__(None, None, None)  # type: ignore[attr-defined]
            self._open = None


@pytest.fixture(scope="module")
def sparks() -> Iterator[Sparks]:
    sessions = Sparks()
    yield sessions
    sessions.close()


Input = Mapping[str, Sequence[bytes]]


def outcome(spark: SparkSession, pipeline: Pipeline, mode: str, *inputs: Input, sink: str) -> list[bytes]:
    """What the sink gets if the inputs are processed one after the other."""
    with MemoryRun(spark, pipeline, mode) as run:
        for given in inputs:
            for source, values in given.items():
                run.send(source, values)
            run.process()
        return run.received(sink)


def number(sequence: int, value: int, counter: str = "apples") -> bytes:
    return f"N{counter:<8}{sequence:012}{value:+012}".encode()


# One mode after the other, so that each has one session; the classes below use the last one.


@pytest.mark.parametrize("mode", MODES, scope="class")
class TestInEveryMode:
    def test_pass_through_gives_what_it_gets(self, sparks: Sparks, mode: str) -> None:
        lines = [b"one", b"two", "drei – ünd".encode(), b""]

        found = outcome(sparks.of(mode), pass_through(), mode, {"in": lines[:2]}, {"in": lines[2:]}, sink="out")

        assert found == lines

    def test_word_count_of_a_book_is_that_of_a_plain_count(self, sparks: Sparks, mode: str) -> None:
        lines = BOOK.splitlines()
        half = len(lines) // 2
        inputs = ({"lines": [line.encode() for line in part]} for part in (lines[:half], lines[half:]))

        found = outcome(sparks.of(mode), word_count(), mode, *inputs, sink="counts")

        words = re.findall(r"[^\W_]+(?:'|[^\W_])*|'(?:'|[^\W_])*", BOOK.lower())
        totals: dict[str, list[int]] = defaultdict(list)
        for record in found:
            match = re.fullmatch(r"(\S+) => (\d+)", record.decode())
            assert match is not None, record
            totals[match[1]].append(int(match[2]))
        assert len(words) > 10_000
        assert {word: len(counts) for word, counts in totals.items()} == dict(Counter(words))
        assert all(counts == list(range(1, len(counts) + 1)) for counts in totals.values())

    def test_market_spread_judges_on_the_newest_quote(self, sparks: Sparks, mode: str) -> None:
        """Quotes first, then orders, so that both modes must say the same; prices at the rule's borders."""
        random = np.random.default_rng(5)
        bids = [-999_999_000, -1_000_000, -1, 0, 1, 499, 1_000, 10_000, 400_000, 1_000_000, 9_999_999_000]
        markets = {
            f"S{i}": (bid, min(max(-999_999_999, bid + spread), 9_999_999_999))
            for i, (bid, spread) in enumerate(itertools.product(bids, (-600, 0, 1, 25, 26, 499, 500, 501, 20_000)))
        }
        old = [quote(symbol, 0, 9_999, sequence=1) for symbol in markets]
        new = [quote(symbol, *market, sequence=2) for symbol, market in markets.items()]
        late = [quote(symbol, 0, 8_888, sequence=1) for symbol in markets]
        symbols = [*markets, "UNSEEN"]
        prices = [(-1) ** number * number * 1_999_999 for number in range(500)]
        drawn = zip(prices, random.integers(0, len(symbols), 500), strict=True)
        orders = [order(symbols[i], number, price) for number, (price, i) in enumerate(drawn)]

        quotes = [b"".join(old), b"".join(new), b"".join(late)]
        found = outcome(
            sparks.of(mode), market_spread(), mode, {"nbbo": quotes}, {"orders": [b"".join(orders)]}, sink="alerts"
        )

        alerts = decode(ALERT, b"".join(found))
        assert alerts.readable.all()
        judged = {
            number: (bid, offer)
            for number, bid, offer in zip(*(alerts.ints(n).tolist() for n in ("order_id", "bid", "offer")), strict=True)
        }
        by_order = {number: markets.get(order[1:7].decode().rstrip(), (0, 0)) for number, order in enumerate(orders)}
        assert judged == {number: market for number, market in by_order.items() if too_wide(*market)}
        assert 100 < len(judged) < 450
        assert alerts.ints("price").tolist() == [prices[number] for number in alerts.ints("order_id")]
        assert (alerts.ints("bid") < 0).sum() > 50

    def test_rows_go_to_every_sink_that_keeps_them_and_malformed_ones_to_invalid(
        self, sparks: Sparks, mode: str
    ) -> None:
        numbers = Source("numbers", NUMBER)
        pipeline = numbers.to_sink(
            Sink("small", Text("{value}"), keep=lambda row: row.value < 10),
            Sink("all", Text("{value}")),
            Sink("even", Text("{value}"), keep=lambda row: row.value % 2 == 0),
            name="split",
        )

        with MemoryRun(sparks.of(mode), pipeline, mode) as run:
            run.send("numbers", [number(i, value) for i, value in enumerate((3, 8, 11, 12))] + [b"noise"])
            run.process()
            found = {sink: run.received(sink) for sink in ("small", "all", "even", "invalid")}

        (malformed,) = found.pop("invalid")
        assert found == {"small": [b"3", b"8"], "all": [b"3", b"8", b"11", b"12"], "even": [b"8", b"12"]}
        assert json.loads(malformed)["reason"] == "wrong_length"

    def test_all_decisions_are_a_record_an_order_and_the_alerts_are_those_that_reject(
        self, sparks: Sparks, mode: str
    ) -> None:
        quotes = [quote("TIGHT", 10_000, 10_100, sequence=3), quote("WIDE", 10_000, 20_000, sequence=4)]
        symbols = ["TIGHT", "WIDE", "UNSEEN"]
        orders = [order(symbols[i % 3], i) for i in range(30)]

        with MemoryRun(sparks.of(mode), market_spread_all_decisions(), mode) as run:
            run.send("nbbo", quotes)
            run.process()
            run.send("orders", [b"".join(orders), b"noise"])
            run.process()
            found, alerts = b"".join(run.received("decisions")), b"".join(run.received("alerts"))
            assert len(run.received("invalid")) == 1

        decisions, rows = decode(DECISION, found), np.frombuffer(found, np.uint8).reshape(-1, DECISION.width)
        names = ("order_id", "bid", "offer", "quote_sequence")
        said = sorted(zip(*(decisions.ints(name).tolist() for name in names), map(chr, rows[:, -1]), strict=True))
        by_symbol = [(10_000, 10_100, 3, "A"), (10_000, 20_000, 4, "R"), (0, 0, 0, "R")]
        assert decisions.readable.all()
        assert said == [(i, *by_symbol[i % 3]) for i in range(30)]
        rejected = decode(ALERT, alerts)
        assert sorted(rejected.ints("order_id").tolist()) == [i for i in range(30) if i % 3]

    def test_market_spread_follows_flapping_markets_behind_fences(self, sparks: Sparks, mode: str) -> None:
        """Markets open and close, quotes come late and again, orders wait for the quotes: exactly what a loop says."""
        random = np.random.default_rng(11)
        symbols = [f"F{i}" for i in range(12)]
        newest: dict[str, tuple[int, int, int]] = {}
        sent: list[bytes] = []
        expected: dict[int, tuple[int, int, int]] = {}

        with MemoryRun(sparks.of(mode), market_spread(), mode) as run:
            for turn in range(5):
                fresh = []
                for symbol in random.permutation(symbols)[:8]:
                    bid = int(random.integers(0, 20_000))
                    market = (bid, max(0, bid + int(random.choice([-300, 10, 499, 500, 5_000]))), turn + 1)
                    newest[str(symbol)] = market
                    fresh.append(quote(str(symbol), market[0], market[1], sequence=market[2]))
                again = [sent[i] for i in random.integers(0, len(sent), 10)] if sent else []
                sent += fresh
                run.send("nbbo", [b"".join(random.permutation([*fresh, *again]).tolist())])
                run.process()
                ids = range(turn * 20, turn * 20 + 20)
                judged = {number: str(random.choice(symbols)) for number in ids}
                run.send("orders", [b"".join(order(symbol, number) for number, symbol in judged.items())])
                run.process()
                for number, symbol in judged.items():
                    market = newest.get(symbol, (0, 0, 0))
                    if too_wide(market[0], market[1]):
                        expected[number] = market
            alerts = decode(ALERT, b"".join(run.received("alerts")))

        columns = (alerts.ints(name).tolist() for name in ("order_id", "bid", "offer", "quote_sequence"))
        assert {number: tuple(market) for number, *market in zip(*columns, strict=True)} == expected
        assert 20 < len(expected) < 90

    def test_malformed_messages_go_to_invalid_and_the_rest_goes_on(self, sparks: Sparks, mode: str) -> None:
        orders = [order("A", 1) + order("A", 2).replace(b"+", b"x"), b"noise"]

        with MemoryRun(sparks.of(mode), market_spread(), mode) as run:
            run.send("orders", orders)
            run.process()
            reports = [json.loads(report) for report in run.received("invalid")]
            alerts = run.received("alerts")

        place = {"topic": "orders", "partition": 0}
        assert sorted(reports, key=lambda report: report["offset"]) == [
            {"reason": "unreadable_field", **place, "offset": 0, "position": 1},
            {"reason": "wrong_length", **place, "offset": 1, "position": 0},
        ]
        assert len(alerts) == 1

    def test_filter_and_map_see_every_row(self, sparks: Sparks, mode: str) -> None:
        doubled = Map("doubled", {"twice": lambda row: row.value + row.value})
        pipeline = (
            Source("numbers", NUMBER)
            .to(Filter("even", lambda row: row.value % 2 == 0))
            .to(doubled)
            .to_sink(Sink("out", Text("{counter}: {twice}"), key="counter"), name="doubling")
        )
        values = [number(i, i - 3) for i in range(6)]

        found = outcome(sparks.of(mode), pipeline, mode, {"numbers": [b"".join(values), b"bad"]}, sink="out")

        assert sorted(found) == [b"apples: -4", b"apples: 0", b"apples: 4"]


def quote(symbol: str, bid: int, offer: int, *, sequence: int) -> bytes:
    assert NBBO.width == 55
    return f"Q{symbol:<6}{bid:010}{offer:010}{sequence:016}{sequence:012}".encode()


def order(symbol: str, order_id: int, price: int = 1_000_000) -> bytes:
    return f"O{symbol:<6}B000057{order_id:010}+00000100{price:010}{100 + order_id:016}".encode()


class TestPythonInMicroBatchMode:
    """State and arrays in Python, which Real-Time Mode does not run."""

    def test_counting_tells_its_story(self, sparks: Sparks) -> None:
        numbers = [number(i, value) for i, value in enumerate((5, 10, 15))]

        found = outcome(
            sparks.of(MICRO_BATCH), counting(), MICRO_BATCH, *({"numbers": [n]} for n in numbers), sink="totals"
        )

        assert found == [b"apples 0 5", b"apples 1 15", b"apples 2 30"]

    def test_numbers_that_come_again_are_not_added_again(self, sparks: Sparks) -> None:
        numbers = [number(i, value) for i, value in enumerate((5, 10, 15))]
        inputs = ({"numbers": numbers[:2]}, {"numbers": numbers[:2]}, {"numbers": [*numbers, *numbers]})

        found = outcome(sparks.of(MICRO_BATCH), counting(), MICRO_BATCH, *inputs, sink="totals")

        assert found == [b"apples 0 5", b"apples 1 15", b"apples 2 30"]

    def test_counters_have_their_own_totals_and_bad_numbers_none(self, sparks: Sparks) -> None:
        frame = number(1, 5) + number(1, 7, "pears") + number(2, 1).replace(b"+", b"?") + number(3, -2)

        with MemoryRun(sparks.of(MICRO_BATCH), counting(), MICRO_BATCH) as run:
            run.send("numbers", [frame, b"noise"])
            run.process()
            totals, invalid = run.received("totals"), run.received("invalid")

        assert sorted(totals) == [b"apples 1 5", b"apples 3 3", b"pears 1 7"]
        assert [json.loads(report)["position"] for report in invalid] in ([2, 0], [0, 2])

    def test_windows_of_a_sequence_follow_each_other(self, sparks: Sparks) -> None:
        numbers = [number(i, i) for i in range(1, 51)]
        inputs = ({"numbers": numbers[begin : begin + 7]} for begin in range(0, 50, 7))

        found = outcome(sparks.of(MICRO_BATCH), sequence_window(), MICRO_BATCH, *inputs, sink="windows")

        for parity in (0, 1):
            windows = [window for window in map(json.loads, found) if window[-1] % 2 == parity]
            last = [number for number in range(1, 51) if number % 2 == parity]
            padded = [0] * SIZE + last
            assert windows == [padded[i + 1 : i + 1 + SIZE] for i in range(len(last))]

    def test_arrays_of_thousands_of_rows_are_worked_off_at_once(self, sparks: Sparks) -> None:
        squares = MapBatches(
            "squares", takes=("value",), gives={"square": "bigint"}, function=lambda row: {"square": row.value**2}
        )
        pipeline = Source("numbers", NUMBER).to(squares).to_sink(Sink("out", Text("{square}")), name="squares")
        values = [number(i, i) for i in range(1_000)]

        with MemoryRun(sparks.of(MICRO_BATCH), pipeline, MICRO_BATCH) as run:
            run.send("numbers", [b"".join(values), b"noise"])
            run.process()
            found, invalid = run.received("out"), run.received("invalid")

        assert sorted(map(int, found)) == [i**2 for i in range(1_000)]
        assert len(invalid) == 1

    def test_sequence_that_a_step_leaves_out_is_not_looked_for(self, sparks: Sparks) -> None:
        parity = MapBatches(
            "parity", takes=("value",), gives={"parity": "bigint"}, function=lambda row: {"parity": row.value % 2}
        )
        counted = (
            Source("numbers", NUMBER, sequence="sequence")
            .to(parity)
            .key_by("parity")
            .to(RunningTotal("count", into="count"))
        )
        pipeline = counted.to_sink(Sink("out", Text("{parity} {count}")), name="parities")

        found = outcome(
            sparks.of(MICRO_BATCH),
            pipeline,
            MICRO_BATCH,
            {"numbers": [number(i, i) for i in range(5)]},
            sink="out",
        )

        assert sorted(found) == [b"0 1", b"0 2", b"0 3", b"1 1", b"1 2"]

    def test_two_sinks_get_every_row(self, sparks: Sparks) -> None:
        upper = Source("in", Text()).to(Map("upper", {"loud": lambda row: F.upper(row.text)}))
        pipeline = upper.to_sink(Sink("soft", Text()), Sink("loud", Text("{loud}!")), name="both")

        with MemoryRun(sparks.of(MICRO_BATCH), pipeline, MICRO_BATCH) as run:
            run.send("in", [b"a", b"b"])
            run.process()

            assert (run.received("soft"), run.received("loud")) == ([b"a", b"b"], [b"A!", b"B!"])

    def test_state_may_grow(self, sparks: Sparks) -> None:
        def append(
            _key: str, rows: Row, before: Mapping[str, object] | None
        ) -> tuple[dict[str, list[str]], dict[str, object]]:
            seen = [*(before["seen"] if before else []), *rows.value.tolist()]  # type: ignore[misc]
            return {"seen": [" ".join(map(str, seen))]}, {"seen": seen}

        remember = StatefulMap(
            "seen", takes=("value",), state={"seen": "array<bigint>"}, gives={"seen": "string"}, update=append
        )
        numbers = Source("numbers", NUMBER).key_by("counter").to(remember)
        pipeline = numbers.to_sink(Sink("out", Text("{counter} {seen}")), name="growing")
        inputs = ({"numbers": [number(i, i)]} for i in range(4))

        found = outcome(sparks.of(MICRO_BATCH), pipeline, MICRO_BATCH, *inputs, sink="out")

        assert found == [b"apples 0", b"apples 0 1", b"apples 0 1 2", b"apples 0 1 2 3"]

    def test_count_window_leaves_when_it_is_full(self, sparks: Sparks) -> None:
        window = CountWindow(
            "three",
            size=3,
            takes=("value",),
            gives={"total": "bigint"},
            function=lambda _, rows: {"total": rows.value.sum()},
        )
        pipeline = (
            Source("numbers", NUMBER)
            .key_by("counter")
            .to(window)
            .to_sink(Sink("out", Text("{counter} {total}")), name="threes")
        )
        inputs = ({"numbers": [number(i, i) for i in part]} for part in ((0, 1), (2, 3), (4, 5, 6, 7), (8,)))

        found = outcome(sparks.of(MICRO_BATCH), pipeline, MICRO_BATCH, *inputs, sink="out")

        assert found == [b"apples 3", b"apples 12", b"apples 21"]

    @pytest.mark.parametrize(
        ("slide_s", "expected"),
        [
            (None, [b"A 0 2", b"A 10 1", b"B 0 1"]),
            (5, [b"A -5 1", b"A 0 2", b"A 10 1", b"A 5 2", b"B 0 1", b"B 5 1"]),
        ],
    )
    def test_range_window_leaves_when_it_is_over(
        self, sparks: Sparks, slide_s: float | None, expected: list[bytes]
    ) -> None:
        window = RangeWindow(
            "ten seconds", size_s=10, slide_s=slide_s, late_s=2, aggregates={"orders": lambda _: F.count("*")}
        )
        second = Map(
            "second", {"start_s": lambda row: row.window_start_us / 1_000_000, "name": lambda row: F.rtrim(row.symbol)}
        )
        pipeline = (
            Source("orders", ORDERS_BY_TIME, time="time_us")
            .key_by("symbol")
            .to(window)
            .to(second)
            .to_sink(Sink("out", Text("{name} {start_s} {orders}")), name="windows")
        )
        inputs: list[Input] = [
            {"orders": [timed("A", 1.0) + timed("A", 9.0), timed("B", 6.0), b"noise"]},
            {"orders": [timed("A", 14.0)]},
            {"orders": [timed("A", 30.0)]},  # everything before 28 is over now
            {"orders": [timed("A", 3.0)]},  # too late
        ]

        with MemoryRun(sparks.of(MICRO_BATCH), pipeline, MICRO_BATCH) as run:
            for given in inputs:
                run.send("orders", given["orders"])
                run.process()
            found, invalid = run.received("out"), run.received("invalid")

        assert sorted(re.sub(rb"(-?\d+)\.0", rb"\1", record) for record in found) == expected
        assert [json.loads(report)["reason"] for report in invalid] == ["wrong_length"]


ORDERS_BY_TIME = Layout(
    "timed",
    (Field("kind", 1, Kind.LETTER, "T"), Field("symbol", 4, Kind.TEXT), Field("time_us", 16, Kind.DIGITS)),
)


def timed(symbol: str, second: float) -> bytes:
    return f"T{symbol:<4}{round(second * 1e6):016}".encode()


RUNS = """
from tests.support.pipelines import counting, pass_through
from market_spread.streaming.testing import MemoryRun, open_session

with open_session("micro-batch", cores=2) as spark, MemoryRun(spark, counting(), "micro-batch") as run:
    run.send("numbers", [b"Na       000000000001+00000000005"])
    run.process()
    print(run.received("totals"))
with open_session("real-time", cores=3) as spark, MemoryRun(spark, pass_through(), "real-time") as run:
    run.send("in", [b"one"])
    run.process()
    print(run.received("out"))
"""


def test_memory_runs_end_without_an_error_and_leave_no_temporary_file() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="a blank ") as folder:
        java = f"{os.environ.get('JDK_JAVA_OPTIONS', '')} '-Djava.io.tmpdir={folder}'"
        environment = {**os.environ, "TMPDIR": folder, "JDK_JAVA_OPTIONS": java}
        environment.pop("ROCKSDB_SHAREDLIB_DIR", None)

        said = subprocess.run([sys.executable, "-c", RUNS], env=environment, capture_output=True, text=True, check=True)

        assert said.stdout == "[b'a 1 5']\n[b'one']\n"
        assert [line for line in said.stderr.splitlines() if "ERROR" in line or "fatal" in line.lower()] == []
        deadline = time.monotonic() + 20
        while (left := [path.name for path in Path(folder).iterdir()]) and time.monotonic() < deadline:
            time.sleep(0.1)  # the JVM ends a moment later than the process
        assert left == []
