"""A pipeline as a query of micro-batch mode: steps of columns run in Spark, Python and its state on arrays.

The as-of join works on whole frames, which makes this mode fast (as_of_join.py). All other Python gets pandas frames of
rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING, assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.types import AtomicType, BinaryType, DataType, StringType

from market_spread.common.job_contract import duration
from market_spread.streaming.modes.micro_batch.as_of_join import join_frames
from market_spread.streaming.modes.micro_batch.keyed_state import KeyedWork, rows_of
from market_spread.streaming.modes.rows import (
    METADATA,
    METADATA_TYPES,
    apply_step,
    branch_rows,
    is_good,
    long,
    output_records,
    reserved_key,
    union_all,
)
from market_spread.streaming.operators.stateful import AsOfJoin, CountWindow, RangeWindow, RunningTotal, StatefulMap
from market_spread.streaming.operators.stateless import Computation, MapBatches, Row
from market_spread.streaming.pipeline import Pipeline, Source
from market_spread.streaming.record_codec import frames_to_messages, records_to_frames

if TYPE_CHECKING:
    from pyspark.sql.pandas._typing import DataFrameLike


def compile_pipeline(pipeline: Pipeline, records: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    """See `Mode.compile`."""
    rows = reduce(_apply_step, pipeline.stream.computations, _after_state(pipeline, records))
    return output_records(rows, pipeline.sinks, topics)


def _after_state(pipeline: Pipeline, records: Mapping[str, DataFrame]) -> DataFrame:
    match pipeline.stream.state:
        case AsOfJoin() as state:
            return join_frames(pipeline, state, records)
        case RangeWindow() as state:
            malformed = (_malformed(source, records[source.name]) for source in pipeline.sources)
            return union_all([_windowed(pipeline, state, branch_rows(pipeline, records, _apply_step)), *malformed])
        case RunningTotal() | StatefulMap() | CountWindow() as state:
            return _keyed(pipeline, state, branch_rows(pipeline, records, _apply_step))
        case None:
            return branch_rows(pipeline, records, _apply_step)
        case never:
            assert_never(never)


# Python without state


def _apply_step(rows: DataFrame, computation: Computation) -> DataFrame:
    return _map_batches(rows, computation) if isinstance(computation, MapBatches) else apply_step(rows, computation)


def _map_batches(rows: DataFrame, step: MapBatches) -> DataFrame:
    """The function's output for the good rows, which has no origin any more, and the malformed rows."""
    types = ", ".join(f"{name} {kind}" for name, kind in {**step.gives, **METADATA_TYPES}.items())

    def work(chunks: "Iterable[DataFrameLike]") -> "Iterator[DataFrameLike]":
        for chunk in chunks:
            is_bad = chunk["reason"].notna()
            good = chunk[~is_bad]
            given = step.function(Row({name: good[name].to_numpy() for name in step.takes}))
            yield rows_of(step.gives, given, None)
            if is_bad.any():
                yield rows_of(step.gives, {}, chunk[is_bad])

    return _for_python(rows).select(*step.takes, *METADATA).mapInPandas(work, types)


def _for_python(rows: DataFrame) -> DataFrame:
    """The rows with 0 and "" for nulls in their fields: pandas would turn integers with nulls into floats."""
    empty: dict[type[DataType], Column] = {StringType: F.lit(""), BinaryType: F.lit(b"")}
    fields = {
        field.name: F.coalesce(F.col(field.name), empty.get(type(field.dataType), F.lit(0).cast(field.dataType)))
        for field in rows.schema.fields
        if field.name not in METADATA and isinstance(field.dataType, AtomicType)
    }
    return rows.withColumns(fields)


# Windows of time


def _windowed(pipeline: Pipeline, state: RangeWindow, rows: DataFrame) -> DataFrame:
    key = str(pipeline.stream.key)
    time_us = F.coalesce(*dict.fromkeys(str(source.time) for source in pipeline.sources))
    timed = rows.where(is_good()).withColumn("_time", F.timestamp_micros(time_us))
    window = F.window("_time", duration(state.size_s), duration(state.slide_s or state.size_s))
    row = Row({name: F.col(name) for name in rows.columns})
    aggregates = [function(row).alias(name) for name, function in state.aggregates.items()]
    grouped = timed.withWatermark("_time", duration(state.late_s)).groupBy(key, window).agg(*aggregates)
    return grouped.select(
        key,
        F.unix_micros("window.start").alias("window_start_us"),
        F.unix_micros("window.end").alias("window_end_us"),
        *state.aggregates,
        *(F.lit(None).cast(kind).alias(name) for name, kind in METADATA_TYPES.items()),
    )


def _malformed(source: Source, records: DataFrame) -> DataFrame:
    """Only the malformed rows. They bypass the window, which drops late rows: they have no time."""
    rows = frames_to_messages(records_to_frames(records, source.messages), source.messages)
    return rows.where(~is_good()).select(*METADATA)


# State by key, in Python


def _keyed(pipeline: Pipeline, state: RunningTotal | StatefulMap | CountWindow, rows: DataFrame) -> DataFrame:
    key = str(pipeline.stream.key)
    typed = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    schemas = pipeline.stream.schemas.values()
    work = KeyedWork.of(state, key=key, schemas=schemas, types=typed)
    order = long(0)
    times = [schema.time for schema in schemas if schema.time]
    if len(times) == len(schemas):
        order = F.coalesce(*dict.fromkeys(times))
    keyed = _for_python(rows).withColumns(
        {"_key": F.when(is_good(), F.col(key).cast("string")).otherwise(reserved_key()), "_time": order}
    )
    return keyed.groupBy("_key").applyInPandasWithState(
        work.run,
        outputStructType=", ".join(f"`{name}` {kind}" for name, kind in {**work.gives, **METADATA_TYPES}.items()),
        stateStructType=", ".join(f"`{name}` {kind}" for name, kind in work.stored_state.items()),
        outputMode="append",
        timeoutConf=GroupStateTimeout.NoTimeout,
    )
