"""A long batch of Real-Time Mode ends as soon as a drain has nothing else to wait for: real Kafka, real Spark."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from market_spread.common.job_contract import REAL_TIME
from market_spread.common.kafka.client import KafkaBroker
from market_spread.controller.deploy.local.broker import Broker
from tests.support.jobs import Jobs, Query
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(300)

BATCH_S = 240
TOPICS = "lines=early-lines,counts=early-counts,invalid=early-invalid"


@pytest.fixture
def jobs(broker: Broker, tmp_path: Path) -> Iterator[Jobs]:
    jobs = Jobs(tmp_path, broker)
    yield jobs
    jobs.stop()


def test_a_drain_ends_a_long_batch_and_the_next_one_goes_on(jobs: Jobs, tmp_path: Path) -> None:
    jobs.create_topics("early-lines", "early-counts", "early-invalid")
    client = jobs.start_job(
        "word_count", tmp_path / "long", mode=REAL_TIME, topics=TOPICS, batch_s=BATCH_S, warm_up_batches=1
    )
    jobs.send("early-lines", [b"a wide spread"])
    jobs.wait_for_commit(client, "early-lines")  # by the short batch, or by the first long one
    for line in (b"another alert", b"an absurd spread"):
        jobs.send("early-lines", [line])
        begun_s = time.monotonic()
        client.drain_job(KafkaBroker(jobs.broker.bootstrap_servers).end_offsets(["early-lines"]), BATCH_S / 2)
        assert time.monotonic() - begun_s < 30
    jobs.send("early-lines", [b"awake"])
    counts = ["a => 1", "wide => 1", "spread => 1", "another => 1", "alert => 1"]
    counts += ["an => 1", "absurd => 1", "spread => 2", "awake => 1"]
    # The next batch runs: what comes is answered, though nothing ends it for minutes.
    eventually("the last line is counted", lambda: len(jobs.received("early-counts")) == len(counts), within_s=30)
    assert jobs.received("early-counts") == [count.encode() for count in counts]
    assert client.job_status().restarts == 0
    jobs.kill(client)

    # Who reads the topic afterwards, in the other mode, finds no message in what woke the readers.
    jobs.run_to_the_end(Query("word_count", tmp_path / "other", TOPICS))
    again = jobs.received("early-counts")[len(counts) :]
    assert sorted(again) == sorted(count.encode() for count in counts)  # keys are worked on one after the other there
    assert jobs.received("early-invalid") == []
