"""A short run of Spark whose JVM archives its classes when it ends.

JVMs that are given the archive read their classes from it instead of loading, checking and linking them again, which
saves seconds of CPU at each start of a driver or executor. It fits the jars that it was made of, in this order, and the
version of Java. The image is built with one; a local job has that of a rehearsal
(`market_spread.controller.deploy.local.small_stack`), for which a build has no broker. Usage: class_archive.py ARCHIVE.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

# Classes that only a driver in a cluster, or its executors, load: a build has neither a cluster nor a broker.
NEVER_MET = Path(__file__).with_suffix(".txt").read_text("utf-8").split()
BYTES = "org.apache.kafka.common.serialization.ByteArray"
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.port": "0",
    "spark.ui.prometheus.enabled": "true",
    "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
    "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
}
LIFE_S = 6


def main(archive: Path) -> None:
    """Run, and write the archive."""
    settings: dict[str, Any] = {**SETTINGS, "spark.driver.extraJavaOptions": f"'-XX:ArchiveClassesAtExit={archive}'"}
    spark = SparkSession.builder.master("local[4]").config(map=settings).getOrCreate()
    gateway: Any = spark.sparkContext._gateway
    for name in NEVER_MET:
        with suppress(Exception):
            gateway.jvm.java.lang.Class.forName(name)
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
    query.awaitTermination(LIFE_S)
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
