"""Micro-batch mode: one batch after the other, so a message costs little; a repeated batch gives the same output."""

from collections.abc import Mapping

from market_spread.common import job_contract
from market_spread.streaming.modes.micro_batch.compile import compile_pipeline
from market_spread.streaming.modes.mode import SHARED_SETTINGS, Mode

_SESSION_SETTINGS: Mapping[str, str] = {
    **SHARED_SETTINGS,
    # The only provider that transformWithState works with.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A frame is a row of about 10 kB here; Python gets this many at once.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "128",
    "spark.python.unix.domain.socket.enabled": "true",
    # Python workers keep a batch's memory for the next: getting it from the kernel again cost as much as their work.
    # (32 MiB is the most that the C library takes from its heap.)
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "spark.executorEnv.MALLOC_TOP_PAD_": str(64 << 20),
    # Frames are digits that change all the time: compressing them costs more than moving them within a machine. They
    # are written once, in large blocks, not first to a file per partition; Kafka has checked them.
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.shuffle.sort.bypassMergeThreshold": "1",
    "spark.shuffle.file.buffer": "1m",
    "spark.shuffle.checksum.enabled": "false",
    "spark.driver.defaultJavaOptions": "-XX:+UseParallelGC",
    "spark.executor.defaultJavaOptions": "-XX:+UseParallelGC",
}

# The most frames of a topic in a batch, so that with a backlog it neither outgrows the memory nor takes long.
_SOURCE_OPTIONS: Mapping[str, str] = {"maxOffsetsPerTrigger": "5000"}


MICRO_BATCH = Mode(
    name=job_contract.MICRO_BATCH,
    session_settings=_SESSION_SETTINGS,
    source_options=_SOURCE_OPTIONS,
    compile=compile_pipeline,
    output_mode="append",
    trigger="processingTime",  # batches begin this far apart, or as soon as the previous one has ended
)
