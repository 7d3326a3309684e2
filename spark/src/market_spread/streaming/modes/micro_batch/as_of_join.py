"""The as-of join of micro-batch mode: whole frames go to Python by bucket; a message becomes a row only in the output.

Python gets the bytes of a frame and one text with the rest: every further column would cost microseconds per frame. A
bucket's state is one value of Spark's. Of Spark's APIs for it, `transformWithStateInPandas` passes frames on in small
portions; the older `applyInPandasWithState` first copies a whole bucket into one buffer, a quarter of the JVM's time.
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

from market_spread.common.wire.layout import BUCKETS_MAX, Layout
from market_spread.streaming.modes.micro_batch.kernels.frame_join import FrameJoin, JoinedRows, JoinSide
from market_spread.streaming.modes.micro_batch.kernels.frames import Malformed, Messages, RecordFrame
from market_spread.streaming.modes.rows import METADATA_TYPES, build_and_probe, layout_of, union_all
from market_spread.streaming.operators.stateful import AsOfJoin
from market_spread.streaming.pipeline import Pipeline, Source
from market_spread.streaming.record_codec import count_messages, records_to_frames

_ORIGIN = ("topic", "partition", "offset", "sent_us", "read_us")


def join_frames(pipeline: Pipeline, state: AsOfJoin, records: Mapping[str, DataFrame]) -> DataFrame:
    """The output rows of the join, and the malformed rows of both sources."""
    build, probe = build_and_probe(pipeline, state)
    key = str(pipeline.stream.key)
    join = FrameJoin(state, build=_side(build, key), probe=_side(probe, key))
    frames = frames_of((build, probe), records)
    fields = {field.name: "bigint" if field.is_number else "binary" for field in join.probe.layout.fields[1:]}
    types = {**fields, **dict.fromkeys(state.added, "bigint"), **METADATA_TYPES}
    rows = frames.groupBy("bucket").transformWithStateInPandas(
        statefulProcessor=_BucketJoin(join, tuple(types)),
        outputStructType=", ".join(f"`{name}` {kind}" for name, kind in types.items()),
        outputMode="append",
        timeMode="None",
    )
    return rows.withColumns({name: F.col(name).cast("string") for name, kind in fields.items() if kind == "binary"})


def _side(source: Source, key: str) -> JoinSide:
    return JoinSide(layout_of(source), key, str(source.time), source.sequence or "")


def frames_of(sources: Sequence[Source], records: Mapping[str, DataFrame]) -> DataFrame:
    """Frames as bucket, value and words: the source's index, why the frame cannot be opened (or 0), its origin."""
    frames_by_source = []
    for i, source in enumerate(sources):
        frames = count_messages(records_to_frames(records[source.name], source.messages), source.name)
        words = F.concat_ws(" ", F.lit(i), F.coalesce("frame_reason", F.lit(0)), *_ORIGIN)
        frames_by_source.append(frames.select(_bucket_key(frames).alias("bucket"), "value", words.alias("words")))
    return union_all(frames_by_source)


def messages_of(layouts: Sequence[Layout], chunks: Iterable[pd.DataFrame]) -> list[Messages]:
    """The messages of each source, from chunks of the rows of `frames_of`."""
    frames: list[list[RecordFrame]] = [[] for _ in layouts]
    for chunk in chunks:
        for value, words in zip(chunk["value"].to_list(), chunk["words"].to_list(), strict=True):
            source, reason, origin = words.split(" ", 2)
            frames[int(source)].append(RecordFrame(value or b"", origin, int(reason)))
    return [Messages(*each) for each in zip(layouts, frames, strict=True)]


def _bucket_key(frames: DataFrame) -> Column:
    """A number for each Kafka partition, chosen so that Spark's hash spreads them evenly over the state partitions."""
    spark = frames.sparkSession
    count = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    state_partition = F.pmod(F.hash(F.col("id").cast("int")), F.lit(count))
    candidates = spark.range(BUCKETS_MAX * 2 * count).select(F.col("id").cast("int"), state_partition).collect()
    candidates_of: dict[int, list[int]] = {}
    for candidate, partition in candidates:
        candidates_of.setdefault(partition, []).append(candidate)
    keys = [candidates_of[bucket % count][bucket // count] for bucket in range(BUCKETS_MAX)]
    return F.get(F.lit(keys), F.col("partition").cast("int"))


class _BucketJoin(StatefulProcessor):
    """Joins one bucket's frames of a batch, in one of Spark's Python workers."""

    def __init__(self, join: FrameJoin, columns: tuple[str, ...]) -> None:
        self._join = join
        self._layouts = (join.build.layout, join.probe.layout)
        self._columns = columns

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._latest = handle.getValueState("newest", "newest binary")
        _freeze_imports()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        build, probe = messages_of(self._layouts, rows)
        before = self._latest.get()
        after, joined = self._join.run(before[0] if before else None, build, probe)
        self._latest.update((after,))
        yield _rows_of(joined, self._columns)
        malformed = [*build.malformed(), *probe.malformed()]
        if malformed:
            yield _rows_of_malformed(malformed, self._columns)


@cache
def _freeze_imports() -> None:
    """Spark's worker collects garbage after each task; exempt the imported modules from it."""
    gc.freeze()


def _rows_of(joined: JoinedRows, columns: Sequence[str]) -> pd.DataFrame:
    origin = {
        "topic": np.array([origin.topic for origin in joined.origins], object),
        "partition": np.array([origin.partition for origin in joined.origins], np.int64),
        "offset": np.array([origin.offset for origin in joined.origins], np.int64),
        "position": joined.positions,
        "reason": np.full(len(joined.origins), None, object),
    }
    values = {**joined.columns, **origin}
    return pd.DataFrame({name: values[name] for name in columns})


def _rows_of_malformed(malformed: Sequence[Malformed], columns: Sequence[str]) -> pd.DataFrame:
    values: dict[str, Any] = {name: [getattr(bad.origin, name) for bad in malformed] for name in _ORIGIN}
    values["position"] = [bad.position for bad in malformed]
    values["reason"] = [bad.reason.value for bad in malformed]
    nothing = np.full(len(malformed), None, object)
    return pd.DataFrame({name: values.get(name, nothing) for name in columns})
