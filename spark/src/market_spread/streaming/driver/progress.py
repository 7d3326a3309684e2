"""What the query has done: exactly at each commit, live in between."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from market_spread.common.job_contract import BATCHES_MAX
from market_spread.streaming.modes.rows import late_in
from market_spread.streaming.record_codec import MESSAGES_METRIC

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Commit:
    """A committed batch: the offset of each partition after it, and how long it took from its trigger.

    late: rows that came too late for a step that goes by time (see `late_in`); is_followed: whether it
    has moved the watermark, so that a batch without input follows, which puts out the windows that have ended.
    """

    batch_id: int
    offsets: Mapping[Partition, int]
    records: int
    messages: int
    start_unix_ns: int
    duration_ns: int
    late: int = 0
    is_followed: bool = False


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """The query's progress. Live counts include the running batch and are as old as the last heartbeat.

    counted_unix_ns: when messages_live last grew, 0 before; counted_cpu_us: the CPU time that the job had used by then.
    """

    batch_id: int = -1
    offsets: Mapping[Partition, int] = field(default_factory=dict)
    records_committed: int = 0
    messages_committed: int = 0
    records_live: int = 0
    messages_live: int = 0
    batches: tuple[Commit, ...] = ()
    counted_unix_ns: int = 0
    counted_cpu_us: int = 0
    is_followed: bool = False
    late: int = 0

    def after_commit(self, commit: Commit) -> "QueryProgress":
        committed = replace(
            self, batch_id=commit.batch_id, offsets={**self.offsets, **commit.offsets},
            records_committed=self.records_committed + commit.records,
            messages_committed=self.messages_committed + commit.messages,
            batches=(*self.batches[1 - BATCHES_MAX :], commit), is_followed=commit.is_followed,
            late=self.late + commit.late,
        )  # fmt: skip
        return committed.with_live(0, 0)

    def with_live(self, records: int, messages: int) -> "QueryProgress":
        """The progress with the running batch's counts; live counts never decrease."""
        return replace(
            self,
            records_live=max(self.records_live, self.records_committed + records),
            messages_live=max(self.messages_live, self.messages_committed + messages),
        )


def commit_of(progress: Mapping[str, Any], late_s: float = 0.0) -> Commit:
    """A commit from Spark's progress of a batch, as JSON. late_s: how far the watermark is behind the latest time."""
    # A source from which the plan reads twice is there twice.
    records = {source["description"]: source["numInputRows"] for source in progress["sources"]}
    times = progress.get("eventTime", {})
    unmoved = "1970-01-01T00:00:00Z"
    latest, watermark = (datetime.fromisoformat(times.get(name, unmoved)).timestamp() for name in ("max", "watermark"))
    ends = (partition_offsets(source["endOffset"]) for source in progress["sources"])
    observed = progress.get("observedMetrics", {}).values()
    return Commit(
        batch_id=progress["batchId"], offsets={key: end for ended in ends for key, end in ended.items()},
        records=sum(records.values()), messages=sum(metrics.get(MESSAGES_METRIC) or 0 for metrics in observed),
        start_unix_ns=round(datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000) * 1_000_000,
        duration_ns=progress["durationMs"].get("triggerExecution", 0) * 1_000_000, late=late_in(progress),
        is_followed=latest - late_s > watermark,
    )  # fmt: skip


def new_commits(recent: Iterable[Any], *, after_batch: int, late_s: float = 0.0) -> list[Commit]:
    """The batches of Spark's `recentProgress` that were committed after the given one."""
    commits = (commit_of(json.loads(progress.json), late_s) for progress in recent)
    return [commit for commit in commits if commit.batch_id > after_batch]


def partition_offsets(offset: Any) -> dict[Partition, int]:
    """Spark's offset of a Kafka source, parsed or as JSON; None is empty."""
    by_topic = json.loads(offset) if isinstance(offset, str) else offset or {}
    return {(topic, int(number)): int(end) for topic, ends in by_topic.items() for number, end in ends.items()}
