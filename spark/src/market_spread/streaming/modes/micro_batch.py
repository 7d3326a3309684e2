"""Micro-batch mode: a batch at a time, so that a message costs little; a batch done again is the same."""

from collections.abc import Mapping

from market_spread.streaming.modes import settings
from market_spread.streaming.plans import micro_batch

SESSION_SETTINGS: Mapping[str, str] = {
    **settings.SESSION_SETTINGS,
    # A frame is a row of some 10 kB here: this many of them are what Python is handed at once.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.python.unix.domain.socket.enabled": "true",
    # Frames are digits that change all the time: packing them costs more than moving them within a machine.
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.driver.defaultJavaOptions": "-XX:+UseParallelGC",
    "spark.executor.defaultJavaOptions": "-XX:+UseParallelGC",
}

# A batch takes at most so many frames of a topic: one that has a backlog to work off must not outgrow the memory.
SOURCE_OPTIONS: Mapping[str, str] = {"maxOffsetsPerTrigger": "10000"}

# Batches begin so far apart, or as soon as the one before has ended.
OUTPUT_MODE = "append"
TRIGGER = "processingTime"

leaving = micro_batch.leaving


def slots_needed(partitions: int, state_partitions: int) -> int:
    """One: its tasks wait for each other."""
    return 1
