"""Kafka as both modes read and write it."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

_SOURCE_OPTIONS: Mapping[str, str] = {
    "startingOffsets": "earliest",
    "failOnDataLoss": "true",
    "includeHeaders": "true",
    "kafka.fetch.min.bytes": "1",
    "kafka.fetch.max.wait.ms": "5",
    "kafka.max.partition.fetch.bytes": "8388608",
    "kafka.fetch.max.bytes": "16777216",
}

# The key of a record that is no message: it only wakes who reads the partition.
WAKE_UP = b"market-spread.wake-up"

_SINK_OPTIONS: Mapping[str, str] = {"kafka.linger.ms": "0", "kafka.acks": "all", "kafka.compression.type": "none"}


def read_topic(
    spark: SparkSession, topic: str, client: Mapping[str, str], options: Mapping[str, str] | None = None
) -> DataFrame:
    """The records of a topic from its beginning, with their headers, but for those with the key WAKE_UP; streaming.

    client: settings of Kafka's client, with `bootstrap.servers`; options: of Spark's source.
    """
    reader = spark.readStream.format("kafka").options(**_SOURCE_OPTIONS, **(options or {}), **_prefixed(client))
    return reader.option("subscribe", topic).load().where(F.col("key").isNull() | (F.col("key") != F.lit(WAKE_UP)))


def writer_of(records: DataFrame, checkpoint: str, client: Mapping[str, str]) -> DataStreamWriter:
    """Writes records (topic, key, value), at least once. client: as of `read_topic`."""
    writer = records.writeStream.format("kafka").options(**_SINK_OPTIONS, **_prefixed(client))
    return writer.option("checkpointLocation", checkpoint)


def _prefixed(client: Mapping[str, str]) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in client.items()}
