"""The system under test, a pipeline of the API with state; put yours in its place. It counts each word."""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from market_spread.streaming import Map, Pipeline, Row, RunningTotal, Sink, Source, Text


def word_count() -> Pipeline:
    """Its source and its sink have the names of the workload's topics."""
    words = Source("words", Text()).to(Map("cut", {"id": field("id"), "word": field("word")})).key_by("word")
    counted = words.to(RunningTotal("count", into="count")).to(Map("write", {"line": line}))
    return counted.to_sink(Sink("counts", Text("{line}"), key="word"), name="word_count")


def field(name: str) -> Callable[[Row], Column]:
    """A field of a message, which is JSON."""
    return lambda row: F.from_json(row.text, "id bigint, word string")[name]


def line(row: Row) -> Column:
    """An output, JSON too."""
    return F.to_json(F.struct(row.id.alias("id"), row.word.alias("word"), row.count.alias("count")))
