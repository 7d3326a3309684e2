"""A pipeline as a plan for micro-batch mode: column computations by Spark, Python and its state on arrays.

A Newest step works on whole frames, which is what this mode is fast by: no message becomes a row unless it leaves. All
other Python gets pandas frames of rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import AtomicType, BinaryType, DataType, StringType

from market_spread.common.layout import Field, Kind, Layout
from market_spread.streaming.computations import Computation, OnArrays, Row, Sink
from market_spread.streaming.frames import count_messages, frames_to_messages, records_to_frames, wall_clock_us
from market_spread.streaming.modes.settings import duration
from market_spread.streaming.pipeline import Branch, Pipeline, Source
from market_spread.streaming.plans.keyed import KeyedWork, rows_of
from market_spread.streaming.plans.rows import (
    CARRIED,
    INVALID,
    computed,
    invalid_value,
    is_good,
    reserved_key,
    sink_key,
    sink_value,
    source_rows,
    united,
)
from market_spread.streaming.states import CountWindow, Newest, RangeWindow, Remember, RunningTotal
from market_spread.streaming.vectors.frames import Frame, Malformed, Messages
from market_spread.streaming.vectors.joining import Joining, Leaving, Side

if TYPE_CHECKING:
    from pyspark.sql.pandas._typing import DataFrameLike

_CARRIED_TYPES: Mapping[str, str] = {
    "topic": "string", "partition": "bigint", "offset": "bigint", "position": "bigint", "sent_us": "bigint",
    "read_us": "bigint", "reason": "bigint",
}  # fmt: skip
_BUCKETS_MAX = 1024


def leaving(pipeline: Pipeline, records: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    """The Kafka records that leave (topic, key, value), of a pipeline that the mode can run.

    records: those of each source, by its name; topics: those of the sinks, and that of `invalid`, by these names.
    """
    rows = _after_state(pipeline, records)
    for computation in pipeline.stream.computations:
        rows = _computed(rows, computation)
    return _records(rows, pipeline.sinks, topics)


def _records(rows: DataFrame, sinks: Sequence[Sink], topics: Mapping[str, str]) -> DataFrame:
    """A row becomes a record for each sink, within the row: as a union, everything before it would be done twice."""
    stamped = rows.withColumn("emitted_us", wall_clock_us())
    good = [_record(topics[sink.name], sink_key(sink), sink_value(sink)) for sink in sinks]
    bad = [_record(topics[INVALID], F.lit(None).cast("binary"), invalid_value())]
    records = F.when(is_good(), F.array(*good)).otherwise(F.array(*bad))
    return stamped.select(F.explode(records).alias("record")).select("record.*")


def _record(topic: str, key: Column, value: Column) -> Column:
    return F.struct(F.lit(topic).alias("topic"), key.alias("key"), value.alias("value"))


def _after_state(pipeline: Pipeline, records: Mapping[str, DataFrame]) -> DataFrame:
    state = pipeline.stream.state
    if isinstance(state, Newest):
        return _newest(pipeline, state, records)
    rows = united([_branch_rows(branch, records[branch.source.name]) for branch in pipeline.stream.branches])
    if isinstance(state, RangeWindow):
        return united([_windowed(pipeline, state, rows), *(_malformed(s, records[s.name]) for s in pipeline.sources)])
    return rows if state is None else _keyed(pipeline, state, rows)


def _branch_rows(branch: Branch, records: DataFrame) -> DataFrame:
    rows = source_rows(branch.source, records)
    for computation in branch.computations:
        rows = _computed(rows, computation)
    return rows


# Python without state


def _computed(rows: DataFrame, computation: Computation) -> DataFrame:
    return _on_arrays(rows, computation) if isinstance(computation, OnArrays) else computed(rows, computation)


def _on_arrays(rows: DataFrame, step: OnArrays) -> DataFrame:
    """What the function makes of the good rows; of these it is not known any more where they came from."""
    types = ", ".join(f"{name} {kind}" for name, kind in {**step.gives, **_CARRIED_TYPES}.items())

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
        *(F.lit(None).cast(kind).alias(name) for name, kind in _CARRIED_TYPES.items()),
    )


def _malformed(source: Source, records: DataFrame) -> DataFrame:
    """The malformed rows alone: beside a window, since what is late there is left out, and time is unknown here."""
    rows = frames_to_messages(records_to_frames(records, source.messages), source.messages)
    return rows.where(~is_good()).select(*CARRIED)


# State by key, in Python


def _keyed(pipeline: Pipeline, state: RunningTotal | Remember | CountWindow, rows: DataFrame) -> DataFrame:
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
        outputStructType=", ".join(f"`{name}` {kind}" for name, kind in {**work.gives, **_CARRIED_TYPES}.items()),
        stateStructType=", ".join(f"`{name}` {kind}" for name, kind in work.state.items()),
        outputMode="append",
        timeoutConf=GroupStateTimeout.NoTimeout,
    )


# The newest row of one source, beside each row of the other


def _newest(pipeline: Pipeline, state: Newest, records: Mapping[str, DataFrame]) -> DataFrame:
    first, second = pipeline.sources
    remembered, looking = (first, second) if first.name == state.of else (second, first)
    key = str(pipeline.stream.key)
    joining = Joining(state, remembered=_side(remembered, key), looking=_side(looking, key))
    frames = [
        count_messages(records_to_frames(records[source.name], source.messages), source.name)
        .withColumn("source", F.lit(source.name))
        .drop("messages")
        for source in (remembered, looking)
    ]
    fields = {field.name: _type(field) for field in joining.looking.layout.fields[1:]}
    given = {**fields, **dict.fromkeys(state.added, "bigint"), **_CARRIED_TYPES}
    rows = (
        united(frames)
        .withColumn("bucket", _bucket_key(frames[0]))
        .groupBy("bucket")
        .applyInPandasWithState(
            partial(_join, joining=joining, names=(remembered.name, looking.name), columns=tuple(given)),
            outputStructType=", ".join(f"`{name}` {kind}" for name, kind in given.items()),
            stateStructType="newest binary",
            outputMode="append",
            timeoutConf=GroupStateTimeout.NoTimeout,
        )
    )
    return rows.withColumns({name: F.col(name).cast("string") for name, kind in fields.items() if kind == "binary"})


def _side(source: Source, key: str) -> Side:
    if not isinstance(source.messages, Layout):
        raise TypeError(f"{source.name!r} is text")
    return Side(source.messages, key, str(source.time), source.sequence or "")


def _type(field: Field) -> str:
    return "bigint" if field.kind in (Kind.DIGITS, Kind.SIGNED) else "binary"


def _bucket_key(frames: DataFrame) -> Column:
    """A number for each Kafka partition, chosen so that Spark's hash spreads them evenly over those of the state."""
    spark = frames.sparkSession
    state_partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    places = F.pmod(F.hash(F.col("id").cast("int")), F.lit(state_partitions))
    candidates = spark.range(_BUCKETS_MAX * 2 * state_partitions).select(F.col("id").cast("int"), places).collect()
    by_place: dict[int, list[int]] = {}
    for candidate, place in candidates:
        by_place.setdefault(place, []).append(candidate)
    keys = [by_place[bucket % state_partitions][bucket // state_partitions] for bucket in range(_BUCKETS_MAX)]
    return F.get(F.lit(keys), F.col("partition").cast("int"))


def _join(
    _bucket: object,
    chunks: "Iterable[DataFrameLike]",
    state: GroupState,
    *,
    joining: Joining,
    names: tuple[str, str],
    columns: tuple[str, ...],
) -> "Iterator[DataFrameLike]":
    """One bucket's frames of a batch into rows; in a Python worker of Spark."""
    frames: dict[str, list[Frame]] = {name: [] for name in names}
    for chunk in chunks:
        for name, frame in _frames(chunk):
            frames[name].append(frame)
    remembered = Messages(joining.remembered.layout, frames[names[0]])
    looking = Messages(joining.looking.layout, frames[names[1]])
    newest, found = joining.run(state.get[0] if state.exists else None, remembered, looking)
    state.update((newest,))
    yield _rows_of(found, columns)
    malformed = [*remembered.malformed(), *looking.malformed()]
    if malformed:
        yield _rows_of_malformed(malformed, columns)


def _frames(chunk: Any) -> Iterator[tuple[str, Frame]]:
    columns = (
        chunk[name].to_list() for name in ("source", "value", "topic", "partition", "offset", "sent_us", "read_us")
    )
    reasons = chunk["frame_reason"].fillna(0).astype(int).to_list()
    for source, value, topic, partition, offset, sent_us, read_us, reason in zip(*columns, reasons, strict=True):
        yield source, Frame(bytes(value or b""), topic, partition, offset, sent_us, read_us, reason)


def _rows_of(found: Leaving, columns: tuple[str, ...]) -> pd.DataFrame:
    count = len(found.frames)
    origin = {
        "topic": [frame.topic for frame in found.frames],
        "partition": [frame.partition for frame in found.frames],
        "offset": [frame.offset for frame in found.frames],
        "position": found.positions,
        "reason": np.full(count, None, object),
    }
    values = {**found.columns, **origin}
    return pd.DataFrame({name: values[name] for name in columns})


def _rows_of_malformed(malformed: Sequence[Malformed], columns: tuple[str, ...]) -> pd.DataFrame:
    values: dict[str, Any] = {
        "topic": [bad.frame.topic for bad in malformed],
        "partition": [bad.frame.partition for bad in malformed],
        "offset": [bad.frame.offset for bad in malformed],
        "position": [bad.position for bad in malformed],
        "sent_us": [bad.frame.sent_us for bad in malformed],
        "read_us": [bad.frame.read_us for bad in malformed],
        "reason": [bad.reason.value for bad in malformed],
    }
    nothing = np.full(len(malformed), None, object)
    return pd.DataFrame({name: values.get(name, nothing) for name in columns})
