"""What a peer has committed, read where it says so itself: in Kafka's offsets of its group, or in Bytewax's store."""

import pickle
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

Partition = tuple[str, int]

# The newest snapshot of each source partition that a restart would begin from: of epochs that all workers have left.
_RESUMED = """
SELECT state_key, ser_change, MAX(snap_epoch) FROM snaps
WHERE step_id LIKE '%frames%' AND snap_epoch < (
  SELECT MIN(worker_frontier) FROM fronts WHERE ex_num = (SELECT MAX(ex_num) FROM fronts)
)
GROUP BY state_key
"""


class Committed(Protocol):
    """Where a peer's commits are read."""

    def offsets(self) -> Mapping[Partition, int]:
        """The next offset of each partition that has one: a peer that is killed begins there again."""

    def close(self) -> None:
        """Disconnect."""


class GroupOffsets:
    """Offsets of a consumer group in Kafka."""

    def __init__(self, servers: str, group: str) -> None:
        self._admin: Any = KafkaAdminClient(bootstrap_servers=servers, client_id="sidecar")
        self._group = group

    def offsets(self) -> Mapping[Partition, int]:
        try:
            found = self._admin.list_group_offsets(self._group)[self._group]
        except (KafkaError, KeyError):  # no coordinator yet, or nothing committed
            return {}
        return {(place.topic, place.partition): told.offset for place, told in found.items() if told.offset >= 0}

    def close(self) -> None:
        self._admin.close()


class BytewaxStore:
    """Snapshots in the recovery store of a Bytewax flow: Bytewax commits no offsets to Kafka."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "part-0.sqlite3"

    def offsets(self) -> Mapping[Partition, int]:
        try:
            with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True, timeout=0.2)) as store:
                rows = store.execute(_RESUMED).fetchall()
        except sqlite3.Error:  # it is being made
            return {}
        found = {}
        for key, change, _ in rows:
            number, _, topic = key.partition("-")
            offset = pickle.loads(change) if change else None
            if offset is not None and offset >= 0:
                found[topic, int(number)] = offset
        return found

    def close(self) -> None:
        pass
