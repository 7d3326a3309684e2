"""What a sender finds in topics that others have filled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest

from market_spread.common.errors import BrokerAwayError
from market_spread.common.kafka.client import Consumer, KafkaBroker, Partition, Record
from market_spread.common.wire.codec import encode
from market_spread.common.wire.layout import NBBO
from market_spread.sender.service import NEWEST_RECORDS, newest_sequence


class Topics:
    """A broker's topics, read a record at a time."""

    def __init__(self, records: Mapping[Partition, list[bytes]], *, silent: bool = False) -> None:
        self._records = records
        self._positions: dict[Partition, int] = {}
        self._silent = silent
        self.read = 0
        self.closed = False

    def assign(self, positions: Mapping[Partition, int]) -> None:
        self._positions = dict(positions)

    def poll(self, timeout_s: float) -> dict[Partition, list[Record]]:
        found = {}
        for key, position in self._positions.items():
            if not self._silent and position < len(self._records[key]):
                found[key] = [Record(position, self._records[key][position])]
                self._positions[key] = position + 1
                self.read += 1
        return found

    def position(self, partition: Partition) -> int:
        return self._positions[partition]

    def close(self) -> None:
        self.closed = True


@dataclass(frozen=True, slots=True)
class Broker(KafkaBroker):
    topics: Topics = field(default_factory=lambda: Topics({}))

    def consumer(self, *, committed: bool = True, skips: bool = False) -> Consumer:
        return cast(Consumer, self.topics)


def newest(topics: Topics, ends: Mapping[Partition, int]) -> int:
    return newest_sequence(Broker("", topics=topics), ends, "nbbo")


def frame(*sequences: int) -> bytes:
    numbers = np.array(sequences, np.int64)
    columns = {name: np.ones(len(numbers), np.int64) for name in ("bid", "offer", "intended_us")}
    return encode(NBBO, columns | {"symbol": np.array([b"AAPL  "] * len(numbers)), "sequence": numbers}).tobytes()


def test_empty_topics_have_no_newest_quote() -> None:
    assert newest(Topics({}), {("nbbo", 0): 0, ("nbbo", 1): 0, ("alerts", 0): 1}) == 0


def test_newest_quote_is_looked_for_among_the_last_frames_of_each_partition() -> None:
    many = [frame(number) for number in range(1, 1000)]
    topics = Topics({("nbbo", 0): [*many, frame(1_500, 1_200), frame(1_100)], ("nbbo", 1): [frame(1_400)]})

    found = newest(topics, {("nbbo", 0): 1001, ("nbbo", 1): 1, ("orders", 0): 5})

    assert found == 1_500
    assert topics.read == NEWEST_RECORDS + 1
    assert topics.closed


def test_what_is_no_frame_does_not_count() -> None:
    topics = Topics({("nbbo", 0): [frame(7), b"noise", b"", b"x" * NBBO.width]})

    assert newest(topics, {("nbbo", 0): 4}) == 7


def test_topic_that_cannot_be_read_is_named() -> None:
    with pytest.raises(BrokerAwayError, match=r"nothing comes from nbbo/0, which ends at 1"):
        newest(Topics({("nbbo", 0): [frame(1)]}, silent=True), {("nbbo", 0): 1})
