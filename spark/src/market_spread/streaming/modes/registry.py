"""The modes by name, and a pipeline as a running query."""

import tempfile
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from market_spread.common.job_contract import duration
from market_spread.streaming.modes.kafka_io import read_topic, writer_of
from market_spread.streaming.modes.micro_batch.mode import MICRO_BATCH
from market_spread.streaming.modes.mode import Mode
from market_spread.streaming.modes.real_time.compile import REAL_TIME
from market_spread.streaming.modes.support import check
from market_spread.streaming.pipeline import Pipeline

BY_NAME: Mapping[str, Mode] = {mode.name: mode for mode in (REAL_TIME, MICRO_BATCH)}

# A socket's path has at most 107 bytes, and its name `/.<uuid>.sock` takes 43.
_SOCKET_FOLDER_BYTES_MAX = 64


def open_session(
    mode: Mode, *, master: str, state_partitions: int, memory: str, folder: str, more: Mapping[str, str] | None = None
) -> SparkSession:
    """A new session with the settings of the mode. Takes seconds: it starts the JVM.

    memory: of the driver; folder: where Spark writes; more: settings that override the others; an empty one is unset.
    """
    more = dict(more or {})
    # Else Spark and RocksDB unpack into /tmp, where a JVM that is killed leaves it.
    # And a heap of its full size from the start: growing it took pauses of 20 to 60 ms.
    java_options = f"'-Djava.io.tmpdir={folder}' -Xms{memory} {more.pop('spark.driver.extraJavaOptions', '')}".strip()
    settings: dict[str, Any] = {
        **mode.session_settings,
        "spark.sql.shuffle.partitions": str(state_partitions),
        "spark.driver.memory": memory,
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.python.unix.domain.socket.dir": _socket_folder(folder),
        "spark.driver.extraJavaOptions": java_options,
        **more,
    }
    asked = {name: value for name, value in settings.items() if value}
    return SparkSession.builder.master(master).appName("market-spread").config(map=asked).getOrCreate()


def _socket_folder(folder: str) -> str:
    """Where Spark has its sockets: the folder, or a temporary one if its path is too long or not in lower case.

    A Python worker of Spark 4.3.0 looks for the socket of its state under the path in lower case.
    """
    usable = (it for it in (folder, tempfile.gettempdir()) if len(it.encode()) <= _SOCKET_FOLDER_BYTES_MAX)
    return next((it for it in usable if it == it.lower()), "/tmp")


def query_of(
    spark: SparkSession,
    pipeline: Pipeline,
    mode: Mode,
    *,
    client: Mapping[str, str],
    topics: Mapping[str, str],
    checkpoint: str,
) -> DataStreamWriter:
    """The pipeline on Kafka, to be started with a trigger, as often as wanted. The checkpoint is not looked at before.

    The session must have the mode's settings and `spark.sql.shuffle.partitions`, which a checkpoint is bound to.
    client: settings of Kafka's clients, with `bootstrap.servers`; topics: the Kafka topics of the sources, the sinks
    and `invalid`, by these names. PipelineError if the mode cannot run the pipeline.
    """
    check(pipeline, mode.name)
    records = {
        source.name: read_topic(spark, topics[source.name], client, mode.source_options) for source in pipeline.sources
    }
    writer = writer_of(mode.compile(pipeline, records, topics), checkpoint, client)
    return writer.queryName(pipeline.name).outputMode(mode.output_mode)


def every(mode: Mode, batch_s: float) -> Any:
    """The trigger's arguments for batches of that length; PySpark's types lack `realTime`."""
    return {mode.trigger: duration(batch_s)}
