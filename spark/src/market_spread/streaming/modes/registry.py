"""The modes by their names, and a pipeline as a running query of one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME, duration
from market_spread.streaming.modes.kafka_io import read_topic, writer_of
from market_spread.streaming.modes.micro_batch import mode as micro_batch
from market_spread.streaming.modes.real_time import mode as real_time
from market_spread.streaming.modes.support import check
from market_spread.streaming.pipeline import Pipeline

Leaving = Callable[[Pipeline, Mapping[str, DataFrame], Mapping[str, str]], DataFrame]


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode.

    leaving: the records that leave a pipeline (topic, key, value), from those of its sources and the names of topics;
    state_form: how its state is packed, which a checkpoint is bound to; empty if Spark's types say all of it;
    output_mode, trigger: what the query's writer is told, the trigger with a duration;
    slots_needed: tasks that have to run at the same time, by partitions of the input and of the state;
    warm_up_batch_s: length of the short batches that a new checkpoint begins with; None: it needs none.
    """

    name: str
    session_settings: Mapping[str, str]
    source_options: Mapping[str, str]
    leaving: Leaving
    state_form: Callable[[Pipeline], str]
    output_mode: str
    trigger: str
    slots_needed: Callable[[int, int], int]
    warm_up_batch_s: float | None


def _mode(name: str, module: ModuleType, warm_up_batch_s: float | None) -> Mode:
    return Mode(
        name,
        module.SESSION_SETTINGS,
        module.SOURCE_OPTIONS,
        module.leaving,
        module.state_form,
        module.OUTPUT_MODE,
        module.TRIGGER,
        module.slots_needed,
        warm_up_batch_s,
    )


BY_NAME: Mapping[str, Mode] = {
    REAL_TIME: _mode(REAL_TIME, real_time, real_time.WARM_UP_BATCH_S),
    MICRO_BATCH: _mode(MICRO_BATCH, micro_batch, None),  # its batches are short anyway
}


def open_session(
    mode: Mode, *, master: str, state_partitions: int, memory: str, folder: str, more: Mapping[str, str] | None = None
) -> SparkSession:
    """A new session with the settings of the mode. Takes seconds: it starts the JVM.

    memory: of the driver; folder: where Spark writes; more: settings that go before the others, empty ones left out.
    """
    settings = {
        **mode.session_settings,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(state_partitions),
        "spark.driver.memory": memory,
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        **(more or {}),
    }
    builder = SparkSession.builder.master(master).appName("market-spread")
    for name, value in settings.items():
        if value:
            builder = builder.config(name, value)
    return builder.getOrCreate()


def start_query(
    spark: SparkSession,
    pipeline: Pipeline,
    mode: Mode,
    *,
    bootstrap_servers: str,
    topics: Mapping[str, str],
    checkpoint: str,
    batch_s: float,
    security: Mapping[str, str] | None = None,
) -> StreamingQuery:
    """Start the pipeline on Kafka; it goes on from the checkpoint if there is one. Returns at once.

    The session must have the mode's settings and `spark.sql.shuffle.partitions`, which a checkpoint is bound to.
    topics: what the sources, the sinks and `invalid` are called in Kafka; security: settings of Kafka's clients, if it
    is not open to all. PipelineError if the mode cannot run it.
    """
    check(pipeline, mode.name)
    records = {
        source.name: read_topic(
            spark,
            bootstrap_servers=bootstrap_servers,
            topic=topics[source.name],
            options=mode.source_options,
            security=security,
        )
        for source in pipeline.sources
    }
    leaving = mode.leaving(pipeline, records, topics)
    writer = writer_of(leaving, bootstrap_servers=bootstrap_servers, checkpoint=checkpoint, security=security)
    trigger: Any = {mode.trigger: duration(batch_s)}  # PySpark's types do not list all of them
    return writer.queryName(pipeline.name).outputMode(mode.output_mode).trigger(**trigger).start()
