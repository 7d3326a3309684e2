"""The JVMs of job and broker on this machine read their classes from the archives that were made for their jars."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.jvm.archives import LocalJvms
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.jvms import local_jvms

ARCHIVE = "shared objects file (top)"
CLASSES = (
    "org.apache.spark.sql.SparkSession",
    "org.apache.spark.sql.kafka010.KafkaMicroBatchStream",
    "org.apache.kafka.clients.consumer.KafkaConsumer",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
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

SESSION = """
from market_spread.streaming.testing import open_session

with open_session("micro-batch", cores=1) as spark:
    print(spark.range(3).count())
"""


def test_classes_of_spark_and_of_the_connector_come_from_the_archive(tmp_path: Path) -> None:
    jvms = local_jvms(find_java(), JarCache())
    log = tmp_path / "classes.log"
    logging = f"-Xlog:class+load,class+path,cds,cds+dynamic:file={log}"
    options = jvms.job_options(logging, f"-Djava.io.tmpdir={tmp_path}")

    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, jvms.class_path, options, *CLASSES],
        check=True, capture_output=True, timeout=120, env={**os.environ, **jvms.job_environment}, text=True,
    )  # fmt: skip

    sources = sources_of(log)
    expected = (" source: ", "checking shared classpath entry")
    lines = [line for line in log.read_text().splitlines() if not line.endswith("ok")]
    reasons = [line[:500] for line in lines if not any(said in line for said in expected)]
    if {sources[name] for name in CLASSES} != {ARCHIVE}:  # an assertion would cut the reasons
        pytest.fail("\n".join([ended.stdout[-2000:], ended.stderr[-2000:], *reasons[-100:]]))


def test_archives_that_a_jvm_refuses_are_made_again_when_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    jars = JarCache()
    own = local_jvms(find_java(), jars)
    made: list[LocalJvms] = []

    def copy(jvms: LocalJvms) -> None:
        made.append(jvms)
        shutil.copy(own.job_archive, jvms.job_archive)
        shutil.copy(own.broker_archive, jvms.broker_archive)

    jvms = local_jvms(find_java(), jars, tmp_path, copy)
    local_jvms(find_java(), jars, tmp_path, copy, checked=True)
    assert len(made) == 1
    with jvms.job_archive.open("r+b") as archive:  # as a crash of the machine may leave it
        archive.seek(jvms.job_archive.stat().st_size // 2)
        archive.write(bytes(4096))

    local_jvms(find_java(), jars, tmp_path, copy, checked=True)

    assert made == [jvms, jvms]
    (record,) = caplog.records
    assert record.message.startswith(f"a JVM refuses {jvms.job_archive}, an archive of its classes: ")


def test_nearly_all_classes_of_a_broker_come_from_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, jars = tmp_path / "classes.log", JarCache()
    monkeypatch.setenv("JDK_JAVA_OPTIONS", f"-Xlog:class+load:file={log}")
    broker = Broker(
        folder=tmp_path / "broker",
        java=find_java(),
        jars=jars.paths("broker"),
        clock=SystemClock(),
        archive_option=local_jvms(find_java(), jars).broker_option,
    )

    broker.launch()
    broker.wait()
    broker.stop()

    sources = sources_of(log)
    assert sources["kafka.server.BrokerServer"] == ARCHIVE
    assert sum("shared objects file" in source for source in sources.values()) > 0.85 * len(sources)


@pytest.mark.parametrize("has_archive", [True, False])
def test_a_session_for_tests_reads_the_archive_of_a_job_if_there_is_one(tmp_path: Path, has_archive: bool) -> None:
    local_jvms(find_java(), JarCache())
    of_nobody = {} if has_archive else {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    logging = {"JDK_JAVA_OPTIONS": f"-Xlog:class+load:file={tmp_path}/%p.log"}

    ended = subprocess.run(
        [sys.executable, "-c", SESSION], check=True, capture_output=True, timeout=120, text=True,
        env={**os.environ, **logging, **of_nobody},
    )  # fmt: skip

    assert ended.stdout.splitlines()[-1] == "3"
    # Spark's launcher is a JVM as well.
    sources = sources_of(max(tmp_path.glob("*.log"), key=lambda log: log.stat().st_size))
    assert (sources["org.apache.spark.sql.classic.SparkSession"] == ARCHIVE) is has_archive
    shared = sum("shared objects file" in source for source in sources.values())
    assert (shared > 0.7 * len(sources)) is has_archive


def sources_of(log: Path) -> dict[str, str]:
    """From where each class of a log of the JVM came."""
    lines = (line for line in log.read_text().splitlines() if " source: " in line)
    entries = (line.partition("] ")[2].partition(" source: ") for line in lines)
    return {name.rpartition(" ")[2]: source for name, _, source in entries}
