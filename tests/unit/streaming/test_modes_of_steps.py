"""The table of docs/writing-a-pipeline.md: which step runs in which mode, as the modes themselves say it."""

import re
from pathlib import Path
from typing import Any

import pytest

from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.streaming import (
    AsOfJoin,
    CountWindow,
    Deduplicate,
    Filter,
    FlatMap,
    IntervalJoin,
    Map,
    MapBatches,
    PipelineError,
    RangeWindow,
    RunningTotal,
    SessionWindow,
    Sink,
    Source,
    StatefulMap,
    Stream,
    Text,
)
from market_spread.streaming.modes.support import check

PAGE = Path(__file__).parents[3] / "docs" / "writing-a-pipeline.md"
MODES = ("real-time", "micro-batch")
ORDERS = Source("orders", ORDER, time="intended_us")
KEYED = ORDERS.key_by("symbol")
OTHERS = Source("others", ORDER, time="intended_us").key_by("symbol")
NUMBERED = Source("nbbo", NBBO, time="intended_us", sequence="sequence").key_by("symbol")


def anything(*_: object) -> Any:
    raise AssertionError("a function of a step is not called before the pipeline runs")


STEPS: dict[str, Stream] = {
    "Filter": ORDERS.to(Filter("it", anything)),
    "Map": ORDERS.to(Map("it", {})),
    "FlatMap": ORDERS.to(FlatMap("it", anything, into="more")),
    "MapBatches": ORDERS.to(MapBatches("it", takes=(), gives={"symbol": "string"}, function=anything)),
    "AsOfJoin": NUMBERED.merge(KEYED).to(AsOfJoin("it", of="nbbo", added={"bid": "bid"})),
    "RunningTotal": KEYED.to(RunningTotal("it", into="count")),
    "StatefulMap": KEYED.to(StatefulMap("it", takes=(), state={}, gives={}, update=anything)),
    "CountWindow": KEYED.to(CountWindow("it", size=2, takes=(), gives={}, function=anything)),
    "RangeWindow": KEYED.to(RangeWindow("it", size_s=1, aggregates={})),
    "SessionWindow": KEYED.to(SessionWindow("it", gap_s=1, aggregates={})),
    "Deduplicate": KEYED.to(Deduplicate("it")),
    "IntervalJoin": KEYED.merge(OTHERS).to(
        IntervalJoin("it", of="others", before_s=1, after_s=1, added={"other_quantity": "quantity"})
    ),
}


def obstacle(stream: Stream, mode: str) -> str:
    """Why the mode does not run it, without the names; empty if it does."""
    try:
        check(stream.to_sink(Sink("out", Text("{symbol}"), key="symbol"), name="table"), mode)
    except PipelineError as error:
        return str(error)
    return ""


TABLE = {
    step: cells
    for step, *cells in re.findall(
        r"^\| `(\w+)\([^|]*\)` \|[^|]*\| ([^|]*) \| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE
    )
}


def test_table_has_every_step() -> None:
    assert [*TABLE] == [*STEPS]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("step", STEPS)
def test_step_runs_where_the_table_says_so(step: str, mode: str) -> None:
    said, _, reason = TABLE[step][MODES.index(mode)].partition(": ")
    found = obstacle(STEPS[step], mode)

    assert said.split(",")[0] == ("no" if found else "yes")
    assert reason in found


def test_running_total_takes_a_sequence_where_the_table_says_so() -> None:
    numbered = NUMBERED.to(RunningTotal("it", into="count"))

    assert [cell.endswith("without a sequence") for cell in TABLE["RunningTotal"]] == [
        bool(obstacle(numbered, mode)) for mode in MODES
    ]
