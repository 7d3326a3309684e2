"""Real-Time Mode: rows pass through the query as they arrive; state and offsets are saved when a batch ends.

A pipeline becomes a query of built-in columns alone, with a row out for every row in. The mode requires branches to be
united before they are grouped. Malformed rows pass the same way, under reserved keys.
"""

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from market_spread.common import job_contract
from market_spread.common.wire.layout import InvalidReason
from market_spread.streaming.modes.real_time.as_of_join import PackedRows
from market_spread.streaming.modes.rows import (
    apply_step,
    branch_rows,
    is_good,
    output_records,
    refused,
    row_key,
    union_all,
)
from market_spread.streaming.operators.stateful import AsOfJoin, RunningTotal
from market_spread.streaming.operators.stateless import Row
from market_spread.streaming.pipeline import Pipeline


def compile_pipeline(pipeline: Pipeline, records: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    """See `Mode.compile`."""
    rows = reduce(apply_step, pipeline.stream.computations, _after_state(pipeline, records))
    return output_records(rows, pipeline, topics)


def state_form(pipeline: Pipeline) -> str:
    """See `Mode.state_form`."""
    state = pipeline.stream.state
    return PackedRows(pipeline, state).state_packing.form if isinstance(state, AsOfJoin) else ""


def _after_state(pipeline: Pipeline, records: Mapping[str, DataFrame]) -> DataFrame:
    match pipeline.stream.state:
        case AsOfJoin() as state:
            return _as_of_join(pipeline, state, records)
        case RunningTotal() as state:
            return _running_total(pipeline, state, union_all(branch_rows(pipeline, records)))
        case None:
            return union_all(branch_rows(pipeline, records))
        case state:
            raise TypeError(f"{state.name!r} is not for {job_contract.REAL_TIME}")


def _running_total(pipeline: Pipeline, state: RunningTotal, rows: DataFrame) -> DataFrame:
    added = F.col(state.of) if state.of else F.lit(1)
    keyed = rows.withColumn("_key", row_key(pipeline.stream.keys))
    others = [F.last(name).alias(name) for name in rows.columns if name != state.into]
    # Null from the row on that takes it out of 64 bits.
    total = F.try_sum(F.when(is_good(), added).otherwise(F.lit(0)).cast("bigint")).alias(state.into)
    totals = keyed.groupBy("_key").agg(total, *others).drop("_key")
    return refused(totals, F.col(state.into).isNull(), InvalidReason.OVERFLOW)


def _as_of_join(pipeline: Pipeline, state: AsOfJoin, records: Mapping[str, DataFrame]) -> DataFrame:
    packed = PackedRows(pipeline, state)
    # The sequence is in the highest bits of each word, so the largest words are those of the latest row.
    latest = (F.max(name).alias(name) for name in packed.state_words)
    row_words = (F.last(name).alias(name) for name in packed.row_words)
    grouped = packed.rows(records).groupBy(packed.key).agg(*latest, *row_words)
    row = packed.unpacked(state.added)
    emitted = state.emit(Row(row)) if state.emit else F.lit(True)
    output = grouped.where(packed.is_output(emitted))
    return output.select(*(column.alias(name) for name, column in {**row, **packed.origin()}.items()))
