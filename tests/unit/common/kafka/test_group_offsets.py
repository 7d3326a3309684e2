"""What a group has committed, asked of a broker that is not ready for the question."""

from collections.abc import Mapping
from types import SimpleNamespace

import pytest
from kafka import TopicPartition
from kafka.errors import CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError

from market_spread.common.errors import BrokerAwayError
from market_spread.common.kafka import client
from market_spread.common.kafka.client import KafkaBroker


class Admin:
    """Answers with an error so many times, then with the offsets."""

    def __init__(self, times: int, error: type[Exception]) -> None:
        self.left, self.error = times, error

    def list_group_offsets(self, group: str) -> Mapping[str, object]:
        if self.left:
            self.left -= 1
            raise self.error
        return {group: {TopicPartition("trips", 1): SimpleNamespace(offset=7)}}

    def close(self) -> None:
        pass


def offsets_of(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> Mapping[tuple[str, int], int]:
    monkeypatch.setattr(client, "_connected", lambda kind, broker: admin)
    monkeypatch.setattr(client, "polls", lambda clock, within_s, every_s: range(3))
    with KafkaBroker("broker:9092").group_offsets("group") as offsets:
        return offsets()


@pytest.mark.parametrize("error", [CoordinatorLoadInProgressError, NotCoordinatorError])
def test_a_broker_that_is_not_ready_to_say_is_asked_again(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offsets_of(Admin(2, error), monkeypatch) == {("trips", 1): 7}


def test_a_broker_that_reads_for_ever_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokerAwayError, match="CoordinatorLoadInProgressError"):
        offsets_of(Admin(9, CoordinatorLoadInProgressError), monkeypatch)


def test_a_group_that_nobody_knows_has_committed_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert offsets_of(Admin(1, CoordinatorNotAvailableError), monkeypatch) == {}
