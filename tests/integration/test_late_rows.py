"""Late rows: each is counted, and comes out of the step or of its sink for late rows, never of both or of none."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

from market_spread.streaming import (
    Deduplicate,
    IntervalJoin,
    Json,
    Map,
    RangeWindow,
    SessionWindow,
    Sink,
    Source,
    Text,
)
from market_spread.streaming.testing import MemoryRun, open_session, run

SECOND = 1_000_000


@dataclass
class Tick:
    name: str
    at_us: int
    price: Decimal | None = None
    share: float | None = None
    is_open: bool | None = None


TICKS = Source("ticks", Json(Tick), time="at_us")
LATE = Sink("late", Text("{name} {at_us}"))


def tick(name: str, at_s: float, **more: object) -> str:
    return json.dumps({"name": name, "at_us": round(at_s * SECOND), **more})


@pytest.mark.parametrize(
    ("slide_s", "late"),
    [(None, [b"a 8000000", b"b 12000000"]), (5, [b"a 8000000", b"b 12000000"]), (1, [b"a 8000000"])],
)
def test_window_gives_its_late_rows_to_their_sink(slide_s: float | None, late: list[bytes]) -> None:
    window = RangeWindow(
        "ten", size_s=10, slide_s=slide_s, late_s=2, aggregates={"n": lambda _: F.count("*")}, late=LATE
    )
    pipeline = TICKS.key_by("name").to(window).to_sink(Sink("out", Text("{name} {n}")), name="windows")
    batches = ([tick("a", 1), "none"], [tick("b", 22.001)], [tick("a", 8), tick("b", 12), tick("b", 20)])

    found = run(pipeline, *({"ticks": batch} for batch in batches))

    # The watermark is at 20.001 s: the window of 12 s has ended, unless there are later ones.
    assert sorted(found["late"]) == late
    assert found.late == len(late)
    assert len(found["invalid"]) == 1


def test_late_rows_keep_what_they_had() -> None:
    window = SessionWindow(
        "visit", gap_s=5, aggregates={"n": lambda _: F.count("*")}, late=Sink("late", Json(), key="name")
    )
    told = TICKS.to(Map("when", {"at": lambda row: F.timestamp_micros(row.at_us)})).key_by("name").to(window)
    pipeline = told.to_sink(Sink("out", Text("{name} {n}")), name="visits")
    rich = tick("é", 3.000001, price=1.25, share=0.1, is_open=True)

    found = run(pipeline, {"ticks": [tick("z", 60)]}, {"ticks": [rich, tick("a", 4)]}, {"ticks": [tick("a", 57)]})

    late = sorted((json.loads(value) for value in found["late"]), key=lambda it: str(it["name"]))
    assert [(it["name"], it["at_us"], it["price"], it["share"], it["is_open"]) for it in late] == [
        ("a", 4 * SECOND, None, None, None), ("é", 3_000_001, 1.25, 0.1, True),
    ]  # fmt: skip
    assert found.late == 2


def test_deduplicate_and_join_give_theirs_too() -> None:
    once = TICKS.key_by("name").to(Deduplicate("once", late_s=10, late=LATE))
    near = IntervalJoin("near", of="others", before_s=5, after_s=5, added={"other_us": "at_us"}, late_s=10, late=LATE)
    others = Source("others", Json(Tick), time="at_us")
    joined = TICKS.merge(others).key_by("name").to(near)

    deduplicated = run(
        once.to_sink(Sink("out", Text("{name} {at_us}")), name="once"),
        {"ticks": [tick("a", 1), tick("a", 1), tick("b", 30)]},
        {"ticks": [tick("a", 1), tick("c", 20), tick("c", 20.1)]},
    )  # fmt: skip
    met = run(
        joined.to_sink(Sink("out", Text("{name} {at_us} {other_us}")), name="near"),
        {"ticks": [tick("a", 1), tick("a", 40)], "others": [tick("a", 2), tick("a", 30)]},
        {"ticks": [tick("a", 20)], "others": [tick("a", 19), tick("a", 25)]},
    )

    assert sorted(deduplicated["late"]) == [b"a 1000000", b"c 20000000"]
    assert sorted(deduplicated["out"]) == [b"a 1000000", b"b 30000000", b"c 20100000"]
    assert sorted(met["late"]) == [b"a 19000000", b"a 20000000"]
    assert met["out"] == [b"a 1000000 2000000"]
    assert (deduplicated.late, met.late) == (2, 2)


@pytest.mark.parametrize("seed", range(2))
def test_each_row_counts_in_a_window_or_is_late(seed: int) -> None:
    """Rows come all the time, so batches follow each other with and without a batch between that has none."""
    chance = random.Random(seed)
    window = RangeWindow("one", size_s=1, late_s=1, aggregates={"n": lambda _: F.count("*")}, late=LATE)
    pipeline = TICKS.key_by("name").to(window).to_sink(Sink("out", Text("{name} {window_start_us} {n}")), name="all")
    sent: Counter[str] = Counter()

    with open_session("micro-batch") as spark, MemoryRun(spark, pipeline, "micro-batch") as running:
        for step in range(12):
            for _ in range(3):
                at = [(chance.choice("ab"), round(max(0.0, step + chance.uniform(-5, 1)), 3)) for _ in range(20)]
                sent.update(f"{name} {int(second)}" for name, second in at)
                running.send("ticks", [tick(name, second).encode() for name, second in at])
            if chance.random() < 0.5:
                running.process()
        running.send("ticks", [tick("end", 100).encode()])
        running.process()
        windows, late, count = running.received("out"), running.received("late"), running.late()

    counted = Counter({f"{name} {int(start) // SECOND}": int(n) for name, start, n in split(windows)})
    assert len(windows) == len(counted)
    assert count == len(late) > 20
    assert counted + Counter(f"{name} {int(at) // SECOND}" for name, at in split(late)) == sent


def split(values: Iterable[bytes]) -> Iterable[list[str]]:
    return (value.decode().split() for value in values)
