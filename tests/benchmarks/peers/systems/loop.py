"""The peer without a framework: a loop around kafka-python's consumer and producer, one process, one thread of ours.

`python loop.py BOOTSTRAP_SERVERS PARTITIONS STATE_FILE GROUP COMMIT_S`
"""

import pickle
import sys
import time
from pathlib import Path
from typing import Any

from judging import Judge, stamped
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

_RECORD_BYTES_MAX = 8 * 1024 * 1024


def main(servers: str, partitions: int, state: Path, group: str, commit_s: float) -> None:
    """Read, judge, write, and every commit_s commit what is done, until the process is ended.

    An alert that the broker refuses ends it, before anything is committed that the alert belongs to.
    """
    consumer = KafkaConsumer(
        bootstrap_servers=servers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=2000,
        max_partition_fetch_bytes=_RECORD_BYTES_MAX,
    )
    producer = KafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True, linger_ms=0)
    judge, offsets = _restored(state)
    consumer.assign([TopicPartition(topic, number) for topic in ("nbbo", "orders") for number in range(partitions)])
    for place in consumer.assignment():
        consumer.seek(place, offsets.get((place.topic, place.partition), 0))
    refused: list[Exception] = []
    due = time.monotonic() + commit_s
    while True:
        left_s = max(0.0, due - time.monotonic())
        for place, records in consumer.poll(timeout_ms=round(left_s * 1000)).items():
            read_us = time.time_ns() // 1000
            for record in records:
                if place.topic == "nbbo":
                    judge.take_quotes(record.value)
                    continue
                for order_id, alert in judge.alerts_of(record.value, dict(record.headers)["sent_us"], read_us):
                    sending = producer.send("alerts", stamped(alert, time.time_ns() // 1000), key=order_id)
                    sending.add_errback(refused.append)
            offsets[place.topic, place.partition] = records[-1].offset + 1
        if time.monotonic() >= due:
            producer.flush()  # returns when each alert is acknowledged or refused
            if refused:
                raise refused[0]
            _save(state, judge, offsets)
            if offsets:
                consumer.commit(
                    {TopicPartition(*place): OffsetAndMetadata(end, "", -1) for place, end in offsets.items()}
                )
            due = time.monotonic() + commit_s


def _save(state: Path, judge: Judge, offsets: dict[tuple[str, int], int]) -> None:
    """Quotes and offsets in one file, which is there whole or not at all: so they always belong together.

    Nothing is forced to the disk: it survives the end of this process, as most others' commits do, not the machine's.
    """
    unfinished = state.with_suffix(".new")
    unfinished.write_bytes(pickle.dumps((judge.newest, offsets)))
    unfinished.replace(state)


def _restored(state: Path) -> tuple[Judge, dict[Any, int]]:
    if not state.exists():
        return Judge(), {}
    newest, offsets = pickle.loads(state.read_bytes())
    return Judge(newest), offsets


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
