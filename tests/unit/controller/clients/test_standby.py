"""A driver and its standby, seen as one job, also when one takes over from the other."""

import pytest

from market_spread.common.errors import RunFailedError
from market_spread.controller.clients import services as clients
from market_spread.controller.clients.services import JobClient
from market_spread.controller.clients.together import JobHistory, with_standby
from market_spread.v1.control_pb2 import JobStatusResponse, PartitionOffset, Phase
from tests.support.clock import ManualClock


def driver(pid: int, **changes: object) -> JobStatusResponse:
    values: dict[str, object] = {
        "phase": Phase.PHASE_RUNNING,
        "batch_id": 4,
        "committed": [PartitionOffset(topic="nbbo", partition=0, offset=10)],
        "messages_committed": 100,
        "messages_processed": 120,
        "cpu_us": 1_000,
        "counted_cpu_us": 900,
        "process_ids": [pid],
    }
    return JobStatusResponse(**{**values, **changes})  # type: ignore[arg-type]


def standby(pid: int, detail: str = "", cpu_us: int = 300) -> JobStatusResponse:
    return JobStatusResponse(
        phase=Phase.PHASE_IDLE, detail=detail, batch_id=-1, cpu_us=cpu_us, process_ids=[pid, pid + 1]
    )


def together(*statuses: JobStatusResponse, silent: int = 0) -> JobStatusResponse:
    both = with_standby(statuses, JobHistory(), silent=silent)
    assert both is not None
    return both


def test_done_is_what_the_acting_one_has_done_and_used_what_both_have() -> None:
    both = together(standby(7), driver(1))

    assert (both.phase, both.batch_id, both.messages_committed, both.messages_processed) == (
        Phase.PHASE_RUNNING, 4, 100, 120,
    )  # fmt: skip
    assert (both.cpu_us, both.counted_cpu_us, list(both.process_ids)) == (1_300, 1_200, [1, 7, 8])


@pytest.mark.parametrize(
    ("others", "silent", "detail"), [([standby(7, "rehearsing")], 0, "rehearsing"), ([], 1, "starting")]
)
def test_a_job_runs_when_its_standby_is_warm(others: list[JobStatusResponse], silent: int, detail: str) -> None:
    both = together(driver(1), *others, silent=silent)

    assert (both.phase, both.detail) == (Phase.PHASE_STARTING, f"the standby is not warm yet: {detail}")


@pytest.mark.parametrize(
    "other", [standby(1), driver(1, phase=Phase.PHASE_FAILED), driver(1, phase=Phase.PHASE_STARTING)]
)
def test_who_runs_has_the_checkpoint(other: JobStatusResponse) -> None:
    assert together(other, driver(2)).process_ids[0] == 2


def test_who_takes_over_is_told_from_one_that_failed() -> None:
    taking_over = driver(2, phase=Phase.PHASE_STARTING, batch_id=-1)

    assert together(driver(1, phase=Phase.PHASE_FAILED), taking_over).process_ids[0] == 2


class Two:
    """A driver and a standby that answer with what a test says; None is silence."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = ManualClock()
        self.answers: list[JobStatusResponse | None] = []
        monkeypatch.setattr(clients, "_call", self._call)
        self.client = JobClient("127.0.0.1:1", "127.0.0.1:2", has_standby=True, clock=self.clock)

    def look(self, first: JobStatusResponse | None, second: JobStatusResponse | None) -> JobStatusResponse:
        self.answers = [first, second]
        return self.client.job_status()

    def _call(self, *_: object) -> JobStatusResponse:
        answer = self.answers.pop(0)
        if answer is None:
            raise clients._SilentJobError("the job says: no answer")
        return answer


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Two:
    return Two(monkeypatch)


def test_who_took_over_goes_on_from_what_was_committed(two: Two) -> None:
    two.look(driver(1), standby(2, cpu_us=5_000))
    away = two.look(None, standby(2, cpu_us=5_000))
    # It has used more than the one before it, as it was there as long.
    later = two.look(standby(3), driver(2, cpu_us=6_000, messages_committed=7, messages_processed=9, batch_id=5))

    assert (away.phase, away.detail) == (Phase.PHASE_STARTING, "the job says: no answer")
    assert (away.messages_committed, away.batch_id) == (100, 4)
    assert (later.phase, later.messages_committed, later.messages_processed) == (Phase.PHASE_RUNNING, 107, 109)
    assert (later.batch_id, later.cpu_us) == (5, 6_300)


def test_a_driver_that_only_stood_still_is_no_other_one(two: Two) -> None:
    two.look(driver(1), standby(2))
    two.look(None, standby(2))

    again = two.look(driver(1, cpu_us=1_100), None)

    assert (again.messages_committed, again.messages_processed, again.cpu_us) == (100, 120, 1_100)


def test_a_standby_alone_is_no_job_for_ever(two: Two) -> None:
    two.look(driver(1), standby(2))
    two.clock.advance_ns(61_000_000_000)

    with pytest.raises(RunFailedError, match="no answer"):
        two.look(None, standby(2))
    with pytest.raises(RunFailedError, match="no driver"):
        two.look(standby(1), standby(2))
