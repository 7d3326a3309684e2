"""Spark as the supervisor sees it: the query, the counts of its running batch, and how that ends early."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from market_spread.common.clock import Clock
from market_spread.common.errors import BrokerAwayError
from market_spread.common.kafka.client import KafkaBroker
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.modes.kafka_io import WAKE_UP
from market_spread.streaming.modes.mode import LiveOperators
from market_spread.streaming.modes.registry import BY_NAME, every, query_of
from market_spread.streaming.modes.rows import INVALID
from market_spread.streaming.pipeline import Pipeline

_ROWS = "number of output rows"
_WAKE_UP_WITHIN_S = 5.0


class LiveCounts:
    """Counts of the running batch, from Spark's SQL metrics, which arrive with the executors' heartbeats.

    Spark reports progress only when a batch ends, and the stages' task metrics stay at zero in Real-Time Mode. But the
    operators count their rows, and Spark's SQL status store has these counts while the tasks run.
    """

    def __init__(self, spark: SparkSession, operators: LiveOperators | None) -> None:
        """operators: those whose rows are counted; with None, every count is zero."""
        self._operators = operators
        self._store: Any = spark._jsparkSession.sharedState().statusStore()
        self._execution = -1
        self._counters: dict[str, list[int]] = {}

    def read(self) -> tuple[int, int]:
        """Records read and messages processed by the running batch; zeros while none runs, or none are known."""
        operators = self._operators
        with suppress(Py4JJavaError):  # Spark drops old executions, even while they are being read
            if operators is None or not (count := self._store.executionsCount()):
                return 0, 0
            execution = self._store.executionsList(count - 1, 1).apply(0)
            if execution.completionTime().isDefined():
                return 0, 0
            if execution.executionId() != self._execution:  # once per execution, because the plan is large
                self._execution = execution.executionId()
                self._find_counters(operators)
            values = self._store.executionMetrics(self._execution)
            return self._sum(values, operators.scan), self._sum(values, operators.state)
        return 0, 0

    def _find_counters(self, operators: LiveOperators) -> None:
        self._counters = {operators.scan: [], operators.state: []}
        nodes = self._store.planGraph(self._execution).allNodes()
        for i in range(nodes.size()):
            name, metrics = nodes.apply(i).name(), nodes.apply(i).metrics()
            if name in self._counters:
                named = (metrics.apply(j) for j in range(metrics.size()))
                self._counters[name] += [metric.accumulatorId() for metric in named if metric.name() == _ROWS]

    def _sum(self, values: Any, name: str) -> int:
        found = (values.get(counter) for counter in self._counters[name])
        return sum(_number(value.get()) for value in found if value.isDefined())


def _number(text: str) -> int:
    """The total of a metric as Spark formats it: `1,234`, or `total (min, med, max ...)` and `1,234 (...)` below it."""
    digits = text.splitlines()[-1].split(" ")[0].replace(",", "")
    return int(digits) if digits.isdigit() else 0


class EarlyEnd:
    """Ends running batches of Real-Time Mode before their deadline, whose readers read these partitions.

    A reader of Spark 4.3 ends its batch when it finds that the deadline has passed, which it looks up before each
    record; without a record it waits for the deadline. The clock of both is `LowLatencyClock`, which can be set: it is
    set ahead, and each partition gets a record that is no message. The clock is the JVM's, so this works only where the
    executors share the driver's.
    """

    def __init__(self, spark: SparkSession, broker: KafkaBroker, partitions: Mapping[str, int], clock: Clock) -> None:
        """partitions: their numbers, by topic."""
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
            producer.close(_WAKE_UP_WITHIN_S)

    def keep_time(self) -> None:
        """Let batches end by the time of day. One that has begun takes as much longer as the clock was ahead."""
        self._set(self._jvm.org.apache.spark.util.SystemClock())

    def _set(self, clock: Any) -> None:
        self._jvm.org.apache.spark.sql.execution.datasources.v2.LowLatencyClock.setClock(clock)


class SparkEngine:
    """A session and the query of a pipeline in it; the supervisor's `Engine`."""

    def __init__(
        self, spark: SparkSession, pipeline: Pipeline, config: JobConfig, early_end: EarlyEnd | None = None
    ) -> None:
        """early_end: None where a batch cannot be ended before its time."""
        self._spark = spark
        self._early_end = early_end
        self._pipeline = pipeline
        self._config = config
        self._mode = BY_NAME[config.mode]
        self._query: DataStreamWriter | None = None
        self._live_counts = LiveCounts(spark, self._mode.live_operators)

    def slots(self) -> int:
        if self._config.is_on_kubernetes:
            # Spark's own count never falls below 2, even without executors.
            java: Any = self._spark.sparkContext._jsc
            return int(java.sc().getExecutorIds().size()) * self._config.executor_slots
        return self._spark.sparkContext.defaultParallelism

    def newest_batch(self, query: StreamingQuery) -> int:
        # `query.lastProgress` would have the JVM write all of it as JSON, at every poll.
        newest: Any = query._jsq.lastProgress()
        return -1 if newest is None else int(newest.batchId())

    def live_counts(self) -> tuple[int, int]:
        return self._live_counts.read()

    def end_batch(self) -> bool:
        if self._early_end is not None:
            self._early_end.end_batch(self._config.batch_s)
        return self._early_end is not None

    def keep_time(self) -> None:
        if self._early_end is not None:
            self._early_end.keep_time()

    def prepare(self) -> None:
        config = self._config
        self._query = query_of(
            self._spark,
            self._pipeline,
            self._mode,
            client={"bootstrap.servers": config.bootstrap_servers, **config.kafka_java_options()},
            topics=config.topic_names((*self._pipeline.ends, INVALID)),
            checkpoint=config.checkpoint,
        )

    def start_query(self, batch_s: float) -> StreamingQuery:
        self.keep_time()
        if self._query is None:
            self.prepare()
        assert self._query is not None
        return self._query.trigger(**every(self._mode, batch_s)).start()
