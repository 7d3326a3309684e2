"""Our applications by name, and others by the file and function that make them."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark import cloudpickle

from market_spread.common.user_functions import load_function, user_errors
from market_spread.streaming import Pipeline, PipelineError
from market_spread.streaming.applications.market_spread import market_spread, market_spread_all_decisions
from market_spread.streaming.applications.word_count import word_count

BY_NAME: Mapping[str, Callable[[], Pipeline]] = {
    make.__name__: make for make in (market_spread, market_spread_all_decisions, word_count)
}


def find(application: str) -> Pipeline:
    """The pipeline of that name, or the one that a function in a file returns: `folder/file.py:function`.

    UsageError if there is none, or if the file cannot be run.
    """
    if application in BY_NAME:
        return BY_NAME[application]()
    if ":" not in application:
        raise PipelineError(f"no application {application!r}; use {', '.join(BY_NAME)}, or file.py:function")
    make = load_function(application)
    # Spark's Python workers do not have the file.
    cloudpickle.register_pickle_by_value(sys.modules[Path(application.rpartition(":")[0]).stem])  # type: ignore[no-untyped-call]
    with user_errors(application):
        pipeline = make()
    if not isinstance(pipeline, Pipeline):
        raise PipelineError(f"{application} returns {type(pipeline).__name__}; let it return what to_sink returns")
    return pipeline
