"""An as-of join in micro-batch mode: whole frames go to Python by bucket; no message becomes a row unless it leaves.

Of a frame, Python gets its bytes and a few words: every further column would cost microseconds for each. The state of
a bucket is one value of Spark's. Among Spark's ways of keeping it, this one hands frames on in small portions: the
older `applyInPandasWithState` first copies all of a bucket into one buffer, which cost a quarter of the JVM's time.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from market_spread.common.wire.layout import BUCKETS_MAX, Field, Layout
from market_spread.streaming.modes.micro_batch.kernels.frames import Malformed, Messages, RecordFrame
from market_spread.streaming.modes.micro_batch.kernels.joining import Joining, Leaving, Side
from market_spread.streaming.modes.rows import CARRIED_TYPES, united
from market_spread.streaming.operators.stateful import AsOfJoin
from market_spread.streaming.pipeline import Pipeline, Source
from market_spread.streaming.record_codec import count_messages, records_to_frames

_ORIGIN = ("topic", "partition", "offset", "sent_us", "read_us")


def joined(pipeline: Pipeline, state: AsOfJoin, records: Mapping[str, DataFrame]) -> DataFrame:
    """The rows that leave the step, and the malformed ones of both sources."""
    first, second = pipeline.sources
    remembered, looking = (first, second) if first.name == state.of else (second, first)
    key = str(pipeline.stream.key)
    joining = Joining(state, remembered=_side(remembered, key), looking=_side(looking, key))
    frames = frames_of((remembered, looking), records)
    fields = {field.name: _type(field) for field in joining.looking.layout.fields[1:]}
    given = {**fields, **dict.fromkeys(state.added, "bigint"), **CARRIED_TYPES}
    rows = frames.groupBy("bucket").transformWithStateInPandas(
        statefulProcessor=_JoinOfBucket(joining, tuple(given)),
        outputStructType=", ".join(f"`{name}` {kind}" for name, kind in given.items()),
        outputMode="append",
        timeMode="None",
    )
    return rows.withColumns({name: F.col(name).cast("string") for name, kind in fields.items() if kind == "binary"})


def _side(source: Source, key: str) -> Side:
    if not isinstance(source.messages, Layout):
        raise TypeError(f"{source.name!r} is text")
    return Side(source.messages, key, str(source.time), source.sequence or "")


def _type(field: Field) -> str:
    return "bigint" if field.is_number else "binary"


def frames_of(sources: Sequence[Source], records: Mapping[str, DataFrame]) -> DataFrame:
    """Frames as bucket, value and words: the source's place, the reason why it cannot be opened (or 0), its origin."""
    parts = []
    for place, source in enumerate(sources):
        frames = count_messages(records_to_frames(records[source.name], source.messages), source.name)
        words = F.concat_ws(" ", F.lit(place), F.coalesce("frame_reason", F.lit(0)), *_ORIGIN)
        parts.append(frames.select(_bucket_key(frames).alias("bucket"), "value", words.alias("words")))
    return united(parts)


def messages_of(layouts: Sequence[Layout], chunks: Iterable[pd.DataFrame]) -> list[Messages]:
    """The messages of each source, from chunks of the rows of `frames_of`."""
    frames: list[list[RecordFrame]] = [[] for _ in layouts]
    for chunk in chunks:
        for value, words in zip(chunk["value"].to_list(), chunk["words"].to_list(), strict=True):
            place, reason, origin = words.split(" ", 2)
            frames[int(place)].append(RecordFrame(value or b"", origin, int(reason)))
    return [Messages(layout, own) for layout, own in zip(layouts, frames, strict=True)]


def _bucket_key(frames: DataFrame) -> Column:
    """A number for each Kafka partition, chosen so that Spark's hash spreads them evenly over those of the state."""
    spark = frames.sparkSession
    state_partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    places = F.pmod(F.hash(F.col("id").cast("int")), F.lit(state_partitions))
    candidates = spark.range(BUCKETS_MAX * 2 * state_partitions).select(F.col("id").cast("int"), places).collect()
    by_place: dict[int, list[int]] = {}
    for candidate, place in candidates:
        by_place.setdefault(place, []).append(candidate)
    keys = [by_place[bucket % state_partitions][bucket // state_partitions] for bucket in range(BUCKETS_MAX)]
    return F.get(F.lit(keys), F.col("partition").cast("int"))


class _JoinOfBucket(StatefulProcessor):
    """One bucket's frames of a batch into rows; in a Python worker of Spark."""

    def __init__(self, joining: Joining, columns: tuple[str, ...]) -> None:
        self._joining = joining
        self._layouts = (joining.remembered.layout, joining.looking.layout)
        self._columns = columns

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._newest = handle.getValueState("newest", "newest binary")
        _freeze_imports()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        remembered, looking = messages_of(self._layouts, rows)
        before = self._newest.get()
        after, found = self._joining.run(before[0] if before else None, remembered, looking)
        self._newest.update((after,))
        yield _rows_of(found, self._columns)
        malformed = [*remembered.malformed(), *looking.malformed()]
        if malformed:
            yield _rows_of_malformed(malformed, self._columns)


@cache
def _freeze_imports() -> None:
    """After each task Spark's worker looks for garbage among all that it has imported; it need not look there."""
    gc.freeze()


def _rows_of(found: Leaving, columns: Sequence[str]) -> pd.DataFrame:
    origin = {
        "topic": np.array([origin.topic for origin in found.origins], object),
        "partition": np.array([origin.partition for origin in found.origins], np.int64),
        "offset": np.array([origin.offset for origin in found.origins], np.int64),
        "position": found.positions,
        "reason": np.full(len(found.origins), None, object),
    }
    values = {**found.columns, **origin}
    return pd.DataFrame({name: values[name] for name in columns})


def _rows_of_malformed(malformed: Sequence[Malformed], columns: Sequence[str]) -> pd.DataFrame:
    values: dict[str, Any] = {name: [getattr(bad.origin, name) for bad in malformed] for name in _ORIGIN}
    values["position"] = [bad.position for bad in malformed]
    values["reason"] = [bad.reason.value for bad in malformed]
    nothing = np.full(len(malformed), None, object)
    return pd.DataFrame({name: values.get(name, nothing) for name in columns})
