"""Counting 5, 10 and 15 must make 30, whatever is killed when: real Kafka, real Spark, kill -9.

A batch leaves marks on disk in this order: its offsets, the state's delta, its records in the sink, its commit. The job
is killed after the second of two batches, and what a death at an earlier point would not have left is taken away; so
every point is hit exactly, which no kill could do that only aims at it. What goes on from there is one Spark for all.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from market_spread.controller.deploy.local.broker import Broker
from tests.support.jobs import Jobs, Query
from tests.support.pipelines import named

COUNTING_ALL = f"{Path(__file__).parent / 'workloads' / 'counting_all.py'}:counting_all"
VALUES = (5, 10, 15)

pytestmark = pytest.mark.timeout(300)


def number(sequence: int) -> bytes:
    return f"N{'apples':<8}{sequence:012}{VALUES[sequence]:+012}".encode()


@dataclass(frozen=True)
class Killed:
    """What is on disk after two batches, 5 and 10, and then the kill; the sink's records are beside it."""

    checkpoint: Path
    topic: str
    records: list[bytes]


@pytest.fixture(scope="module")
def jobs(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    jobs = Jobs(tmp_path_factory.mktemp("counting"), broker)
    yield jobs
    jobs.stop()


def killed(jobs: Jobs, checkpoint: Path, after_break: str) -> Killed:
    topic = f"numbers-{after_break}"
    sink = f"totals-{topic}"
    jobs.create_topics(topic, sink)
    client = jobs.start_job(named("counting"), checkpoint, topics=f"numbers={topic},totals={sink}")
    for sequence in (0, 1):
        jobs.send(topic, [number(sequence)])
        jobs.wait_for_commit(client, topic)
    jobs.kill(client)
    assert jobs.received(sink) == [b"apples 0 5", b"apples 1 15"]
    assert sorted(path.name for path in (checkpoint / "commits").glob("[0-9]*")) == ["0", "1"]
    # What is sent while nothing runs: the sender does everything again after the break, or only what is new.
    jobs.send(topic, [number(sequence) for sequence in ((0, 1, 2) if after_break == SENT_AGAIN else (2,))])
    return Killed(checkpoint, topic, jobs.received(sink))


def only_offsets(checkpoint: Path) -> int:
    deltas = [path for path in (checkpoint / "state").rglob("2.changelog") if "0/0" in str(path)]
    assert deltas, sorted((checkpoint / "state").rglob("*"))
    for delta in deltas:
        delta.unlink()
        (delta.parent / f".{delta.name}.crc").unlink(missing_ok=True)
    return without_commit(checkpoint) - 1


def state_written(checkpoint: Path) -> int:
    return without_commit(checkpoint) - 1


def without_commit(checkpoint: Path) -> int:
    (checkpoint / "commits" / "1").unlink()
    (checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    return 2


def commit_written(checkpoint: Path) -> int:
    return 2


def not_replayed(checkpoint: Path) -> int:
    """Negative control: a batch whose offsets count as done though its state was never written."""
    (before,) = [path for path in (checkpoint / "state").rglob("1.changelog") if "0/0" in str(path)]
    for suffix in ("", ".crc"):
        name = f".{before.name}{suffix}" if suffix else before.name
        after = before.parent / name.replace("1.changelog", "2.changelog")
        if (before.parent / name).exists():
            shutil.copy(before.parent / name, after)
        else:
            after.unlink(missing_ok=True)
    return 1


SENT_ONCE, SENT_AGAIN = "sent-once", "sent-again"
# What a death leaves: which records of the sink there are then, of two.
POINTS: dict[str, Callable[[Path], int]] = {
    "offsets-written": only_offsets,
    "state-delta-written": state_written,
    "sink-appended-commit-absent": without_commit,
    "commit-written": commit_written,
}


@pytest.fixture(scope="module")
def restarted(jobs: Jobs, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], list[tuple[int, int]]]:
    """The sink's records (sequence, total) when the job goes on as if it had died at a point, by the point."""
    folder = tmp_path_factory.mktemp("checkpoints")
    jobs.create_topics("invalid")
    queries = []
    for after_break in (SENT_ONCE, SENT_AGAIN):
        dead = killed(jobs, folder / after_break / "counting", after_break)
        points = POINTS if after_break == SENT_AGAIN else {**POINTS, "not-replayed": not_replayed}
        for name, point in points.items():
            checkpoint, sink = folder / f"{after_break}-{name}", f"totals-{after_break}-{name}"
            shutil.copytree(dead.checkpoint, checkpoint)
            appended = point(checkpoint)
            jobs.create_topics(sink)
            jobs.send(sink, dead.records[:appended])
            queries.append(Query(named("counting"), checkpoint, f"numbers={dead.topic},totals={sink}"))
    sink = f"totals-{SENT_AGAIN}-all"
    jobs.create_topics(sink)
    queries.append(Query(COUNTING_ALL, folder / "all", f"numbers=numbers-{SENT_AGAIN},totals={sink}"))
    jobs.run_to_the_end(*queries)

    def found(after_break: str, name: str) -> list[tuple[int, int]]:
        records = [record.split() for record in jobs.received(f"totals-{after_break}-{name}")]
        return [(int(record[1]), int(record[2])) for record in records]

    return found


Found = Callable[[str, str], list[tuple[int, int]]]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("after_break", [SENT_ONCE, SENT_AGAIN])
def test_whatever_is_on_disk_the_effect_is_30(restarted: Found, after_break: str, point: str) -> None:
    found = restarted(after_break, point)

    assert sorted(set(found)) == [(0, 5), (1, 15), (2, 30)]
    assert found[-1] == (2, 30)
    # The sink may get a record twice, which is the same one.
    assert len(found) == (4 if point == "sink-appended-commit-absent" else 3)


def test_without_deduplication_what_is_sent_again_is_counted_again(restarted: Found) -> None:
    """Negative control: the test can see a total that is too high."""
    assert restarted(SENT_AGAIN, "all")[-1][1] == 45


def test_without_replay_what_was_being_done_is_lost(restarted: Found) -> None:
    """Negative control: the test can see a total that is too low."""
    assert restarted(SENT_ONCE, "not-replayed")[-1] == (2, 20)


def test_a_killed_job_leaves_what_it_unpacked_in_its_own_folder(restarted: Found, jobs: Jobs) -> None:
    """The library of the state store: 15 MB that would stay in /tmp."""
    assert [path.name for path in jobs.local_folder.glob("librocksdb*")] == ["librocksdbjni-linux64.so"]
