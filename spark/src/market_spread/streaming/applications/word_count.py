"""Word count: each word with how often it has come so far."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from market_spread.streaming import FlatMap, Pipeline, Row, RunningTotal, Sink, Source, Text


def word_count() -> Pipeline:
    """The pipeline: lines of text in, `word => count` out."""
    words = Source("lines", Text()).to(FlatMap("words", words_of, into="word"))
    counted = words.key_by("word").to(RunningTotal("count", into="count"))
    return counted.to_sink(Sink("counts", Text("{word} => {count}"), key="word"), name="word_count")


def words_of(line: Row) -> Column:
    """Runs of letters, digits and apostrophes, in lower case."""
    return F.regexp_extract_all(F.lower(line.text), F.lit(r"([\p{L}\p{N}']+)"), 1)
