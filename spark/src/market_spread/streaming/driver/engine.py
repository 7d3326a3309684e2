"""Spark as the supervisor sees it: the query, the counts of its running batch, and how that ends early."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from market_spread.common.clock import Clock
from market_spread.common.errors import BrokerAwayError
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.wire.layout import Layout
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.modes.registry import BY_NAME, WAKE_UP, LiveOperators, every, query_of
from market_spread.streaming.operators.stateful import StatefulMap, TimeWindow
from market_spread.streaming.pipeline import INVALID, Pipeline

_ROWS, _READ = "number of output rows", "read"
_WAKE_UP_WITHIN_S = 5.0


class LiveCounts:
    """Counts of the running batch, from Spark's SQL metrics, which arrive with the executors' heartbeats.

    Spark reports progress only when a batch ends, and the stages' task metrics stay at zero in Real-Time Mode. But the
    operators count their rows, and Spark's SQL status store has these counts while the tasks run.
    """

    def __init__(self, spark: SparkSession, operators: LiveOperators | None, *, by_records: bool) -> None:
        """operators: those whose rows are counted; with None, every count is zero.

        by_records: a message is counted when its record is read, for pipelines without an operator that tells more.
        """
        self._operators, self._by_records = operators, by_records
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
            return self._sum(values, operators.scan), self._sum(values, _READ if self._by_records else operators.state)
        return 0, 0

    def _find_counters(self, operators: LiveOperators) -> None:
        graph = self._store.planGraph(self._execution)
        nodes = {node.id(): node for node in _each(graph.allNodes())}
        by_name: dict[str, list[Any]] = {operators.scan: [], operators.state: [], _READ: []}
        for node in nodes.values():
            by_name.get(node.name(), []).append(node)
        above = {edge.fromId(): edge.toId() for edge in _each(graph.edges())}
        for scan in by_name[operators.scan]:  # the filter next above it has left out the records that only wake readers
            at = above.get(scan.id())
            while at is not None and nodes[at].name() != "Filter":
                at = above.get(at)
            by_name[_READ] += [nodes[at]] if at is not None else []
        self._counters = {
            name: [m.accumulatorId() for node in of for m in _each(node.metrics()) if m.name() == _ROWS]
            for name, of in by_name.items()
        }

    def _sum(self, values: Any, name: str) -> int:
        found = (values.get(counter) for counter in self._counters[name])
        return sum(_number(value.get()) for value in found if value.isDefined())


def _each(several: Any) -> Iterator[Any]:
    """The elements of a sequence of Scala's."""
    return (several.apply(i) for i in range(several.size()))


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
        self._broker, self._partitions, self._clock = broker, partitions, clock
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


@dataclass(eq=False)
class SparkEngine:
    """Spark as the supervisor needs it: a session and the query of a pipeline in it.

    early_end: None where a batch cannot be ended before its time.
    """

    spark: SparkSession
    pipeline: Pipeline
    config: JobConfig
    early_end: EarlyEnd | None = None

    def __post_init__(self) -> None:
        self._mode = BY_NAME[self.config.mode]
        self._query: DataStreamWriter | None = None
        # Rows of the state are messages if they come from layouts; a text can become several, or none.
        has_texts = not all(isinstance(it.messages, Layout) for it in self.pipeline.sources)
        by_records = self.pipeline.stream.state is None or has_texts
        self.live_counts = LiveCounts(self.spark, self._mode.live_operators, by_records=by_records).read

    def slots(self) -> int:
        """How many tasks can run at the same time now."""
        if self.config.is_on_kubernetes:
            # Spark's own count never falls below 2, even without executors.
            java: Any = self.spark.sparkContext._jsc
            return int(java.sc().getExecutorIds().size()) * self.config.executor_slots
        return self.spark.sparkContext.defaultParallelism

    def late_s(self) -> float:
        """How long what is put out in the end of a time waits for late rows; for ever if there is no such thing."""
        state = self.pipeline.stream.state
        if isinstance(state, StatefulMap) and not state.forget_after_s:
            return math.inf
        return state.late_s if isinstance(state, TimeWindow | StatefulMap) else math.inf

    def newest_batch(self, query: StreamingQuery) -> int:
        """Number of the newest batch that the query reports; -1 if none. Cheap."""
        # `query.lastProgress` would have the JVM write all of it as JSON, at every poll.
        newest: Any = query._jsq.lastProgress()
        return -1 if newest is None else int(newest.batchId())

    def end_batch(self) -> bool:
        """Have the running batch end now; False if it cannot be ended before its time."""
        if self.early_end is not None:
            self.early_end.end_batch(self.config.batch_s)
        return self.early_end is not None

    def keep_time(self) -> None:
        """Have the batches end by the time of day again."""
        if self.early_end is not None:
            self.early_end.keep_time()

    def prepare(self) -> DataStreamWriter:
        """Plan the query ahead, without its checkpoint, so that the next start takes less."""
        config = self.config
        self._query = query_of(
            self.spark, self.pipeline, self._mode,
            client={"bootstrap.servers": config.bootstrap_servers, **config.kafka_java_options()},
            topics=config.topic_names((*self.pipeline.ends, INVALID)), checkpoint=config.checkpoint,
        )  # fmt: skip
        return self._query

    def start_query(self, batch_s: float) -> StreamingQuery:
        """Start the query from its checkpoint, with batches of this length."""
        self.keep_time()
        return (self._query or self.prepare()).trigger(**every(self._mode, batch_s)).start()
