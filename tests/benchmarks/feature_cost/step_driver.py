"""One step as a process: a bare query on Spark, or a Kafka consumer, until a signal ends it.

`python step_driver.py '{"mode": ..., "step": ..., ...}'`; see Order.
"""

import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from steps import MARKER, SOURCES, Step, slots, steps

from market_spread.common.job_contract import duration
from market_spread.common.processes import stop_event_on_signals
from market_spread.streaming.modes.registry import BY_NAME, Mode, open_session, read_topic, writer_of
from market_spread.streaming.pipeline import INVALID

_POLL_MS = 20
_CHECK_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to run. topics: the names in Kafka of nbbo, orders, alerts and invalid."""

    mode: str
    step: str
    bootstrap_servers: str
    topics: Mapping[str, str]
    folder: str
    class_path: str
    java_options: str
    memory: str
    partitions: int
    state_partitions: int


def main() -> None:
    """Run until SIGTERM."""
    stop = stop_event_on_signals()
    order = Order(**json.loads(sys.argv[1]))
    mode = BY_NAME[order.mode]
    (step,) = (step for step in steps(order.mode) if step.name == order.step)
    spark = _session(order, mode)
    if step.compile is None:
        _consume(spark, order, stop)
        return
    output = step.compile(_records(spark, order, step, mode), order.topics)
    writer = writer_of(output, f"{order.folder}/checkpoint", {"bootstrap.servers": order.bootstrap_servers})
    batch_s = step.batch_s if mode.warm_up_batch_s else 0.0
    trigger: Any = {mode.trigger: duration(batch_s)}
    query = writer.outputMode(mode.output_mode).trigger(**trigger).start()
    while not stop.wait(_CHECK_S) and query.isActive:
        pass
    query.stop()
    spark.stop()


def _session(order: Order, mode: Mode) -> SparkSession:
    cores = slots(order.mode, partitions=order.partitions, state_partitions=order.state_partitions)
    return open_session(
        mode,
        master=f"local[{cores}]",
        state_partitions=order.state_partitions,
        memory=order.memory,
        folder=f"{order.folder}/spark",
        more={
            "spark.driver.extraClassPath": order.class_path,
            "spark.driver.extraJavaOptions": order.java_options,
        },
    )


def _records(spark: SparkSession, order: Order, step: Step, mode: Mode) -> dict[str, Any]:
    options = dict(mode.source_options)
    if "maxOffsetsPerTrigger" in options:
        options = {"maxOffsetsPerTrigger": str(step.frames_max)} if step.frames_max else {}
    client = {"bootstrap.servers": order.bootstrap_servers}
    return {name: read_topic(spark, order.topics[name], client, options) for name in SOURCES}


def _consume(spark: SparkSession, order: Order, stop: threading.Event) -> None:
    """Poll both topics as fast as it goes; whenever an end is reached, say so as a query would: by a marker."""
    jvm: Any = spark._jvm
    kafka, hash_map = jvm.org.apache.kafka, jvm.java.util.HashMap
    settings = hash_map()
    for name, value in {
        "bootstrap.servers": order.bootstrap_servers,
        "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "max.poll.records": "2000",
        "fetch.max.wait.ms": "5",
        "max.partition.fetch.bytes": "8388608",
        "fetch.max.bytes": "16777216",
    }.items():
        settings.put(name, value)
    consumer = kafka.clients.consumer.KafkaConsumer(settings)
    for name in ("key", "value"):
        settings.put(f"{name}.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer")
    producer = kafka.clients.producer.KafkaProducer(settings)
    partitions = jvm.java.util.ArrayList()
    for name in SOURCES:
        for partition in range(order.partitions):
            partitions.add(kafka.common.TopicPartition(order.topics[name], partition))
    consumer.assign(partitions)
    wait = jvm.java.time.Duration.ofMillis(_POLL_MS)
    told = dict.fromkeys(range(partitions.size()), 0)
    while not stop.is_set():
        if consumer.poll(wait).count():
            continue
        ends = consumer.endOffsets(partitions)
        for i in told:
            partition = partitions.get(i)
            position = consumer.position(partition)
            if position == ends.get(partition) and position > told[i]:
                told[i] = position
                producer.send(kafka.clients.producer.ProducerRecord(order.topics[INVALID], bytearray(MARKER)))
    producer.close()
    consumer.close()


if __name__ == "__main__":
    main()
