"""What a checkpoint is bound to: its Kafka, by the offsets from which its query continues, and its state's form."""

from collections.abc import Mapping
from pathlib import Path

from market_spread.common.documents import write_whole
from market_spread.common.errors import UsageError
from market_spread.streaming.driver.progress import Partition, partition_offsets


def newest_offsets(checkpoint: Path) -> dict[Partition, int]:
    """The offsets at which the newest batch of a checkpoint begins or ends; empty if it has no batch."""
    newest = max(_batches(checkpoint), key=lambda path: int(path.name), default=None)
    if newest is None:
        return {}
    # The version, the query's settings, and then a line for each source.
    version, _, *sources = newest.read_text().splitlines()
    if version != "v1":
        return {}
    return {key: end for source in sources if source.startswith("{") for key, end in partition_offsets(source).items()}


def refuse_other_kafka(checkpoint: Path, known: Mapping[Partition, int], ends: Mapping[Partition, int]) -> None:
    """UsageError if the topics end before the checkpoint's offsets: it was made with other topics, and Spark would wait
    for records that never come, or skip those that do.
    """
    for (topic, partition), offset in sorted(known.items()):
        end = ends.get((topic, partition), 0)
        if offset > end:
            raise UsageError(
                f"the checkpoint {checkpoint} is at offset {offset} of {topic}-{partition}, which ends at {end}: "
                "it was made with another Kafka, or topics that were deleted since; give the job an empty checkpoint"
            )


def bind_state_form(checkpoint: Path, form: str) -> None:
    """Write the form of the state into a new checkpoint. UsageError if an older one has another form, or none.

    Call it when the checkpoint is ours: until then a predecessor may still begin it.
    """
    note = checkpoint / "state-form"
    if not _batches(checkpoint):
        checkpoint.mkdir(parents=True, exist_ok=True)
        write_whole(note, form)
    elif (note.read_text() if note.exists() else "") != form:
        raise UsageError(
            f"the checkpoint {checkpoint} has its state in another form than this build of the job reads: another "
            "build, mode or pipeline made it; give the job an empty checkpoint, or use the build that made it"
        )


def _batches(checkpoint: Path) -> list[Path]:
    return [path for path in (checkpoint / "offsets").glob("*") if path.name.isdecimal()]
