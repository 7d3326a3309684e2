"""Pass through: from source to sink, without a step."""

from market_spread.streaming import Pipeline, Sink, Source, Text


def pass_through() -> Pipeline:
    """The pipeline: a record out for every record in."""
    return Source("in", Text()).to_sink(Sink("out", Text()), name="pass_through")
