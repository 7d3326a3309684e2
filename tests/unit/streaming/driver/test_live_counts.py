"""Counts of the running batch out of Spark's SQL status store, which a test stands in for."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from market_spread.streaming.driver.engine import LiveCounts
from market_spread.streaming.modes.registry import BY_NAME

SCAN, STATE, ROWS = "RealTimeStreamScan", "StatefulStreamlineAggregate", "number of output rows"


class Items:
    """A Scala sequence."""

    def __init__(self, items: Sequence[object]) -> None:
        self._items = items

    def size(self) -> int:
        return len(self._items)

    def apply(self, index: int) -> object:
        return self._items[index]


class Option:
    """A Scala option."""

    def __init__(self, value: object) -> None:
        self._value = value

    def isDefined(self) -> bool:  # noqa: N802
        return self._value is not None

    def get(self) -> object:
        return self._value


def node(id_: int, name: str, **metrics: int) -> object:
    """An operator of a plan, with its metrics (blanks as underscores) and their accumulators."""
    found = [
        SimpleNamespace(name=lambda text=text: text.replace("_", " "), accumulatorId=lambda number=number: number)
        for text, number in metrics.items()
    ]
    return SimpleNamespace(id=lambda: id_, name=lambda: name, metrics=lambda: Items(found))


class Store:
    """Spark's SQL status store. Each execution has two scans, each with its filters above it, and the state."""

    def __init__(self) -> None:
        self.values: list[dict[int, str]] = []
        self.ended: set[int] = set()
        self.plans_read = 0
        self.forgets = False

    def executionsCount(self) -> int:  # noqa: N802
        return len(self.values)

    def executionsList(self, offset: int, length: int) -> Items:  # noqa: N802
        if self.forgets:
            raise Py4JJavaError("an error occurred", cast(Any, SimpleNamespace(_target_id="o1", _gateway_client=None)))
        ended = Option("a date" if offset in self.ended else None)
        execution = SimpleNamespace(completionTime=lambda: ended, executionId=lambda: offset)
        return Items([execution][:length])

    def planGraph(self, execution: int) -> object:  # noqa: N802
        self.plans_read += 1
        first = 100 * execution
        nodes = [
            node(1, SCAN, number_of_output_rows=first + 1),
            node(2, SCAN, number_of_output_rows=first + 2),
            node(3, "Exchange", number_of_output_rows=first + 3, data_size=first + 4),
            node(4, STATE, time_to_commit=first + 5, number_of_output_rows=first + 6),
            node(5, "Filter", number_of_output_rows=first + 7),
            node(6, "Filter", number_of_output_rows=first + 8),
            node(7, "Filter", number_of_output_rows=first + 9),
            node(8, "Project"),
        ]
        edges = [(1, 8), (8, 5), (5, 7), (7, 3), (2, 6), (6, 3), (3, 4)]
        of_graph = [SimpleNamespace(fromId=lambda end=end: end[0], toId=lambda end=end: end[1]) for end in edges]
        return SimpleNamespace(allNodes=lambda: Items(nodes), edges=lambda: Items(of_graph))

    def executionMetrics(self, execution: int) -> object:  # noqa: N802
        return SimpleNamespace(get=lambda number: Option(self.values[execution].get(number)))


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def counts(store: Store) -> LiveCounts:
    return counts_of(store, by_records=False)


def counts_of(store: Store, *, by_records: bool) -> LiveCounts:
    state = SimpleNamespace(statusStore=lambda: store)
    spark = cast(SparkSession, SimpleNamespace(_jsparkSession=SimpleNamespace(sharedState=lambda: state)))
    return LiveCounts(spark, BY_NAME["real-time"].live_operators, by_records=by_records)


def test_nothing_has_run_yet(counts: LiveCounts) -> None:
    assert counts.read() == (0, 0)


def test_rows_of_both_scans_and_of_the_state_are_counted(store: Store, counts: LiveCounts) -> None:
    store.values.append({1: "5", 2: "7", 3: "9,999", 4: "1.5 MiB", 5: "80 ms", 6: "1,234"})

    assert counts.read() == (12, 1_234)


def test_where_rows_are_not_messages_records_count_that_do_not_only_wake_a_reader(store: Store) -> None:
    store.values.append({1: "5", 2: "7", 6: "900", 7: "4", 8: "6", 9: "2"})

    assert counts_of(store, by_records=True).read() == (12, 10)


def test_metrics_that_have_not_arrived_count_as_zero(store: Store, counts: LiveCounts) -> None:
    store.values.append({1: "5"})

    assert counts.read() == (5, 0)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("987", 987),
        ("12,345,678", 12_345_678),
        ("total (min, med, max (stageId: taskId))\n1,234 (600, 617, 617 (stage 3.0: task 17))", 1_234),
        ("1,234 (600, 617, 617)", 1_234),
        ("3.4 KiB", 0),
        ("-", 0),
    ],
)
def test_number_is_read_as_spark_words_it(store: Store, counts: LiveCounts, text: str, number: int) -> None:
    store.values.append({6: text})

    assert counts.read() == (0, number)


def test_ended_batch_counts_as_none(store: Store, counts: LiveCounts) -> None:
    store.values.append({1: "5", 6: "50"})
    store.ended.add(0)

    assert counts.read() == (0, 0)


def test_plan_is_looked_up_once_for_each_batch(store: Store, counts: LiveCounts) -> None:
    store.values.append({1: "5", 6: "50"})
    first = [counts.read(), counts.read()]
    store.ended.add(0)
    store.values.append({101: "8", 106: "80"})

    second = [counts.read(), counts.read()]

    assert (first, second) == ([(5, 50)] * 2, [(8, 80)] * 2)
    assert store.plans_read == 2


def test_execution_that_spark_forgets_meanwhile_is_no_error(store: Store, counts: LiveCounts) -> None:
    store.values.append({1: "5"})
    store.forgets = True

    assert counts.read() == (0, 0)
