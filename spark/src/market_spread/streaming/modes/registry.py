"""The modes: how a pipeline is compiled for each, the settings of its session and its query, and how both are made."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from market_spread.common.config import environment_of_spark
from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME, duration
from market_spread.streaming.modes.real_time import compile as real_time
from market_spread.streaming.modes.support import check, form_of_buckets
from market_spread.streaming.pipeline import Pipeline

# The key of a record that is no message: it only wakes who reads the partition.
WAKE_UP = b"market-spread.wake-up"
_HERE = Path(__file__).parent
# Only while the job warms up, and long enough for a batch to read something (at 50 ms none did).
_WARM_UP_BATCH_S = 0.4


def read_settings(path: Path, values: Mapping[str, object] | None = None) -> dict[str, str]:
    """Spark's settings of a file: a line is `name=value`, empty or a comment. values: what stands in it as `{name}`."""
    lines = (line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    pairs = (line.partition("=") for line in lines)
    return {name: value.format_map(values or {}) for name, _, value in pairs}


_SOURCE_OPTIONS = read_settings(_HERE / "kafka_source.conf")
_SINK_OPTIONS = read_settings(_HERE / "kafka_sink.conf")


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


@dataclass(frozen=True, slots=True)
class LiveOperators:
    """The operators of a running batch that count its rows, by their names in Spark's plan: source and state."""

    scan: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A mode.

    compile: the output of a pipeline that the mode can run, as Kafka records (topic, key, value); from the records of
    each source, and the Kafka topic of each sink and of `invalid`, by these names;
    state_form: how the state is packed, which a checkpoint is bound to; empty if Spark's types say everything;
    output_mode, trigger: of the query's writer; the trigger takes a duration;
    warm_up_batch_s: length of the short batches that a new checkpoint begins with; None: it needs none;
    live_operators: what counts the rows of the running batch; None: batches are too short for live counts.
    """

    name: str
    session_settings: Mapping[str, str]
    compile: Callable[[Pipeline, Mapping[str, DataFrame], Mapping[str, str]], DataFrame]
    output_mode: str
    trigger: str
    source_options: Mapping[str, str] = field(default_factory=dict)
    state_form: Callable[[Pipeline], str] = lambda _: ""
    warm_up_batch_s: float | None = None
    live_operators: LiveOperators | None = None


def _micro_batch(pipeline: Pipeline, records: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    # Imports pandas, a second of each start, of which Real-Time Mode needs nothing.
    from market_spread.streaming.modes.micro_batch.compile import compile_pipeline

    return compile_pipeline(pipeline, records, topics)


_SHARED = read_settings(_HERE / "shared.conf")
_MODES = (
    # Rows pass through the query as they arrive; state and offsets are saved when a batch ends.
    Mode(
        name=REAL_TIME,
        session_settings=_SHARED
        | read_settings(_HERE / "real_time/session.conf", {"warm_up_batch_ms": round(_WARM_UP_BATCH_S * 1000)}),
        compile=real_time.compile_pipeline,
        state_form=real_time.state_form,
        output_mode="update",
        trigger="realTime",
        warm_up_batch_s=_WARM_UP_BATCH_S,
        live_operators=LiveOperators(scan="RealTimeStreamScan", state="StatefulStreamlineAggregate"),
    ),
    # One batch after the other, so a message costs little; a repeated batch gives the same output.
    Mode(
        name=MICRO_BATCH,
        session_settings=_SHARED | read_settings(_HERE / "micro_batch/session.conf"),
        # The most frames of a topic in a batch, so that with a backlog it neither outgrows the memory nor takes long.
        source_options={"maxOffsetsPerTrigger": "5000"},
        compile=_micro_batch,
        state_form=form_of_buckets,
        output_mode="append",
        trigger="processingTime",  # batches begin this far apart, or as soon as the previous one has ended
    ),
)
BY_NAME: Mapping[str, Mode] = {mode.name: mode for mode in _MODES}

# Of a driver without executors elsewhere: by default it listens on the machine's address in its network.
LOOPBACK: Mapping[str, str] = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}

# A socket's path has at most 107 bytes, and its name `/.<uuid>.sock` takes 43.
_SOCKET_FOLDER_BYTES_MAX = 64


def open_session(
    mode: Mode, *, master: str, state_partitions: int, memory: str, folder: str, more: Mapping[str, str] | None = None
) -> SparkSession:
    """A new session with the settings of the mode. Takes seconds: it starts the JVM.

    memory: of the driver; folder: where Spark writes; more: settings that override the others; an empty one is unset.
    """
    more = dict(more or {})
    Path(folder).mkdir(parents=True, exist_ok=True)
    # Else Spark and RocksDB unpack into /tmp, where a JVM that is killed leaves it.
    # And a heap of its full size from the start: growing it took pauses of 20 to 60 ms.
    java_options = f"'-Djava.io.tmpdir={folder}' -Xms{memory} {more.pop('spark.driver.extraJavaOptions', '')}".strip()
    settings: dict[str, Any] = {
        **mode.session_settings, "spark.sql.shuffle.partitions": str(state_partitions), "spark.driver.memory": memory,
        "spark.local.dir": folder, "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.python.unix.domain.socket.dir": _socket_folder(folder), "spark.driver.extraJavaOptions": java_options,
        **(LOOPBACK if master.startswith("local") else {}), **more,
    }  # fmt: skip
    asked = {name: value for name, value in settings.items() if value}
    with environment_of_spark(folder):
        return SparkSession.builder.master(master).appName("market-spread").config(map=asked).getOrCreate()


def _socket_folder(folder: str) -> str:
    """Where Spark has its sockets: the folder, or a temporary one if its path is too long or not in lower case.

    A Python worker of Spark 4.3.0 looks for the socket of its state under the path in lower case.
    """
    usable = (it for it in (folder, tempfile.gettempdir()) if len(it.encode()) <= _SOCKET_FOLDER_BYTES_MAX)
    return next((it for it in usable if it == it.lower()), "/tmp")


def query_of(
    spark: SparkSession, pipeline: Pipeline, mode: Mode, *, client: Mapping[str, str], topics: Mapping[str, str],
    checkpoint: str,
) -> DataStreamWriter:  # fmt: skip
    """The pipeline on Kafka, to be started with a trigger, as often as wanted. The checkpoint is not looked at before.

    The session must have the mode's settings and `spark.sql.shuffle.partitions`, which a checkpoint is bound to.
    client: settings of Kafka's clients, with `bootstrap.servers`; topics: the Kafka topics of the sources, the sinks
    and `invalid`, by these names. PipelineError if the mode cannot run the pipeline.
    """
    check(pipeline, mode.name)
    records = {it.name: read_topic(spark, topics[it.name], client, mode.source_options) for it in pipeline.sources}
    writer = writer_of(mode.compile(pipeline, records, topics), checkpoint, client)
    return writer.queryName(pipeline.name).outputMode(mode.output_mode)


def every(mode: Mode, batch_s: float) -> Any:
    """The trigger's arguments for batches of that length; PySpark's types lack `realTime`."""
    return {mode.trigger: duration(batch_s)}
