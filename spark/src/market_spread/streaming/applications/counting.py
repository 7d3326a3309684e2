"""Counting: numbers come in, and the total of their counter so far goes out: 5, 10 and 15 make 5, 15 and 30.

The numbers of a counter are numbered themselves, so one that is sent again is known and not added again.
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
    """The pipeline: numbers in, `counter sequence total` out for each that is new."""
    numbers = Source("numbers", NUMBER, sequence="sequence").key_by("counter")
    totals = numbers.to(RunningTotal("total", into="total", of="value"))
    return totals.to_sink(Sink("totals", Text("{counter} {sequence} {total}"), key="counter"), name="counting")
