"""Kafka as both modes read and write it."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
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

_SINK_OPTIONS: Mapping[str, str] = {
    "kafka.linger.ms": "0",
    "kafka.acks": "all",
    "kafka.compression.type": "none",
}


def read_topic(
    spark: SparkSession,
    *,
    bootstrap_servers: str,
    topic: str,
    options: Mapping[str, str] | None = None,
    security: Mapping[str, str] | None = None,
) -> DataFrame:
    """The records of a topic from its beginning, with their headers; streaming.

    security: settings of Kafka's client; see `KafkaSecurity.kafka_java_options`.
    """
    reader = spark.readStream.format("kafka").options(**_SOURCE_OPTIONS, **(options or {}), **_client(security))
    return reader.option("kafka.bootstrap.servers", bootstrap_servers).option("subscribe", topic).load()


def writer_of(
    records: DataFrame, *, bootstrap_servers: str, checkpoint: str, security: Mapping[str, str] | None = None
) -> DataStreamWriter:
    """Writes records (topic, key, value), at least once."""
    writer = records.writeStream.format("kafka").options(**_SINK_OPTIONS, **_client(security))
    return writer.option("kafka.bootstrap.servers", bootstrap_servers).option("checkpointLocation", checkpoint)


def _client(settings: Mapping[str, str] | None) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in (settings or {}).items()}
