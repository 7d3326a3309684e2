"""Pass through: from source to sink, nothing else."""

from market_spread.streaming.operators.stateless import Sink, Text
from market_spread.streaming.pipeline import Pipeline, Source


def pass_through() -> Pipeline:
    """The pipeline: a record out for every record in."""
    return Source("in", Text()).to_sink(Sink("out", Text()), name="pass_through")
