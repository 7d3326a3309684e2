"""Our applications by name, and others by the file and function that make them."""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark import cloudpickle

from market_spread.streaming import Pipeline, PipelineError
from market_spread.streaming.applications.counting import counting
from market_spread.streaming.applications.market_spread import market_spread, market_spread_all_decisions
from market_spread.streaming.applications.pass_through import pass_through
from market_spread.streaming.applications.sequence_window import sequence_window
from market_spread.streaming.applications.word_count import word_count

BY_NAME: Mapping[str, Callable[[], Pipeline]] = {
    make.__name__: make
    for make in (market_spread, market_spread_all_decisions, word_count, counting, pass_through, sequence_window)
}


def find(application: str) -> Pipeline:
    """The pipeline of that name, or the one that a function in a file returns: `folder/file.py:function`.

    PipelineError if there is none, or if the file cannot be run.
    """
    if application in BY_NAME:
        return BY_NAME[application]()
    path, colon, function = application.rpartition(":")
    if not colon:
        raise PipelineError(f"no application {application!r}; use {', '.join(BY_NAME)}, or file.py:function")
    make = getattr(_module(Path(path)), function, None)
    if make is None:
        raise PipelineError(f"{path} has no function {function!r}; name the one that returns the pipeline")
    pipeline = make()
    if not isinstance(pipeline, Pipeline):
        raise PipelineError(f"{application} returns {type(pipeline).__name__}; let it return what to_sink returns")
    return pipeline


def _module(path: Path) -> object:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise PipelineError(f"{path} is not a readable Python file; name one")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))  # as for a script: it may import its neighbours
    try:
        spec.loader.exec_module(module)
    except PipelineError:
        raise
    except Exception as error:
        raise PipelineError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # Spark's Python workers do not have the file
    return module
