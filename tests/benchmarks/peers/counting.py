"""How many messages lie below an offset: from the sizes of the frames, which are read as they come."""

import threading
from array import array
from collections.abc import Mapping
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from market_spread.common.wire.layout import NBBO, ORDER

WIDTHS = {"nbbo": NBBO.width, "orders": ORDER.width}
_RECORD_BYTES_MAX = 8 * 1024 * 1024


class Counts:
    """Messages below each offset of each partition. Thread-safe for one writer."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, int], array[int]] = {}

    def add(self, topic: str, partition: int, frame_bytes: int) -> None:
        """The next frame of a partition, beginning at offset 0."""
        totals = self._totals.setdefault((topic, partition), array("q", [0]))
        totals.append(totals[-1] + frame_bytes // WIDTHS[topic])

    def below(self, offsets: Mapping[tuple[str, int], int]) -> int:
        """Messages below these offsets, of the frames that were added."""
        return sum(
            totals[min(offset, len(totals) - 1)]
            for place, offset in offsets.items()
            if (totals := self._totals.get(place)) is not None
        )

    def records_below(self, offsets: Mapping[tuple[str, int], int]) -> int:
        """Records below these offsets."""
        return sum(offset for place, offset in offsets.items() if place in self._totals)


class FrameCounter:
    """Reads both topics beside the peer, twice a second and in bulk, for the frames' sizes. `start`, then `stop`."""

    def __init__(self, servers: str, partitions: int, counts: Counts) -> None:
        self._servers = servers
        self._places = [TopicPartition(topic, number) for topic in WIDTHS for number in range(partitions)]
        self._counts = counts
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="frames", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(3)

    def _run(self) -> None:
        consumer: Any = KafkaConsumer(
            bootstrap_servers=self._servers, client_id="frames", group_id=None, enable_auto_commit=False,
            auto_offset_reset="earliest", fetch_min_bytes=4 * 1024 * 1024, fetch_max_wait_ms=500,
            max_partition_fetch_bytes=_RECORD_BYTES_MAX, max_poll_records=10_000,
        )  # fmt: skip
        consumer.assign(self._places)
        consumer.seek_to_beginning()
        while not self._stopping.is_set():
            for place, records in consumer.poll(timeout_ms=500).items():
                for record in records:
                    self._counts.add(place.topic, place.partition, len(record.value))
        consumer.close(autocommit=False, timeout_ms=1000)
