"""Counting: for each number, the total of its counter so far: 5, 10 and 15 give 5, 15 and 30.

Each number has a sequence, so one that is sent again is recognised and not added again.
"""

from market_spread.streaming import Field, Kind, Layout, Pipeline, RunningTotal, Sink, Source, Text

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
    """The pipeline: numbers in, `counter sequence total` out for each new one."""
    numbers = Source("numbers", NUMBER, sequence="sequence").key_by("counter")
    totals = numbers.to(RunningTotal("total", into="total", of="value"))
    return totals.to_sink(Sink("totals", Text("{counter} {sequence} {total}"), key="counter"), name="counting")
