"""Ends a running batch of Real-Time Mode before its deadline.

A reader of Spark 4.3 ends its batch when it finds that the deadline has passed, which it looks up before each record;
without a record it waits for the deadline. The clock of both is `LowLatencyClock`, which can be set: it is set ahead,
and each partition gets a record that is no message. The clock is the JVM's, so this works only where the executors
share the driver's.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

from market_spread.common.clock import Clock
from market_spread.common.errors import BrokerAwayError
from market_spread.common.kafka.client import KafkaBroker
from market_spread.streaming.modes.kafka_io import WAKE_UP

_WITHIN_S = 5.0


class EarlyEnd:
    """Ends batches of a session whose readers read these partitions (numbers by topic)."""

    def __init__(self, spark: SparkSession, broker: KafkaBroker, partitions: Mapping[str, int], clock: Clock) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._broker = broker
        self._partitions = partitions
        self._clock = clock
        self._ahead_ms = 0

    def end_batch(self, batch_s: float) -> None:
        """Have the running batch, which takes so long at most, end now; at its deadline if Kafka does not answer."""
        # The batch may have begun while the clock was ahead for the one before it.
        self._ahead_ms = max(self._ahead_ms, self._clock.unix_ns() // 1_000_000) + round(batch_s * 1e3)
        self._set(self._jvm.org.apache.spark.util.ManualClock(self._ahead_ms))
        with suppress(BrokerAwayError):
            producer = self._broker.producer(self._partitions)
            for topic, count in self._partitions.items():
                for partition in range(count):
                    producer.send(topic, partition, b"", (), lambda offset, error: None, key=WAKE_UP)
            producer.close(_WITHIN_S)

    def keep_time(self) -> None:
        """Let batches end by the time of day. One that has begun takes as much longer as the clock was ahead."""
        self._set(self._jvm.org.apache.spark.util.SystemClock())

    def _set(self, clock: Any) -> None:
        self._jvm.org.apache.spark.sql.execution.datasources.v2.LowLatencyClock.setClock(clock)
