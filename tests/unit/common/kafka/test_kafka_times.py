"""Whose time a record has: the broker's append is told, a producer's creation is not taken for it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from market_spread.common.kafka.client import Consumer, KafkaBroker, Record

CREATE_TIME, LOG_APPEND_TIME = 0, 1


class FakeClient:
    """Has a record of each kind of time."""

    def poll(self, timeout_ms: int) -> dict[Any, list[Any]]:
        return {
            PartitionKey("alerts", 0): [
                SimpleNamespace(
                    key=None,
                    headers=(),
                    offset=7,
                    value=b"a",
                    timestamp=1_700_000_000_123,
                    timestamp_type=LOG_APPEND_TIME,
                ),
                SimpleNamespace(
                    key=None, headers=(), offset=8, value=None, timestamp=1_700_000_000_456, timestamp_type=CREATE_TIME
                ),
            ]
        }


class PartitionKey:
    def __init__(self, topic: str, partition: int) -> None:
        self.topic, self.partition = topic, partition


def test_only_the_brokers_time_is_taken_for_the_append() -> None:
    consumer = object.__new__(Consumer)
    consumer._consumer, consumer._bootstrap_servers = FakeClient(), "b:9092"

    told_ms, created_ms = 1_700_000_000_123, 1_700_000_000_456
    found = [Record(7, b"a", told_ms, timestamp_ms=told_ms), Record(8, b"", None, timestamp_ms=created_ms)]
    assert consumer.poll(0) == {("alerts", 0): found}


def test_the_broker_stamps_the_topics_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, dict[str, Any]] = {}

    class Admin:
        def describe_topics(self, topics: Sequence[str]) -> list[Any]:
            return []

        def create_topics(self, topics: dict[str, dict[str, Any]]) -> None:
            made.update(topics)

        def wait_for_topics(self, topics: Sequence[str]) -> None:
            pass

        def list_partition_offsets(self, partitions: Mapping[Any, Any]) -> None:
            pass

    @contextmanager
    def admin(*_: object) -> Iterator[Admin]:
        yield Admin()

    monkeypatch.setattr(KafkaBroker, "_admin", admin)

    KafkaBroker("b:9092").create_topics({"orders": 2, "alerts": 1}, appended=["alerts"])

    assert {name: each["configs"].get("message.timestamp.type") for name, each in made.items()} == {
        "orders": None,
        "alerts": "LogAppendTime",
    }
    assert {name: each["num_partitions"] for name, each in made.items()} == {"orders": 2, "alerts": 1}
