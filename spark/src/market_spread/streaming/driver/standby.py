"""What a driver and its standby share: one checkpoint, which only one of the two has at a time (docs/adr/0029)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from market_spread.common.errors import RunFailedError
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.modes.rows import INVALID
from market_spread.streaming.pipeline import Pipeline

REHEARSAL_TOPIC = "market-spread-rehearsal"


class CheckpointLock:
    """A file lock on a checkpoint. The JVM holds it, as the JVM writes there: the kernel frees it when that ends.

    It must be kept as long as the checkpoint is used: what Python has forgotten, the JVM closes, and the lock with it.
    """

    def __init__(self, spark: SparkSession, checkpoint: Path) -> None:
        checkpoint.mkdir(parents=True, exist_ok=True)
        jvm: Any = spark.sparkContext._jvm
        self._channel: Any = jvm.java.io.RandomAccessFile(str(checkpoint / "lock"), "rw").getChannel()
        self._lock: Any = None

    def acquire(self) -> bool:
        """Whether the checkpoint is ours; if no one has it, it is from now on. RunFailedError if the JVM has ended."""
        try:
            self._lock = self._lock or self._channel.tryLock()
        except (Py4JError, OSError) as error:
            raise RunFailedError(f"the job's JVM ended: {error}") from error
        return self._lock is not None


def rehearsal_config(config: JobConfig, pipeline: Pipeline, folder: Path) -> JobConfig:
    """The same job on a checkpoint in the folder: it reads what it will read, and writes to REHEARSAL_TOPIC alone."""
    topics = dict.fromkeys((*pipeline.ends, INVALID), REHEARSAL_TOPIC)
    topics |= config.topic_names(source.name for source in pipeline.sources)
    named = ",".join(f"{name}={topic}" for name, topic in topics.items())
    return replace(config, checkpoint=str(folder / "rehearsal"), topics=named)
