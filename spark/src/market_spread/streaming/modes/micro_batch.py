"""Micro-batch mode: a batch at a time, whole frames in numpy, so that the cost of a message is small.

Frames go to the bucket that they belong to, which is their Kafka partition, and there both topics are worked off
together in the order of their intended times. State is one binary a bucket, in Spark's checkpointed state store; a
batch that is done again begins with the same state and the same offsets, and ends with the same alerts.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from market_spread.common.clock import SystemClock
from market_spread.common.layout import NBBO, ORDER, Layout
from market_spread.streaming.frames import count_messages, records_to_frames
from market_spread.streaming.modes import settings
from market_spread.streaming.modes.settings import SINK_OPTIONS, SOURCE_OPTIONS, Topics
from market_spread.streaming.vectors.frames import Frame, Messages
from market_spread.streaming.vectors.market_spread import judge

if TYPE_CHECKING:
    from pyspark.sql.pandas._typing import DataFrameLike

SESSION_SETTINGS: Mapping[str, str] = {
    **settings.SESSION_SETTINGS,
    # A frame is a row of some 10 kB here: this many of them are what Python is handed at once.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.python.unix.domain.socket.enabled": "true",
    # Frames are digits that change all the time: packing them costs more than moving them within a machine.
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.driver.defaultJavaOptions": "-XX:+UseParallelGC",
    "spark.executor.defaultJavaOptions": "-XX:+UseParallelGC",
}

# A batch takes at most so many frames of a topic: one that has a backlog to work off must not outgrow the memory.
_FRAMES_PER_BATCH = 10_000
_BUCKETS_MAX = 1024


def start_query(
    spark: SparkSession, *, bootstrap_servers: str, topics: Topics, checkpoint: str, batch_s: float
) -> StreamingQuery:
    """Start Market Spread; it goes on from the checkpoint if there is one. Returns at once.

    The session must have SESSION_SETTINGS and `spark.sql.shuffle.partitions`, which a checkpoint is bound to. Batches
    begin `batch_s` apart, or as soon as the one before has ended.
    """

    def frames(topic: str, layout: Layout) -> DataFrame:
        records = (
            spark.readStream.format("kafka")
            .options(**SOURCE_OPTIONS, **{"kafka.bootstrap.servers": bootstrap_servers, "subscribe": topic})
            .option("maxOffsetsPerTrigger", _FRAMES_PER_BATCH)
            .load()
        )
        return count_messages(records_to_frames(records, layout), layout).drop("messages")

    both = frames(topics.nbbo, NBBO).unionByName(frames(topics.orders, ORDER))
    leaving = (
        both.withColumn("bucket", _bucket_key(spark))
        .groupBy("bucket")
        .applyInPandasWithState(
            partial(work_off, topics=topics),
            outputStructType="topic string, key binary, value binary",
            stateStructType="newest binary",
            outputMode="append",
            timeoutConf=GroupStateTimeout.NoTimeout,
        )
    )
    writer = (
        leaving.writeStream.format("kafka")
        .options(**SINK_OPTIONS, **{"kafka.bootstrap.servers": bootstrap_servers, "checkpointLocation": checkpoint})
        .outputMode("append")
        .queryName("market_spread")
    )
    return writer.trigger(processingTime=f"{round(batch_s * 1000)} milliseconds").start()


def _bucket_key(spark: SparkSession) -> Column:
    """A number for each Kafka partition, chosen so that Spark's hash spreads them evenly over those of the state."""
    state_partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    places = F.pmod(F.hash(F.col("id").cast("int")), F.lit(state_partitions))
    candidates = spark.range(_BUCKETS_MAX * 2 * state_partitions).select(F.col("id").cast("int"), places).collect()
    by_place: dict[int, list[int]] = {}
    for candidate, place in candidates:
        by_place.setdefault(place, []).append(candidate)
    keys = [by_place[bucket % state_partitions][bucket // state_partitions] for bucket in range(_BUCKETS_MAX)]
    return F.get(F.lit(keys), F.col("partition").cast("int"))


def work_off(
    _bucket: object, chunks: "Iterable[DataFrameLike]", state: GroupState, *, topics: Topics
) -> "Iterator[DataFrameLike]":
    """One bucket's frames of a batch into the Kafka records that leave; in a Python worker of Spark."""
    frames: dict[str, list[Frame]] = {topics.nbbo: [], topics.orders: []}
    for chunk in chunks:
        for topic, frame in _frames(chunk):
            frames[topic].append(frame)
    quotes = Messages(topics.nbbo, NBBO, frames[topics.nbbo])
    orders = Messages(topics.orders, ORDER, frames[topics.orders])
    newest, batch = judge(state.get[0] if state.exists else None, quotes, orders, SystemClock())
    state.update((newest,))
    records: list[tuple[str, bytes | None, bytes]] = [(topics.alerts, key, value) for key, value in batch.alerts]
    records += [(topics.invalid, None, report) for report in batch.invalid]
    yield pd.DataFrame.from_records(records, columns=["topic", "key", "value"])


def _frames(chunk: Any) -> Iterator[tuple[str, Frame]]:
    columns = (chunk[name].to_list() for name in ("topic", "value", "partition", "offset", "sent_us", "read_us"))
    reasons = chunk["frame_reason"].fillna(0).astype(int).to_list()
    for topic, value, partition, offset, sent_us, read_us, reason in zip(*columns, reasons, strict=True):
        yield topic, Frame(bytes(value or b""), partition, offset, sent_us, read_us, reason)
