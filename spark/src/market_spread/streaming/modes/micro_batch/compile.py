"""A pipeline as a plan for micro-batch mode: column computations by Spark, Python and its state on arrays.

An as-of join works on whole frames, which is what this mode is fast by (joined.py). All other Python gets pandas frames
of rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.types import AtomicType, BinaryType, DataType, StringType

from market_spread.common.job_contract import duration
from market_spread.streaming.modes.micro_batch.as_of_join import joined
from market_spread.streaming.modes.micro_batch.keyed_state import KeyedWork, rows_of
from market_spread.streaming.modes.rows import (
    CARRIED,
    CARRIED_TYPES,
    computed,
    is_good,
    leaving_records,
    reserved_key,
    source_rows,
    united,
)
from market_spread.streaming.operators.stateful import AsOfJoin, CountWindow, RangeWindow, RunningTotal, StatefulMap
from market_spread.streaming.operators.stateless import Computation, MapBatches, Row
from market_spread.streaming.pipeline import Branch, Pipeline, Source
from market_spread.streaming.record_codec import frames_to_messages, records_to_frames

if TYPE_CHECKING:
    from pyspark.sql.pandas._typing import DataFrameLike


def leaving(pipeline: Pipeline, records: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    """The Kafka records that leave (topic, key, value), of a pipeline that the mode can run.

    records: those of each source, by its name; topics: those of the sinks, and that of `invalid`, by these names.
    """
    rows = _after_state(pipeline, records)
    for computation in pipeline.stream.computations:
        rows = _computed(rows, computation)
    return leaving_records(rows, pipeline.sinks, topics)


def _after_state(pipeline: Pipeline, records: Mapping[str, DataFrame]) -> DataFrame:
    def rows() -> DataFrame:
        return united([_branch_rows(branch, records[branch.source.name]) for branch in pipeline.stream.branches])

    match pipeline.stream.state:
        case AsOfJoin() as state:
            return joined(pipeline, state, records)
        case RangeWindow() as state:
            malformed = (_malformed(source, records[source.name]) for source in pipeline.sources)
            return united([_windowed(pipeline, state, rows()), *malformed])
        case RunningTotal() | StatefulMap() | CountWindow() as state:
            return _keyed(pipeline, state, rows())
        case None:
            return rows()
        case never:
            assert_never(never)


def _branch_rows(branch: Branch, records: DataFrame) -> DataFrame:
    rows = source_rows(branch.source, records)
    for computation in branch.computations:
        rows = _computed(rows, computation)
    return rows


# Python without state


def _computed(rows: DataFrame, computation: Computation) -> DataFrame:
    return _on_arrays(rows, computation) if isinstance(computation, MapBatches) else computed(rows, computation)


def _on_arrays(rows: DataFrame, step: MapBatches) -> DataFrame:
    """What the function makes of the good rows; of these it is not known any more where they came from."""
    types = ", ".join(f"{name} {kind}" for name, kind in {**step.gives, **CARRIED_TYPES}.items())

    def work(chunks: "Iterable[DataFrameLike]") -> "Iterator[DataFrameLike]":
        for chunk in chunks:
            is_bad = chunk["reason"].notna()
            good = chunk[~is_bad]
            given = step.function(Row({name: good[name].to_numpy() for name in step.takes}))
            yield rows_of(step.gives, given, None)
            if is_bad.any():
                yield rows_of(step.gives, {}, chunk[is_bad])

    return _for_python(rows).select(*step.takes, *CARRIED).mapInPandas(work, types)


def _for_python(rows: DataFrame) -> DataFrame:
    """Without nulls in fields, which would make integers floats in pandas: 0 and "" stand for them."""
    empty: dict[type[DataType], Column] = {StringType: F.lit(""), BinaryType: F.lit(b"")}
    fields = {
        field.name: F.coalesce(F.col(field.name), empty.get(type(field.dataType), F.lit(0).cast(field.dataType)))
        for field in rows.schema.fields
        if field.name not in CARRIED and isinstance(field.dataType, AtomicType)
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
        *(F.lit(None).cast(kind).alias(name) for name, kind in CARRIED_TYPES.items()),
    )


def _malformed(source: Source, records: DataFrame) -> DataFrame:
    """The malformed rows alone: beside a window, since what is late there is left out, and time is unknown here."""
    rows = frames_to_messages(records_to_frames(records, source.messages), source.messages)
    return rows.where(~is_good()).select(*CARRIED)


# State by key, in Python


def _keyed(pipeline: Pipeline, state: RunningTotal | StatefulMap | CountWindow, rows: DataFrame) -> DataFrame:
    key = str(pipeline.stream.key)
    typed = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    inflows = pipeline.stream.inflows.values()
    work = KeyedWork.of(state, key=key, inflows=inflows, types=typed)
    order = F.lit(0).cast("bigint")
    times = [inflow.time for inflow in inflows if inflow.time]
    if len(times) == len(inflows):
        order = F.coalesce(*dict.fromkeys(times))
    keyed = _for_python(rows).withColumns(
        {"_key": F.when(is_good(), F.col(key).cast("string")).otherwise(reserved_key()), "_time": order}
    )
    return keyed.groupBy("_key").applyInPandasWithState(
        work.run,
        outputStructType=", ".join(f"`{name}` {kind}" for name, kind in {**work.gives, **CARRIED_TYPES}.items()),
        stateStructType=", ".join(f"`{name}` {kind}" for name, kind in work.state.items()),
        outputMode="append",
        timeoutConf=GroupStateTimeout.NoTimeout,
    )
