"""Counts of the running batch, from Spark's SQL metrics, which arrive with the executors' heartbeats.

Spark reports progress only when a batch ends, and the stages' task metrics stay at zero in Real-Time Mode. But the
operators count their rows, and Spark's SQL status store has these counts while the tasks run.
"""

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from market_spread.streaming.modes.mode import LiveOperators

_ROWS = "number of output rows"


class LiveCounts:
    """Reads the counts of the newest execution of a session."""

    def __init__(self, spark: SparkSession, operators: LiveOperators | None) -> None:
        """operators: those whose rows are counted; with None, every count is zero."""
        self._operators = operators
        self._store: Any = spark._jsparkSession.sharedState().statusStore()
        self._execution = -1
        self._counters: dict[str, list[int]] = {}

    def read(self) -> tuple[int, int]:
        """Records read and messages processed by the running batch; zeros while none runs, or none are known."""
        if self._operators is None:
            return 0, 0
        try:
            return self._read(self._operators)
        except Py4JJavaError:  # Spark drops old executions, even while they are being read
            return 0, 0

    def _read(self, operators: LiveOperators) -> tuple[int, int]:
        count = self._store.executionsCount()
        if count == 0:
            return 0, 0
        execution = self._store.executionsList(count - 1, 1).apply(0)
        if execution.completionTime().isDefined():
            return 0, 0
        self._find_counters(execution.executionId(), operators)
        values = self._store.executionMetrics(execution.executionId())
        return self._sum(values, operators.scan), self._sum(values, operators.state)

    def _find_counters(self, execution: int, operators: LiveOperators) -> None:
        """Which accumulators to read; found once per execution, because the plan is large."""
        if execution == self._execution:
            return
        self._execution = execution
        self._counters = {operators.scan: [], operators.state: []}
        nodes = self._store.planGraph(execution).allNodes()
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
