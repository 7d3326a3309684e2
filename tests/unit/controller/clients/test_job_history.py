"""A job whose driver was started again: what it had done before counts too."""

import pytest

from market_spread.common.errors import RunFailedError
from market_spread.controller.clients import services as clients
from market_spread.controller.clients.services import JobClient
from market_spread.controller.clients.together import JobHistory
from market_spread.v1.control_pb2 import CommittedBatch, JobStatusResponse, PartitionOffset, Phase
from tests.support.clock import ManualClock


def status(cpu_us: int, committed: int, processed: int, *batches: int, restarts: int = 0) -> JobStatusResponse:
    ends = [PartitionOffset(topic="orders", partition=0, offset=committed)] if batches else []
    return JobStatusResponse(
        phase=Phase.PHASE_RUNNING,
        cpu_us=cpu_us,
        messages_committed=committed,
        messages_processed=processed,
        restarts=restarts,
        batch_id=batches[-1] if batches else -1,
        batches=[CommittedBatch(batch_id=batch) for batch in batches],
        committed=ends,
    )


def test_one_driver_is_told_as_it_tells() -> None:
    history = JobHistory()
    history.continued(status(10, 100, 120, 0))

    assert history.continued(status(20, 200, 210, 0, 1)) == status(20, 200, 210, 0, 1)


def test_next_driver_goes_on_from_what_was_committed() -> None:
    history = JobHistory()
    history.continued(status(1000, 200, 260, 0, 1, restarts=1))

    begun = history.continued(status(10, 0, 0))
    later = history.continued(status(20, 50, 70, 2))

    assert (begun.messages_committed, begun.messages_processed, begun.batch_id) == (200, 200, 1)
    assert [end.offset for end in begun.committed] == [200]
    assert (later.messages_committed, later.messages_processed, later.restarts) == (250, 270, 1)
    assert [batch.batch_id for batch in later.batches] == [0, 1, 2]


def test_third_driver_goes_on_from_the_second() -> None:
    history = JobHistory()
    for one in (status(1000, 200, 200, 0), status(10, 50, 60, 1), status(5, 7, 8, 2)):
        newest = history.continued(one)

    assert (newest.messages_committed, newest.messages_processed) == (257, 258)
    assert [batch.batch_id for batch in newest.batches] == [0, 1, 2]


class Driver:
    """Answers, or does not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outage_s: float) -> None:
        self.clock = ManualClock()
        self.answers = True
        self.silences = 0
        monkeypatch.setattr(clients, "_call", self._call)
        self.client = JobClient("127.0.0.1:1", outage_s=outage_s, clock=self.clock)

    def _call(self, *_: object) -> JobStatusResponse:
        if not self.answers:
            raise RunFailedError("the job says: no connection")
        if self.silences:
            self.silences -= 1
            raise clients._SilentJobError("the job says: no answer")
        return status(10, 100, 120, 0)


def test_driver_may_be_away_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(monkeypatch, outage_s=180)
    driver.client.job_status()
    driver.answers = False
    driver.clock.advance_ns(179_000_000_000)

    away = driver.client.job_status()
    driver.clock.advance_ns(2_000_000_000)

    assert (away.phase, away.detail) == (Phase.PHASE_STARTING, "the job says: no connection")
    assert away.messages_committed == 100
    with pytest.raises(RunFailedError):
        driver.client.job_status()


def test_driver_that_no_one_starts_again_may_not_be_away(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(monkeypatch, outage_s=0)
    driver.answers = False

    with pytest.raises(RunFailedError, match="the job says: no connection"):
        driver.client.job_status()


def test_drain_waits_for_a_job_that_does_not_answer_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(monkeypatch, outage_s=0)
    driver.client.job_status()
    driver.silences = 8

    driver.client.drain_job({("orders", 0): 100}, 60)

    assert driver.silences == 0


def test_drain_gives_a_job_up_that_stays_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(monkeypatch, outage_s=0)
    driver.client.job_status()
    driver.silences = 1_000_000

    with pytest.raises(RunFailedError, match="the job says: no answer"):
        driver.client.drain_job({("orders", 0): 100}, 10)
