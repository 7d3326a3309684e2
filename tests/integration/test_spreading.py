"""A job with another number of state partitions: its state is spread over these, and nothing is lost or doubled."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from market_spread.common.errors import RunFailedError
from market_spread.common.job_contract import REAL_TIME
from market_spread.common.wire.layout import ALERT
from market_spread.controller.deploy.local.broker import Broker
from tests.support.jobs import Jobs
from tests.support.pipelines import named

COUNTING_ALL = f"{Path(__file__).parent / 'workloads' / 'counting_all.py'}:counting_all"
COUNTERS, ROUNDS = [f"c{number}" for number in range(20)], 6

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def jobs(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    jobs = Jobs(tmp_path_factory.mktemp("spreading"), broker)
    yield jobs
    jobs.stop()


def state_partitions(checkpoint: Path) -> int:
    """Of the newest batch, as Spark has them."""
    newest = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    return int(json.loads(newest.read_text().splitlines()[1])["conf"]["spark.sql.shuffle.partitions"])


def test_totals_go_on_over_more_partitions_and_over_fewer(jobs: Jobs, tmp_path: Path) -> None:
    """Killed each time, with other cores; and once more as it is, which spreads nothing."""
    jobs.create_topics("numbers", "totals", "invalid")
    checkpoint = tmp_path / "checkpoint"
    found = []
    for start, (cores, partitions) in enumerate([(2, 1), (6, 4), (3, 2), (3, 2)]):
        rounds = range(start * ROUNDS // 4, (start + 1) * ROUNDS // 4)
        jobs.send("numbers", [f"N{name:<8}{n:012}{n + 1:+012}".encode() for n in rounds for name in COUNTERS])
        topics = "numbers=numbers,totals=totals"
        client = jobs.start_job(named("counting"), checkpoint, topics=topics, cores=cores, state_partitions=partitions)
        jobs.wait_for_commit(client, "numbers")
        jobs.kill(client)
        found.append(state_partitions(checkpoint))

    records = {record.decode() for record in jobs.received("totals")}  # what was not committed came twice

    assert found == [1, 4, 2, 2]
    assert records == {f"{name} {n} {(n + 1) * (n + 2) // 2}" for n in range(ROUNDS) for name in COUNTERS}


def order(number: int) -> bytes:
    return f"OAAPL  B{1:06}{number:010}{100:+09}{150_000:010}{1_700_000_000_000_000 + number:016}".encode()


@pytest.mark.full
def test_an_order_meets_the_quote_of_before_its_state_was_spread(jobs: Jobs, tmp_path: Path) -> None:
    """The buckets of whole frames keep their keys: the quote of a lost state would have the sequence 0."""
    jobs.create_topics("nbbo", "orders", "alerts", "invalid")
    quote = f"QAAPL  {100_000:010}{200_000:010}{1_700_000_000_000_000:016}{7:012}".encode()
    jobs.send("nbbo", [quote])
    for number, partitions in enumerate((1, 4, 2)):
        jobs.send("orders", [order(number)])
        client = jobs.start_job("market_spread", tmp_path / "checkpoint", cores=2, state_partitions=partitions)
        jobs.wait_for_commit(client, "orders")
        jobs.kill(client)

    offset, width = ALERT.offset("quote_sequence"), ALERT.field("quote_sequence").width
    sequences = [alert[offset : offset + width] for alert in jobs.received("alerts")]

    assert sequences == [b"000000000007"] * 3
    assert state_partitions(tmp_path / "checkpoint") == 2


def test_real_time_mode_says_that_its_state_stays_as_it_is(jobs: Jobs, tmp_path: Path) -> None:
    jobs.create_topics("stay-numbers", "stay-totals", "invalid")
    jobs.send("stay-numbers", [f"N{'apples':<8}{0:012}{5:+012}".encode()])
    topics, checkpoint = "numbers=stay-numbers,totals=stay-totals", tmp_path / "checkpoint"
    client = jobs.start_job(COUNTING_ALL, checkpoint, mode=REAL_TIME, topics=topics, cores=4)
    jobs.wait_for_commit(client, "stay-numbers")
    jobs.kill(client)

    def start_with_two() -> None:
        client = jobs.start_job(COUNTING_ALL, checkpoint, mode=REAL_TIME, topics=topics, cores=4, state_partitions=2)
        jobs.wait_for_commit(client, "stay-numbers")

    with pytest.raises(RunFailedError, match="keep 1, or give the job an empty checkpoint"):
        start_with_two()
