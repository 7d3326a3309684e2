"""What a checkpoint knows of its Kafka: the offsets from which its query goes on."""

import json
from collections.abc import Mapping
from pathlib import Path

from market_spread.common.errors import UsageError

Partition = tuple[str, int]

_VERSION = "v1"


def newest_offsets(checkpoint: Path) -> dict[Partition, int]:
    """The offsets at which the newest batch of a checkpoint begins or ends; empty if it has had none."""
    batches = [path for path in (checkpoint / "offsets").glob("*") if path.name.isdecimal()]
    if not batches:
        return {}
    newest = max(batches, key=lambda path: int(path.name))
    # The version, what the query is like, and then a line for each source.
    version, _, *sources = newest.read_text().splitlines()
    if version != _VERSION:
        return {}
    return {
        (topic, int(partition)): int(offset)
        for source in sources
        if source.startswith("{")
        for topic, partitions in json.loads(source).items()
        for partition, offset in partitions.items()
    }


def refuse_other_kafka(checkpoint: Path, known: Mapping[Partition, int], ends: Mapping[Partition, int]) -> None:
    """UsageError if the topics end before what the checkpoint knows of them: it was made with others."""
    for (topic, partition), offset in sorted(known.items()):
        end = ends.get((topic, partition), 0)
        if offset > end:
            raise UsageError(
                f"the checkpoint {checkpoint} goes on at offset {offset} of {topic}-{partition}, which ends at {end}: "
                "it was made with another Kafka, or topics that were deleted since; give the job an empty checkpoint"
            )
