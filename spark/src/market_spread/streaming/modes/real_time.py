"""Real-Time Mode: rows pass through the query as they come; state and offsets are saved at the end of a batch."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from market_spread.common.layout import NBBO, ORDER, Layout
from market_spread.streaming.applications.market_spread import alerts_and_invalid, decide
from market_spread.streaming.frames import count_messages, frames_to_messages, records_to_frames

# So short only while the job warms up: such a batch is nearly all planning and committing, which is to become warm.
WARM_UP_BATCH_S = 0.05

# The state's generated projection is longer than what HotSpot compiles by default: interpreted, it would be the
# bottleneck. The parallel collector costs the threads that allocate less than G1 does (docs/adr/0006).
_JAVA_OPTIONS = "-XX:-DontCompileHugeMethods -XX:+UseParallelGC"

# Read at launch only, so they belong into the session and not into the query.
SESSION_SETTINGS: Mapping[str, str] = {
    # The shuffle's buffers leave after at most this long: the main part of the latency. Not 0: its thread would spin.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    "spark.shuffle.streaming.networkBufferSize": "32768",
    "spark.shuffle.streaming.checksum.enabled": "false",
    "spark.rpc.io.threads": "2",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # The default one asks `readlink` about every file that it renames: processes started while the query stands still.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.realTimeMode.minBatchDuration": str(round(WARM_UP_BATCH_S * 1000)),
    "spark.sql.session.timeZone": "UTC",
    # Task metrics reach the driver with the heartbeat: this is how old the live counts are.
    "spark.executor.heartbeatInterval": "1s",
    "spark.dynamicAllocation.enabled": "false",
    "spark.speculation": "false",
    "spark.locality.wait": "0s",
    "spark.driver.defaultJavaOptions": _JAVA_OPTIONS,
    "spark.executor.defaultJavaOptions": _JAVA_OPTIONS,
}

_SOURCE_OPTIONS: Mapping[str, str] = {
    "startingOffsets": "earliest",
    "failOnDataLoss": "true",
    "includeHeaders": "true",
    "kafka.fetch.min.bytes": "1",
    "kafka.fetch.max.wait.ms": "5",
    "kafka.max.partition.fetch.bytes": "8388608",
    "kafka.fetch.max.bytes": "16777216",
}

_SINK_OPTIONS: Mapping[str, str] = {
    "kafka.linger.ms": "0",
    "kafka.acks": "all",
    "kafka.compression.type": "none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """Names of the topics that the job reads and writes."""

    nbbo: str = "nbbo"
    orders: str = "orders"
    alerts: str = "alerts"
    invalid: str = "invalid"


def start_query(
    spark: SparkSession, *, bootstrap_servers: str, topics: Topics, checkpoint: str, batch_s: float
) -> StreamingQuery:
    """Start Market Spread; it goes on from the checkpoint if there is one. Returns at once.

    The session must have SESSION_SETTINGS and `spark.sql.shuffle.partitions`, which a checkpoint is bound to.
    """

    def messages(topic: str, layout: Layout) -> DataFrame:
        records = (
            spark.readStream.format("kafka")
            .options(**_SOURCE_OPTIONS, **{"kafka.bootstrap.servers": bootstrap_servers, "subscribe": topic})
            .load()
        )
        return frames_to_messages(count_messages(records_to_frames(records, layout), layout), layout)

    decisions = decide(messages(topics.nbbo, NBBO), messages(topics.orders, ORDER))
    records = alerts_and_invalid(decisions, alerts_topic=topics.alerts, invalid_topic=topics.invalid)
    writer = (
        records.writeStream.format("kafka")
        .options(**_SINK_OPTIONS, **{"kafka.bootstrap.servers": bootstrap_servers, "checkpointLocation": checkpoint})
        .outputMode("update")
        .queryName("market_spread")
    )
    # PySpark's type stubs do not list this trigger yet.
    return writer.trigger(realTime=f"{round(batch_s * 1000)} milliseconds").start()  # type: ignore[call-overload,no-any-return]


def slots_needed(partitions: int, shuffle_partitions: int) -> int:
    """How many tasks run at the same time: one for each input partition, one for each partition of the state."""
    return partitions + shuffle_partitions
