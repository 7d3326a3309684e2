"""The query's progress: commits as Spark reports them, and live counts that never go back."""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from market_spread.common.job_contract import BATCHES_MAX
from market_spread.streaming.driver.progress import Commit, QueryProgress, commit_of, new_commits

# As Spark 4.3 reported a first batch of Real-Time Mode; only the state store's own metrics are left out.
PROGRESS = json.loads("""
{
  "id": "05d0aa6e-e97b-4e08-8547-9cd94e20f206",
  "runId": "4a90c7ea-2de2-4b3b-aced-1e66cfbfc753",
  "name": "market_spread",
  "timestamp": "2026-11-21T14:51:34.585Z",
  "batchId": 0,
  "batchDuration": 14977,
  "numInputRows": 3,
  "inputRowsPerSecond": 0.0,
  "processedRowsPerSecond": 0.2,
  "durationMs": {
    "addBatch": 7342, "commitOffsets": 87, "getBatch": 297, "latestOffset": 4169, "queryPlanning": 2562,
    "triggerExecution": 14971, "walCommit": 97
  },
  "stateOperators": [{"operatorName": "StatefulStreamlineAggregate", "numRowsTotal": 0, "numRowsUpdated": 2}],
  "sources": [
    {
      "description": "KafkaV2[Subscribe[nbbo]]", "startOffset": null,
      "endOffset": {"nbbo": {"0": 1, "1": 0}}, "latestOffset": {"nbbo": {"0": 1, "1": 0}}, "numInputRows": 1,
      "inputRowsPerSecond": 0.0, "processedRowsPerSecond": 0.1
    },
    {
      "description": "KafkaV2[Subscribe[orders]]", "startOffset": null,
      "endOffset": {"orders": {"0": 1, "1": 1}}, "latestOffset": {"orders": {"0": 1, "1": 1}}, "numInputRows": 2,
      "inputRowsPerSecond": 0.0, "processedRowsPerSecond": 0.1
    }
  ],
  "sink": {"description": "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable@15487855", "numOutputRows": 3},
  "observedMetrics": {"nbbo_messages": {"messages": 3}, "order_messages": {"messages": 3}}
}
""")


@dataclass(frozen=True)
class Reported:
    """A progress as PySpark hands it out."""

    progress: Mapping[str, Any]

    @property
    def json(self) -> str:
        return json.dumps(self.progress)


def reported(**changes: object) -> dict[str, Any]:
    return {**copy.deepcopy(PROGRESS), **changes}


def source(topic: str, end: object) -> dict[str, object]:
    return {"description": f"KafkaV2[Subscribe[{topic}]]", "endOffset": end, "numInputRows": 5}


def a_commit(batch_id: int = 0, *, records: int = 10, messages: int = 100, offset: int = 10) -> Commit:
    return Commit(batch_id, {("nbbo", 0): offset}, records, messages, 1_700_000_000_000_000_000, 10_000_000_000)


def test_commit_is_read_from_what_spark_reports() -> None:
    commit = commit_of(PROGRESS)

    assert commit == Commit(
        batch_id=0,
        offsets={("nbbo", 0): 1, ("nbbo", 1): 0, ("orders", 0): 1, ("orders", 1): 1},
        records=3,
        messages=6,
        start_unix_ns=1_795_272_694_585_000_000,
        duration_ns=14_971_000_000,
    )


def test_offsets_that_come_as_text_are_read_too() -> None:
    progress = reported(sources=[source("nbbo", '{"nbbo": {"0": 17}}')])

    assert commit_of(progress).offsets == {("nbbo", 0): 17}


def test_source_without_an_end_has_no_offsets() -> None:
    progress = reported(sources=[source("nbbo", None), source("orders", {"orders": {"1": 4}})])

    assert commit_of(progress).offsets == {("orders", 1): 4}


def test_batch_without_messages_counts_none() -> None:
    nothing_observed = reported(observedMetrics={"nbbo_messages": {"messages": None}})
    without_metrics = reported()
    del without_metrics["observedMetrics"]

    assert commit_of(nothing_observed).messages == 0
    assert commit_of(without_metrics).messages == 0


def test_source_that_the_plan_reads_twice_is_counted_once() -> None:
    progress = reported(sources=[source("trades", {"trades": {"0": 5}})] * 2, numInputRows=10)

    assert commit_of(progress).records == 5


@pytest.mark.parametrize(("late_s", "is_followed"), [(0.0, True), (9.999, True), (10.0, False)])
def test_batch_that_moves_the_watermark_is_followed_by_one_without_input(late_s: float, is_followed: bool) -> None:
    times = {"max": "2023-11-14T22:28:20.000Z", "watermark": "2023-11-14T22:28:10.000Z"}
    late = [{"operatorName": "stateStoreSave", "numRowsDroppedByWatermark": 3}]

    commit = commit_of(reported(eventTime=times, stateOperators=late), late_s)

    assert (commit.is_followed, commit.late) == (is_followed, 3)
    assert not commit_of(reported(eventTime={"watermark": "2023-11-14T22:28:10.000Z"})).is_followed


@pytest.mark.parametrize(("routed", "late"), [(7, 7), (0, 0)])
def test_late_rows_that_are_routed_count_instead_of_those_that_spark_has_grouped(routed: int, late: int) -> None:
    dropped = [{"operatorName": "stateStoreSave", "numRowsDroppedByWatermark": 3}]

    commit = commit_of(reported(stateOperators=dropped, observedMetrics={"late_rows": {"late": routed}}))

    assert (commit.late, commit.messages) == (late, 0)


def test_only_batches_after_the_given_one_are_new() -> None:
    recent = [Reported(reported(batchId=number)) for number in (3, 4, 5)]

    assert [commit.batch_id for commit in new_commits(recent, after_batch=3)] == [4, 5]
    assert new_commits(recent, after_batch=5) == []


def test_progress_before_the_first_commit_has_nothing() -> None:
    progress = QueryProgress()

    assert progress.batch_id == -1
    assert progress.offsets == {}
    assert (progress.messages_committed, progress.messages_live) == (0, 0)


def test_commits_add_up_and_keep_the_offsets_of_both_topics() -> None:
    quotes = Commit(0, {("nbbo", 0): 5}, 5, 50, 1, 2, late=8)
    orders = Commit(1, {("orders", 0): 7}, 7, 70, 3, 4, late=9)

    progress = QueryProgress().after_commit(quotes).after_commit(orders)

    assert progress.batch_id == 1
    assert progress.offsets == {("nbbo", 0): 5, ("orders", 0): 7}
    assert (progress.records_committed, progress.messages_committed, progress.late) == (12, 120, 17)
    assert progress.batches == (quotes, orders)


def test_live_counts_are_those_of_the_running_batch_after_what_is_committed() -> None:
    progress = QueryProgress().after_commit(a_commit()).with_live(3, 40)

    assert (progress.records_live, progress.messages_live) == (13, 140)
    assert (progress.records_committed, progress.messages_committed) == (10, 100)


def test_live_counts_never_go_back() -> None:
    shown = QueryProgress().with_live(12, 110)

    after_smaller_count = shown.with_live(0, 0)
    after_smaller_commit = shown.after_commit(a_commit(records=10, messages=100))

    assert (after_smaller_count.records_live, after_smaller_count.messages_live) == (12, 110)
    assert (after_smaller_commit.records_live, after_smaller_commit.messages_live) == (12, 110)


def test_commit_lifts_live_counts_that_are_behind() -> None:
    progress = QueryProgress().with_live(3, 30).after_commit(a_commit(records=10, messages=100))

    assert (progress.records_live, progress.messages_live) == (10, 100)


def test_of_many_batches_the_newest_thousand_are_kept() -> None:
    progress = QueryProgress()
    for number in range(1_003):
        progress = progress.after_commit(a_commit(number, messages=1))

    assert BATCHES_MAX == 1_000
    assert [batch.batch_id for batch in progress.batches] == list(range(3, 1_003))
    assert progress.messages_committed == 1_003
