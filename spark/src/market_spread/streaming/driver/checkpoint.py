"""What a checkpoint is bound to: its Kafka, by the offsets from which its query continues, and the form of its state;
and the one driver that has it at a time (docs/adr/0029).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from market_spread.common.documents import write_whole
from market_spread.common.errors import RunFailedError, UsageError, usage_errors
from market_spread.streaming.driver.progress import Partition, partition_offsets


def newest_offsets(checkpoint: Path) -> dict[Partition, int]:
    """The offsets at which the newest batch of a checkpoint begins or ends; empty if it has no batch."""
    return _offsets_of(_newest_batch(checkpoint))


def committed_offsets(checkpoint: Path) -> dict[Partition, int]:
    """The offsets up to which a query of micro-batches has committed; empty if it has committed none."""
    newest = _newest_batch(checkpoint, "commits")
    return _offsets_of(newest and checkpoint / "offsets" / newest.name)


def _newest_batch(checkpoint: Path, log: str = "offsets") -> Path | None:
    batches = (path for path in (checkpoint / log).glob("*") if path.name.isdecimal())
    return max(batches, key=lambda path: int(path.name), default=None)


def _offsets_of(batch: Path | None) -> dict[Partition, int]:
    """Those in a file of a batch; none if there is no file, or it is of another version."""
    try:
        # The version, the query's settings, and then a line for each source.
        version, _, *sources = batch.read_text("utf-8").splitlines() if batch else ("", "")
    except FileNotFoundError:  # Spark deletes those of old batches
        return {}
    sources = [source for source in sources if version == "v1" and source.startswith("{")]
    return {key: end for source in sources for key, end in partition_offsets(source).items()}


def refuse_other_kafka(checkpoint: Path, known: Mapping[Partition, int], ends: Mapping[Partition, int]) -> None:
    """UsageError if the topics end before the checkpoint's offsets: it was made with other topics, and Spark would wait
    for records that never come, or skip those that do.
    """
    for (topic, partition), offset in sorted(known.items()):
        end = ends.get((topic, partition), 0)
        if offset > end:
            raise UsageError(
                f"the checkpoint {checkpoint} is at offset {offset} of {topic}-{partition}, which ends at {end}: "
                "it was made with another Kafka, or topics that were deleted since; give the job an empty checkpoint"
            )


def bind_state_form(checkpoint: Path, form: str) -> None:
    """Write the form of the state into a new checkpoint. UsageError if an older one has another form, or none.

    Call it when the checkpoint is ours: until then a predecessor may still begin it.
    """
    note = checkpoint / "state-form"
    if _newest_batch(checkpoint) is None:
        checkpoint.mkdir(parents=True, exist_ok=True)
        write_whole(note, form)
    elif (note.read_text("utf-8") if note.exists() else "") != form:
        raise UsageError(
            f"the checkpoint {checkpoint} has its state in another form than this build of the job reads: another "
            "build, mode or pipeline made it; give the job an empty checkpoint, or use the build that made it"
        )


def spread_state(spark: SparkSession, checkpoint: Path, partitions: int) -> None:
    """Have the state in so many partitions, if it has any; by itself a query keeps those that it began with.

    Call it when the checkpoint is ours. A batch that was not committed comes again. UsageError if Spark cannot do it.
    """
    if not partitions or (newest := _newest_batch(checkpoint, "commits")) is None:
        return
    settings = json.loads((checkpoint / "offsets" / newest.name).read_text("utf-8").splitlines()[1])["conf"]
    had = int(settings["spark.sql.shuffle.partitions"])
    if had != partitions:
        what = f"the state in {checkpoint} cannot be spread from {had} over {partitions} partitions"
        with usage_errors(what, f"keep {had}, or give the job an empty checkpoint", (PySparkException, Py4JError)):
            spark.conf.set(
                "spark.sql.streaming.stateStore.checkpointFormatVersion", newest.read_text("utf-8")[1]
            )  # of "v2"
            spark._streamingCheckpointManager.repartition(str(checkpoint), partitions, False)


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
