"""Micro-batch mode: a batch at a time, so that a message costs little; a batch done again is the same."""

from collections.abc import Mapping

from market_spread.common import job_contract
from market_spread.streaming.modes.micro_batch.compile import leaving
from market_spread.streaming.modes.mode import SHARED_SETTINGS, Mode
from market_spread.streaming.pipeline import Pipeline

_SESSION_SETTINGS: Mapping[str, str] = {
    **SHARED_SETTINGS,
    # The only provider that an as-of join can keep its state in.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A frame is a row of some 10 kB here: this many of them are what Python is handed at once.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "128",
    "spark.python.unix.domain.socket.enabled": "true",
    # Python workers keep the memory of a batch for the next one: to get it anew from the kernel cost them as much as
    # their work. (Up to 32 MiB is all that the C library takes from its heap.)
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "spark.executorEnv.MALLOC_TOP_PAD_": str(64 << 20),
    # Frames are digits that change all the time: packing them costs more than moving them within a machine. They are
    # written once, not to a file for each partition and then together, and in long strokes; Kafka has checked them.
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.shuffle.sort.bypassMergeThreshold": "1",
    "spark.shuffle.file.buffer": "1m",
    "spark.shuffle.checksum.enabled": "false",
    "spark.driver.defaultJavaOptions": "-XX:+UseParallelGC",
    "spark.executor.defaultJavaOptions": "-XX:+UseParallelGC",
}

# A batch takes at most so many frames of a topic: with a backlog, too, it must not outgrow the memory, nor last long.
_SOURCE_OPTIONS: Mapping[str, str] = {"maxOffsetsPerTrigger": "5000"}


def _state_form(_pipeline: Pipeline) -> str:
    """None to tell apart: numbers are kept as they are."""
    return ""


def _slots_needed(_partitions: int, _state_partitions: int) -> int:
    """One: its tasks wait for each other."""
    return 1


MICRO_BATCH = Mode(
    name=job_contract.MICRO_BATCH,
    session_settings=_SESSION_SETTINGS,
    source_options=_SOURCE_OPTIONS,
    leaving=leaving,
    state_form=_state_form,
    output_mode="append",
    trigger="processingTime",  # batches begin so far apart, or as soon as the one before has ended
    slots_needed=_slots_needed,
)
