"""What a mode is: how a pipeline is compiled for it, and what its session and its query are told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from market_spread.streaming.pipeline import Pipeline

SHARED_SETTINGS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # The default one asks `readlink` about every file that it renames: processes started while the query stands still.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Task metrics reach the driver with the heartbeat: this is how old the live counts are.
    "spark.executor.heartbeatInterval": "1s",
    # Without it, a query that waits for a broker that is gone cannot be stopped for a minute.
    "spark.sql.streaming.stopTimeout": "4s",
    "spark.dynamicAllocation.enabled": "false",
    "spark.speculation": "false",
    "spark.locality.wait": "0s",
}

Compile = Callable[[Pipeline, Mapping[str, DataFrame], Mapping[str, str]], DataFrame]


@dataclass(frozen=True, slots=True)
class LiveOperators:
    """The operators of a running batch that count its rows, by their names in Spark's plan: source and state."""

    scan: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A mode.

    leaving: the records that leave a pipeline (topic, key, value), from those of its sources and the names of topics;
    state_form: how its state is packed, which a checkpoint is bound to; empty if Spark's types say all of it;
    output_mode, trigger: what the query's writer is told, the trigger with a duration;
    slots_needed: tasks that have to run at the same time, by partitions of the input and of the state;
    warm_up_batch_s: length of the short batches that a new checkpoint begins with; None: it needs none;
    live_operators: what counts the rows of the running batch; None: a batch is too short to be looked into.
    """

    name: str
    session_settings: Mapping[str, str]
    source_options: Mapping[str, str]
    leaving: Compile
    state_form: Callable[[Pipeline], str]
    output_mode: str
    trigger: str
    slots_needed: Callable[[int, int], int]
    warm_up_batch_s: float | None = None
    live_operators: LiveOperators | None = None
