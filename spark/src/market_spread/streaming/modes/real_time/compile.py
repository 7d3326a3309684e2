"""A pipeline as a plan for Real-Time Mode: built-in columns alone, and a row out for every row in.

Branches are united before they are grouped, because the mode wants it so. Malformed rows take the same way, under a key
of their own.
"""

from collections.abc import Mapping
from typing import assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.common.job_contract import REAL_TIME
from market_spread.streaming.modes.real_time.as_of_join import PackedRows
from market_spread.streaming.modes.rows import (
    computed,
    is_good,
    leaving_records,
    reserved_key,
    source_rows,
    united,
)
from market_spread.streaming.operators.stateful import AsOfJoin, CountWindow, RangeWindow, RunningTotal, StatefulMap
from market_spread.streaming.operators.stateless import Row
from market_spread.streaming.pipeline import Pipeline, Source


def leaving(pipeline: Pipeline, records: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    """The Kafka records that leave (topic, key, value), of a pipeline that the mode can run.

    records: those of each source, by its name; topics: those of the sinks, and that of `invalid`, by these names.
    """
    rows = _after_state(pipeline, records)
    for computation in pipeline.stream.computations:
        rows = computed(rows, computation)
    return leaving_records(rows, pipeline.sinks, topics)


def state_form(pipeline: Pipeline) -> str:
    """How the state is packed into numbers; empty if Spark's own types say all of it."""
    state = pipeline.stream.state
    return PackedRows.of(pipeline, state).form if isinstance(state, AsOfJoin) else ""


def _after_state(pipeline: Pipeline, records: Mapping[str, DataFrame]) -> DataFrame:
    def rows() -> DataFrame:
        return united([_branch(pipeline, source, records[source.name]) for source in pipeline.sources])

    match pipeline.stream.state:
        case AsOfJoin() as state:
            return _newest(pipeline, state, records)
        case RunningTotal() as state:
            return _running_total(pipeline, state, rows())
        case None:
            return rows()
        case StatefulMap() | CountWindow() | RangeWindow() as state:
            raise TypeError(f"{state.name!r} is not for {REAL_TIME}")
        case never:
            assert_never(never)


def _branch(pipeline: Pipeline, source: Source, records: DataFrame) -> DataFrame:
    rows = source_rows(source, records)
    (computations,) = (branch.computations for branch in pipeline.stream.branches if branch.source is source)
    for computation in computations:
        rows = computed(rows, computation)
    return rows


def _running_total(pipeline: Pipeline, state: RunningTotal, rows: DataFrame) -> DataFrame:
    added = F.col(state.of) if state.of else _long(1)
    keyed = rows.withColumn("_key", F.when(is_good(), _key(pipeline).cast("string")).otherwise(reserved_key()))
    others = [F.last(name).alias(name) for name in rows.columns if name != state.into]
    total = F.sum(F.when(is_good(), added).otherwise(_long(0)).cast("bigint")).alias(state.into)
    return keyed.groupBy("_key").agg(total, *others).drop("_key")


def _newest(pipeline: Pipeline, state: AsOfJoin, records: Mapping[str, DataFrame]) -> DataFrame:
    packed = PackedRows.of(pipeline, state)
    rows = packed.rows(records)
    # The sequence stands on top of each word of what is newest, so the largest of each is the newest row's.
    newest = (F.max(name).alias(name) for name in packed.newest)
    own = (F.last(name).alias(name) for name in packed.own)
    grouped = rows.groupBy(packed.key).agg(*newest, *own)
    row = packed.unpacked(state.added)
    emitted = state.emit(Row(row)) if state.emit else F.lit(True)
    kept = grouped.where(packed.leaves(emitted))
    return kept.select(*(column.alias(name) for name, column in {**row, **packed.origin()}.items()))


def _key(pipeline: Pipeline) -> Column:
    return F.col(str(pipeline.stream.key))


def _long(value: int) -> Column:
    return F.lit(value).cast("bigint")
