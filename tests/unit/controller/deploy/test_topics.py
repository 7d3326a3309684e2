"""Topics on a broker that is not there yet, or never."""

from typing import Any, cast

import pytest

from market_spread.common.errors import BrokerAwayError, UsageError
from market_spread.common.kafka.client import KafkaBroker
from market_spread.controller.deploy.topics import ensure_topics
from tests.support.clock import ManualClock


class LateBroker:
    """Away for so many attempts."""

    def __init__(self, away: int) -> None:
        self.away = away
        self.appended: tuple[str, ...] = ()

    def create_topics(self, topics: dict[str, int], *, appended: tuple[str, ...], **_: Any) -> list[str]:
        self.appended = appended
        self.away -= 1
        if self.away >= 0:
            raise BrokerAwayError("the Kafka broker at b:1 cannot be used (refused); is it running?")
        return list(topics)


def made_by(
    broker: LateBroker, decisions: str = "rejected", prefix: str = ""
) -> tuple[list[str], list[tuple[str, int, bool]]]:
    said: list[str] = []
    made = ensure_topics(
        cast(KafkaBroker, broker), partitions=2, decisions=decisions, replicas=1, clock=ManualClock(),
        say=said.append, prefix=prefix,
    )  # fmt: skip
    return said, made


def test_a_broker_that_is_late_is_waited_for_and_that_is_said_once() -> None:
    said, made = made_by(LateBroker(3))

    assert said == ["the Kafka broker at b:1 cannot be used (refused); is it running? Waiting for 60 s"]
    assert made == [("nbbo", 2, True), ("orders", 2, True), ("alerts", 1, True), ("invalid", 1, True)]


def test_a_prefix_goes_before_every_topic() -> None:
    broker = LateBroker(0)

    _, made = made_by(broker, decisions="all", prefix="trial.")

    assert [name for name, _, _ in made] == [
        "trial.nbbo", "trial.orders", "trial.alerts", "trial.invalid", "trial.decisions",
    ]  # fmt: skip
    assert broker.appended == ("trial.alerts",)


def test_a_broker_that_stays_away_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="the Kafka broker at b:1 cannot be used"):
        made_by(LateBroker(1_000))
