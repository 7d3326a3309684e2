"""While the image is built: a short run of Spark whose JVM archives its classes when it ends.

The image's JVMs read their classes from the archive instead of loading, checking and linking them again, which saves
seconds of CPU for each restarted driver and executor. The archive does not depend on our sources, so it stays the same
when they change. `make test` makes one for a checkout; it has only classes of Spark's own jars.
Usage: class_archive.py ARCHIVE.
"""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

# Classes that only a driver in a cluster, or its executors, load: a build has neither a cluster nor a broker.
NEVER_MET = (
    "org.apache.spark.executor.CoarseGrainedExecutorBackend",
    "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
    "org.apache.spark.scheduler.cluster.k8s.KubernetesClusterManager",
    "org.apache.spark.scheduler.cluster.k8s.KubernetesClusterSchedulerBackend",
    "org.apache.spark.scheduler.cluster.k8s.ExecutorPodsAllocator",
    "org.apache.spark.scheduler.cluster.k8s.ExecutorPodsLifecycleManager",
    "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder",
    "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "org.apache.spark.sql.kafka010.KafkaMicroBatchStream",
    "org.apache.spark.sql.kafka010.KafkaBatchPartitionReader",
    "org.apache.spark.sql.kafka010.KafkaStreamDataWriter",
    "org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer",
    "org.apache.spark.sql.kafka010.producer.InternalKafkaProducerPool",
)
BYTES = "org.apache.kafka.common.serialization.ByteArray"
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.prometheus.enabled": "true",
    "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
    "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
}
LIFE_S = 6


def main(archive: Path) -> None:
    """Run, and write the archive."""
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={archive}"
    builder = SparkSession.builder.master("local[4]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    gateway: Any = spark.sparkContext._gateway
    for name in NEVER_MET:
        with suppress(Exception):
            gateway.jvm.java.lang.Class.forName(name)
    if any(Path(pyspark.__file__).parent.glob("jars/kafka-clients-*.jar")):  # else Spark gets them as files
        _speak_kafka(gateway.jvm)
    _ask_kubernetes(gateway.jvm)
    _stream(spark)
    spark.stop()
    # The JVM ends when its standard input closes, and then writes the archive.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=300)
    if not archive.exists():
        sys.exit(f"no archive was written: {archive}")


def _stream(spark: SparkSession) -> None:
    """A stateful query, for a few batches."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    rows = rows.select((F.col("value") % 7).cast("string").alias("key"), F.hex(F.col("value")).alias("text"))
    newest = rows.groupBy("key").agg(F.max("text").alias("text"), F.last("key", ignorenulls=True).alias("last"))
    query = newest.where(F.length("text") > 0).writeStream.outputMode("update").format("noop").start()
    time.sleep(LIFE_S)
    query.stop()


def _speak_kafka(jvm: Any) -> None:
    """Make clients of a broker that does not exist."""
    settings = jvm.java.util.HashMap()
    settings.put("bootstrap.servers", "127.0.0.1:1")
    for side in ("key", "value"):
        settings.put(f"{side}.deserializer", f"{BYTES}Deserializer")
        settings.put(f"{side}.serializer", f"{BYTES}Serializer")
    clients = jvm.org.apache.kafka.clients
    clients.consumer.KafkaConsumer(settings).close()
    clients.producer.KafkaProducer(settings).close()
    clients.admin.Admin.create(settings).close()


def _ask_kubernetes(jvm: Any) -> None:
    """Ask an API server that does not exist for its pods."""
    fabric8 = jvm.io.fabric8.kubernetes.client
    settings = fabric8.ConfigBuilder().withMasterUrl("https://127.0.0.1:1").withRequestRetryBackoffLimit(0).build()
    client = fabric8.KubernetesClientBuilder().withConfig(settings).build()
    with suppress(Exception):
        client.pods().inNamespace("none").list()
    client.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
