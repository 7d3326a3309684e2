"""Word count: each word with the number of words so far that begin with the same letter.

27 keys: the letters of the English alphabet, and one for the rest.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from market_spread.streaming import FlatMap, Map, Pipeline, Row, RunningTotal, Sink, Source, Text


def word_count() -> Pipeline:
    """The pipeline: lines of text in, `letter word => count` out."""
    words = Source("lines", Text()).to(FlatMap("words", words_of, into="word"))
    lettered = words.to(Map("first letter", {"letter": first_letter})).key_by("letter")
    counted = lettered.to(RunningTotal("count", into="count"))
    return counted.to_sink(Sink("counts", Text("{letter} {word} => {count}"), key="word"), name="word_count")


def words_of(line: Row) -> Column:
    """Runs of letters, digits and apostrophes, in lower case."""
    return F.regexp_extract_all(F.lower(line.text), F.lit(r"([\p{L}\p{N}']+)"), 1)


def first_letter(row: Row) -> Column:
    """The word's first letter if it is one of a to z, else `!`."""
    letter = F.substring(row.word, 1, 1)
    return F.when(letter.between("a", "z"), letter).otherwise("!")
