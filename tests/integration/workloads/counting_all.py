"""The counting application with its deduplication off: a number that comes again is added again."""

from market_spread.streaming import Pipeline, RunningTotal, Sink, Source, Text
from tests.support.pipelines import NUMBER


def counting_all() -> Pipeline:
    numbers = Source("numbers", NUMBER).key_by("counter")
    totals = numbers.to(RunningTotal("total", into="total", of="value"))
    return totals.to_sink(Sink("totals", Text("{counter} {sequence} {total}"), key="counter"), name="counting_all")
