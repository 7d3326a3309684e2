"""Figures by partition, in so few series that no run has more than the aggregator takes."""

from collections import Counter
from collections.abc import Mapping

from market_spread.common.telemetry.metrics import PARTITION_COMMITTED
from market_spread.common.telemetry.recorder import Recorder

SERIES_MAX = 128
# Of the partitions that have no series of their own; what is said of it is true of all of them together.
OTHERS = "others"


def partition_label(partition: int, groups: int) -> str:
    """The partition, or OTHERS from the one on that would make it more than SERIES_MAX in all groups together.

    groups: how often a topic's partitions may stand there: the topics that are read times those that are written.
    """
    return str(partition) if partition < max(1, SERIES_MAX // groups) else OTHERS


def record_committed(
    recorder: Recorder, begin: Mapping[tuple[str, int], int], groups: int, ends: Mapping[tuple[str, int], int]
) -> None:
    """Count what was committed of each partition in `begin`, from that offset up to its end, 0 if it has none yet."""
    records: Counter[tuple[str, str]] = Counter()
    for (topic, partition), offset in begin.items():
        grown = max(0, ends.get((topic, partition), offset) - offset)
        records[topic, partition_label(partition, groups)] += grown
    for (topic, label), count in records.items():
        recorder.counter(PARTITION_COMMITTED, topic=topic, partition=label).set(count)
