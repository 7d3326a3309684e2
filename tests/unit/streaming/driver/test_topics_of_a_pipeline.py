"""The topics of a pipeline, made by its driver where nobody else knows their names."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from market_spread.common.errors import BrokerAwayError, UsageError
from market_spread.common.kafka.client import KafkaBroker
from market_spread.streaming.applications.word_count import word_count
from market_spread.streaming.driver.__main__ import _make_topics, _partition_counts
from market_spread.streaming.driver.config import JobConfig
from tests.support.clock import ManualClock

CONFIG = JobConfig(
    bootstrap_servers="b:9092", checkpoint="/c", topic_prefix="trial.", topic_partitions=4, topic_replicas=3
)


class LateBroker:
    """Away for so many attempts, and then without topics but those that it has from the start."""

    def __init__(self, away: int, **topics: int) -> None:
        self.away = away
        self.topics = dict(topics)
        self.made: list[dict[str, Any]] = []

    def create_topics(self, topics: Mapping[str, int], **how: Any) -> list[str]:
        self.away -= 1
        if self.away >= 0:
            raise BrokerAwayError("refused")
        self.made.append(how)
        self.topics = {**topics, **self.topics}
        return list(topics)

    def partition_counts(self, topics: Sequence[str]) -> dict[str, int]:
        if missing := [topic for topic in topics if topic not in self.topics]:
            raise UsageError(f"there is no topic {missing}")
        return {topic: self.topics[topic] for topic in topics}


def test_those_of_sources_have_the_partitions_that_are_asked_for_and_others_have_one() -> None:
    broker = LateBroker(0)

    _make_topics(cast(KafkaBroker, broker), word_count(), CONFIG)

    assert broker.topics == {"trial.lines": 4, "trial.counts": 1, "trial.invalid": 1}
    assert broker.made == [{"replicas": 3, "others_fit": True}]


def test_they_are_made_when_the_broker_is_there_and_those_of_others_count_as_they_are() -> None:
    broker = LateBroker(3, **{"trial.lines": 7})
    kafka = cast(KafkaBroker, broker)
    make = partial(_make_topics, kafka, word_count(), CONFIG)

    counts = _partition_counts(kafka, ["trial.lines"], ManualClock(), within_ns=None, make=make)

    assert counts == {"trial.lines": 7}
    assert len(broker.made) == 1
