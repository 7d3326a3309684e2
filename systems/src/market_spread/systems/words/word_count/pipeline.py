"""The system under test, a pipeline of the API with state; put yours in its place. It counts each word."""

from dataclasses import dataclass

from market_spread.streaming import Json, Pipeline, RunningTotal, Sink, Source


@dataclass
class Word:
    """A message."""

    id: int
    word: str


@dataclass
class Counted(Word):
    """An output."""

    count: int


def word_count() -> Pipeline:
    """Its source and its sink have the names of the workload's topics."""
    counted = Source("words", Json(Word)).key_by("word").to(RunningTotal("count", into="count"))
    return counted.to_sink(Sink("counts", Json(Counted), key="word"), name="word_count")
