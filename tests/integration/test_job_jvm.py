"""Spark's JVM on this machine reads its classes from the archive that was made for its jars."""

import os
import subprocess
import sys
from pathlib import Path

from market_spread.common.jvm.jars import JarCache
from market_spread.common.jvm.java import find_java
from market_spread.controller.deploy.local.job_jvm import job_jvm

CLASSES = (
    "org.apache.spark.sql.SparkSession",
    "org.apache.spark.sql.kafka010.KafkaMicroBatchStream",
    "org.apache.kafka.clients.consumer.KafkaConsumer",
)
PROGRAM = """
import sys
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.driver.extraClassPath", sys.argv[1])
    .config("spark.driver.extraJavaOptions", sys.argv[2])
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
for name in sys.argv[3:]:
    spark._jvm.java.lang.Class.forName(name)
spark.stop()
"""


def test_classes_of_spark_and_of_the_connector_come_from_the_archive(tmp_path: Path) -> None:
    jvm = job_jvm(find_java(), JarCache())
    log = tmp_path / "classes.log"
    options = jvm.options(f"-Xlog:class+load:file={log}", f"-Djava.io.tmpdir={tmp_path}")

    subprocess.run(
        [sys.executable, "-c", PROGRAM, jvm.class_path, options, *CLASSES],
        check=True, capture_output=True, timeout=120, env={**os.environ, **jvm.environment},
    )  # fmt: skip

    lines = [line for line in log.read_text().splitlines() if any(f" {name} source:" in line for name in CLASSES)]
    assert len(lines) == len(CLASSES)
    assert all(line.endswith("source: shared objects file (top)") for line in lines)
