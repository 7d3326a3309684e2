"""Pipelines whose output tells what was lost, doubled or reordered; started by name as a user's own are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import functions as F

from market_spread.streaming import (
    Csv,
    Field,
    Kind,
    Layout,
    Map,
    Pipeline,
    RangeWindow,
    Row,
    RunningTotal,
    Sink,
    Source,
    StatefulMap,
    Text,
)

SIZE = 4
NUMBER = Layout(
    "number",
    (
        Field("kind", 1, Kind.LETTER, "N"),
        Field("counter", 8, Kind.TEXT),
        Field("sequence", 12, Kind.DIGITS),
        Field("value", 12, Kind.SIGNED),
    ),
)


def counting() -> Pipeline:
    """For each number, the total of its counter so far: 5, 10 and 15 give 5, 15 and 30.

    Each number has a sequence, so one that is sent again is recognised and not added again.
    """
    numbers = Source("numbers", NUMBER, sequence="sequence").key_by("counter")
    totals = numbers.to(RunningTotal("total", into="total", of="value"))
    return totals.to_sink(Sink("totals", Text("{counter} {sequence} {total}"), key="counter"), name="counting")


def pass_through() -> Pipeline:
    """A record out for every record in, without a step."""
    return Source("in", Text()).to_sink(Sink("out", Text()), name="pass_through")


def sequence_window() -> Pipeline:
    """After every number, the last four numbers of its parity, `[a,b,c,d]`, so that every lost message shows.

    The input is 1, 2, 3 and so on. A window is right if its numbers have one parity and are two apart, with zeros only
    in front, and if it follows the previous one of its parity (after the reference's correctness test of that name).
    """
    numbers = Source("numbers", NUMBER, sequence="sequence").to(Map("parity", {"parity": parity})).key_by("parity")
    window = StatefulMap(
        "window", takes=("value",), state={"last": "array<bigint>"}, gives={"window": "string"}, update=slide
    )
    return numbers.to(window).to_sink(Sink("windows", Text("{window}"), key="parity"), name="sequence_window")


@dataclass
class Visit:
    """A visit, and its second."""

    name: str
    second: int


def minutes() -> Pipeline:
    """How often each name has come in each minute; a window waits 5 s for late rows."""
    timed = Source("visits", Csv(Visit)).to(Map("time", {"at_us": lambda row: row.second * 1_000_000}))
    window = RangeWindow("minute", size_s=60, late_s=5, aggregates={"count": lambda _: F.count("*")})
    counted = timed.timed_by("at_us").key_by("name").to(window)
    start = counted.to(Map("start", {"start_s": lambda row: F.floor(row.window_start_us / 1_000_000)}))
    return start.to_sink(Sink("counts", Text("{name} {start_s} {count}")), name="minutes")


def of_records() -> Pipeline:
    """What is in each record besides its value, and how many came with its key."""
    lines = Source("lines", Text(), key="user", timestamp="at_us", headers={"trace": "trace-id"})
    counted = lines.key_by("user").to(RunningTotal("count", into="count"))
    return counted.to_sink(Sink("out", Text("{text} {user} {trace} {at_us} {count}")), name="of_records")


def parity(row: Row) -> Any:
    """0 for even numbers, 1 for odd ones."""
    return row.value % 2


def slide(_parity: int, rows: Row, before: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """A window for each number, and the numbers of the last window."""
    numbers = np.concatenate((before["last"] if before else [0] * SIZE, rows.value)).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(numbers, SIZE)[1:]
    texts = [f"[{','.join(map(str, window))}]" for window in windows.tolist()]
    return {"window": texts}, {"last": numbers[-SIZE:]}


def named(function: str) -> str:
    """How the command and a job name one of them."""
    return f"{__file__}:{function}"
