"""Our applications by name, and others by the file and function that make them, with mistakes told before a start."""

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from inspect import iscoroutine
from pathlib import Path
from typing import Any

import pyspark
from pyspark import cloudpickle
from pyspark.sql import functions as F

from market_spread.common.config import pyspark_without_jvm
from market_spread.common.user_functions import load_function, user_errors
from market_spread.streaming.applications.market_spread import market_spread, market_spread_all_decisions
from market_spread.streaming.applications.word_count import word_count
from market_spread.streaming.messages import Names, PipelineError
from market_spread.streaming.operators.stateful import AsOfJoin, TimeWindow
from market_spread.streaming.operators.stateless import RESERVED_NAMES, Computation, Filter, FlatMap, Map, Row
from market_spread.streaming.pipeline import Pipeline

Function = Callable[[Row], Any]

_NOT_THE_USER = (str(Path(pyspark.__file__).parent), str(Path(__file__).parents[1]))

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
    if iscoroutine(pipeline):
        pipeline.close()  # else Python warns that nobody awaited it
    if not isinstance(pipeline, Pipeline):
        raise PipelineError(f"{application} returns {type(pipeline).__name__}; let it return what to_sink returns")
    return pipeline


def find_checked(application: str) -> Pipeline:
    """The pipeline as `find` has it. UsageError, too, for the first mistake in its functions of columns.

    That is a function that raises, returns no column, or reads a field that its rows do not have. The columns are those
    of Spark Connect, which has the same functions. What they cannot do is left to Spark, as are types and functions of
    arrays.
    """
    pipeline = find(application)
    with pyspark_without_jvm():
        for name, function, fields in _functions(pipeline):
            _check(name, function, fields)
    return pipeline


def _functions(pipeline: Pipeline) -> Iterator[tuple[str, Function, Names]]:
    """The name of a step or sink, a function of its, and the fields of the rows that this gets."""
    stream = pipeline.stream
    for branch in stream.branches:
        yield from _of_steps(branch.computations, branch.source.fields)
    after = replace(stream, computations=())
    match stream.state:
        case AsOfJoin(name, emit=emit) if emit is not None:
            yield name, emit, after.fields
        case TimeWindow(name, aggregates=aggregates):
            yield from ((name, function, replace(after, state=None).fields) for function in aggregates.values())
    yield from _of_steps(stream.computations, after.fields)
    for each in (pipeline, *([pipeline.late] if pipeline.late else [])):
        yield from ((sink.name, sink.keep, each.stream.fields) for sink in each.sinks if sink.keep is not None)


def _of_steps(steps: tuple[Computation, ...], fields: Names) -> Iterator[tuple[str, Function, Names]]:
    for step in steps:
        match step:
            case Filter(name, function) | FlatMap(name, function):
                yield name, function, fields
            case Map(name, added):
                yield from ((name, function, fields) for function in added.values())
        fields = step.fields_of(fields)


def _check(name: str, function: Function, fields: Names) -> None:
    row = Row({field: F.col(field) for field in (*fields, *RESERVED_NAMES)})
    where = ""
    try:
        column = function(row)
        read = [*_fields_in(column.to_plan(None))] if hasattr(column, "to_plan") else None
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        user = [frame for frame in frames if not frame.filename.startswith(_NOT_THE_USER)]
        where = f"{Path(user[-1].filename).name}:{user[-1].lineno}: " if user else ""
        if isinstance(error, AttributeError) and error.obj is row:
            read = [str(error.name)]
        elif isinstance(error, KeyError) and error.args[0] not in row:
            read = [str(error.args[0])]
        elif where and (user[-1] is frames[-1] or isinstance(error, TypeError | ValueError)):
            said = f"{where}a function of {name!r} raised {type(error).__name__}: {error}; mend it there"
            raise PipelineError(said) from error
        else:
            return
    if read is None:
        raise PipelineError(f"a function of {name!r} returned {column!r}; let it return a column, such as F.lit(True)")
    if missing := [field for field in read if field not in row]:
        near = get_close_matches(missing[0], fields, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise PipelineError(f"{where}{name!r} reads the field {missing[0]!r}; the rows have {', '.join(fields)}{hint}")


def _fields_in(plan: Any) -> Iterator[str]:
    """The fields that an expression of Spark Connect reads, of a structure's the structure."""
    for descriptor, value in plan.ListFields():
        if descriptor.name == "unparsed_identifier":
            yield value.partition(".")[0].strip("`")
        elif descriptor.message_type:
            for each in [value] if hasattr(value, "ListFields") else value:
                yield from _fields_in(each)
