"""Real-Time Mode: rows pass through the query as they come; state and offsets are saved at the end of a batch."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from market_spread.common.layout import NBBO, ORDER, Layout
from market_spread.streaming.applications.market_spread import alerts_and_invalid, decide
from market_spread.streaming.frames import count_messages, frames_to_messages, records_to_frames
from market_spread.streaming.modes import settings
from market_spread.streaming.modes.settings import SINK_OPTIONS, SOURCE_OPTIONS, Topics

# So short only while the job warms up, and long enough that a batch reads something (at 50 ms none did).
WARM_UP_BATCH_S = 0.4

# The state's generated projection is longer than what HotSpot compiles by default: interpreted, it would be the
# bottleneck. The parallel collector costs the threads that allocate less than G1 does (docs/adr/0006).
_JAVA_OPTIONS = "-XX:-DontCompileHugeMethods -XX:+UseParallelGC"

# Read at launch only, so they belong into the session and not into the query.
SESSION_SETTINGS: Mapping[str, str] = {
    **settings.SESSION_SETTINGS,
    # The shuffle's buffers leave after at most this long: the main part of the latency. Not 0: its thread would spin.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    "spark.shuffle.streaming.networkBufferSize": "32768",
    "spark.shuffle.streaming.checksum.enabled": "false",
    "spark.rpc.io.threads": "2",
    "spark.sql.streaming.realTimeMode.minBatchDuration": str(round(WARM_UP_BATCH_S * 1000)),
    "spark.driver.defaultJavaOptions": _JAVA_OPTIONS,
    "spark.executor.defaultJavaOptions": _JAVA_OPTIONS,
}


def start_query(
    spark: SparkSession, *, bootstrap_servers: str, topics: Topics, checkpoint: str, batch_s: float
) -> StreamingQuery:
    """Start Market Spread; it goes on from the checkpoint if there is one. Returns at once.

    The session must have SESSION_SETTINGS and `spark.sql.shuffle.partitions`, which a checkpoint is bound to.
    """

    def messages(topic: str, layout: Layout) -> DataFrame:
        records = (
            spark.readStream.format("kafka")
            .options(**SOURCE_OPTIONS, **{"kafka.bootstrap.servers": bootstrap_servers, "subscribe": topic})
            .load()
        )
        return frames_to_messages(count_messages(records_to_frames(records, layout), layout), layout)

    decisions = decide(messages(topics.nbbo, NBBO), messages(topics.orders, ORDER))
    records = alerts_and_invalid(decisions, alerts_topic=topics.alerts, invalid_topic=topics.invalid)
    writer = (
        records.writeStream.format("kafka")
        .options(**SINK_OPTIONS, **{"kafka.bootstrap.servers": bootstrap_servers, "checkpointLocation": checkpoint})
        .outputMode("update")
        .queryName("market_spread")
    )
    # PySpark's type stubs do not list this trigger yet.
    return writer.trigger(realTime=f"{round(batch_s * 1000)} milliseconds").start()  # type: ignore[call-overload,no-any-return]


def slots_needed(partitions: int, shuffle_partitions: int) -> int:
    """How many tasks run at the same time: one for each input partition, one for each partition of the state."""
    return partitions + shuffle_partitions
