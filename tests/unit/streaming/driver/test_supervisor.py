"""The supervisor, on a clock that tests move, with an engine and queries that do what a test says."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from market_spread.common.errors import DeadlineError, MarketSpreadError, RunFailedError, UsageError, WrongStateError
from market_spread.streaming.driver.engine import SparkEngine
from market_spread.streaming.driver.replica_schedule import ReplicaSchedule
from market_spread.streaming.driver.supervisor import JobState, Supervisor, WarmUp
from market_spread.v1.control_pb2 import Phase
from tests.support.clock import ManualClock

END_S = 100_000
WARM_UP_BATCH_S = 0.4


class ActingClock(ManualClock):
    """Runs the actions that fall due while someone sleeps, and ends a test that would sleep for ever."""

    def __init__(self) -> None:
        super().__init__()
        self._actions: list[tuple[float, Callable[[], object]]] = []

    @property
    def elapsed_s(self) -> float:
        return self.monotonic_ns() / 1e9

    def at(self, time_s: float, action: Callable[[], object]) -> None:
        self._actions.append((time_s, action))

    def sleep_ns(self, duration_ns: int) -> None:
        super().sleep_ns(duration_ns)
        assert self.elapsed_s < END_S, "nothing ends the supervisor"
        due = [action for time_s, action in self._actions if time_s <= self.elapsed_s]
        self._actions = [(time_s, action) for time_s, action in self._actions if time_s > self.elapsed_s]
        for action in due:
            action()


class FakeProgress:
    """What Spark reports of a batch of 10 messages; partition 0 of `nbbo` stands at 10 records a batch."""

    json = "{}"

    def __init__(self, batch_id: int) -> None:
        self.batchId = batch_id
        offset = 10 * (batch_id + 1)
        self.json = (
            f'{{"batchId": {batch_id}, "numInputRows": 10, "timestamp": "2026-01-01T00:00:00.000Z", '
            f'"durationMs": {{"triggerExecution": 5000}}, "sources": [{{"description": "KafkaV2[Subscribe[nbbo]]", '
            f'"numInputRows": 10, "endOffset": {{"nbbo": {{"0": {offset}}}}}}}], '
            f'"observedMetrics": {{"nbbo_messages": {{"messages": 10}}}}}}'
        )


class FakeQuery:
    """A query that commits the given batches, one every 5 s, and then ends with the error, or goes on for ever."""

    def __init__(self, clock: ActingClock, batches: Sequence[int], *, error: Exception | None, ends: bool) -> None:
        self._clock = clock
        self._start_s = clock.elapsed_s
        self._batches = batches
        self._error = error
        self._ends = ends
        self.stopped_at_s: float | None = None
        self.all_progress_asked = 0
        self.hangs = False
        self.ended_early = 0

    @property
    def isActive(self) -> bool:  # noqa: N802
        if self._ends and self._clock.elapsed_s - self._start_s >= 5 * len(self._batches) + 1:
            if isinstance(self._error, Py4JError | OSError):
                raise self._error
            return False
        return self.stopped_at_s is None

    @property
    def lastProgress(self) -> FakeProgress | None:  # noqa: N802
        reported = self._reported()
        return reported[-1] if reported else None

    @property
    def recentProgress(self) -> list[FakeProgress]:  # noqa: N802
        self.all_progress_asked += 1
        return self._reported()

    def exception(self) -> Exception | None:
        return self._error

    def stop(self) -> None:
        self.stopped_at_s = self._clock.elapsed_s
        if self.hangs:
            raise StreamingQueryException("stop timed out")

    def _reported(self) -> list[FakeProgress]:
        done = int((self._clock.elapsed_s - self._start_s) // 5) + self.ended_early
        return [FakeProgress(batch) for batch in self._batches[:done]]


class FakeEngine:
    """Starts the queries that a test has planned, one after the other."""

    def __init__(self, clock: ActingClock) -> None:
        self._clock = clock
        self._plans: list[dict[str, Any]] = []
        self.slots_now = 5
        self.live = (0, 0)
        self.queries: list[FakeQuery] = []
        self.started_at_s: list[float] = []
        self.started: list[str] = []
        self.batches_s: list[float] = []
        self.ends_early = False
        self.ends_lost = 0
        self.ended_at_s: list[float] = []
        self.kept_time_at_s: list[float] = []
        self.prepared_at_s: list[float] = []

    def plan(self, batches: Sequence[int], *, error: Exception | None = None, ends: bool = False) -> None:
        self._plans.append({"batches": batches, "error": error, "ends": ends or error is not None})

    def plan_refusal(self, error: Exception) -> None:
        self._plans.append({"refusal": error})

    def slots(self) -> int:
        return self.slots_now

    def prepare(self) -> None:
        self.prepared_at_s.append(round(self._clock.elapsed_s, 2))

    def start_query(self, batch_s: float) -> StreamingQuery:
        if batch_s == WARM_UP_BATCH_S:
            return self._start("short")
        self.batches_s.append(batch_s)
        return self._start("full")

    def late_s(self) -> float:
        return 0.0

    def newest_batch(self, query: StreamingQuery) -> int:
        newest = query.lastProgress
        return -1 if newest is None else int(newest.batchId)

    def live_counts(self) -> tuple[int, int]:
        return self.live

    def end_batch(self) -> bool:
        if self.ends_early:
            self.ended_at_s.append(round(self._clock.elapsed_s, 2))
            self.queries[-1].ended_early += len(self.ended_at_s) > self.ends_lost
        return self.ends_early

    def keep_time(self) -> None:
        self.kept_time_at_s.append(round(self._clock.elapsed_s, 2))

    def _start(self, batches: str) -> StreamingQuery:
        self.started.append(batches)
        self.started_at_s.append(round(self._clock.elapsed_s, 3))
        plan = self._plans.pop(0)
        if "refusal" in plan:
            raise plan["refusal"]
        self.queries.append(FakeQuery(self._clock, **plan))
        return cast(StreamingQuery, self.queries[-1])


class Rig:
    """A supervisor with everything around it."""

    def __init__(
        self,
        *,
        restarts_max: int = 3,
        slots_needed: int = 5,
        warm_up_batches: int = 0,
        schedule: ReplicaSchedule | None = None,
    ) -> None:
        self.clock = ActingClock()
        self.engine = FakeEngine(self.clock)
        self.states: list[JobState] = []
        self.supervisor = Supervisor(
            cast("SparkEngine", self.engine),
            slots_needed=slots_needed,
            slots_may_grow=False,
            slots_timeout_s=60.0,
            restarts_max=restarts_max,
            warm_up=WarmUp(warm_up_batches, WARM_UP_BATCH_S, timeout_s=60.0),
            schedule=schedule or ReplicaSchedule(5.0),
            clock=self.clock,
            on_change=self.states.append,
            cpu_us=lambda: self.clock.monotonic_ns() // 2000,
        )

    def stop_at(self, time_s: float, *, wait_s: float = 0.0) -> None:
        self.clock.at(time_s, lambda: self.supervisor.stop(wait_s))

    def run(self) -> JobState:
        self.supervisor.run()
        return self.supervisor.state


@pytest.fixture
def rig() -> Rig:
    return Rig()


def a_failure(text: str = "the executor is gone") -> StreamingQueryException:
    return StreamingQueryException(text)


def test_commits_are_noted_until_it_is_stopped(rig: Rig) -> None:
    rig.engine.plan(batches=[0, 1, 2])
    rig.stop_at(11)

    state = rig.run()

    assert (state.phase, state.detail, state.restarts) == (Phase.PHASE_FINISHED, "", 0)
    assert state.progress.batch_id == 1
    assert state.progress.messages_committed == 20
    assert state.progress.offsets == {("nbbo", 0): 20}


def test_phases_pass_from_starting_through_running_to_finished(rig: Rig) -> None:
    rig.engine.plan(batches=[])
    rig.stop_at(3)

    rig.run()

    phases = [state.phase for state in rig.states]
    assert list(dict.fromkeys(phases)) == [
        Phase.PHASE_STARTING,
        Phase.PHASE_RUNNING,
        Phase.PHASE_DRAINING,
        Phase.PHASE_FINISHED,
    ]


def test_checkpoint_of_an_earlier_process_goes_on_with_its_batch_numbers(rig: Rig) -> None:
    rig.engine.plan(batches=[57, 58])
    rig.stop_at(11)

    state = rig.run()

    assert [batch.batch_id for batch in state.progress.batches] == [57, 58]


def test_progress_of_all_batches_is_asked_for_only_after_a_gap(rig: Rig) -> None:
    rig.engine.plan(batches=[0, 1, 2, 5])
    rig.stop_at(21)

    state = rig.run()

    assert [batch.batch_id for batch in state.progress.batches] == [0, 1, 2, 5]
    assert rig.engine.queries[0].all_progress_asked == 1


def test_batches_that_were_committed_unseen_are_noted_too(rig: Rig) -> None:
    rig.engine.plan(batches=[0, 1, 2])
    rig.clock.at(1, lambda: rig.clock.advance_ns(15_000_000_000))
    rig.stop_at(17)

    state = rig.run()

    assert [batch.batch_id for batch in state.progress.batches] == [0, 1, 2]


def test_live_counts_are_shown_once_a_second(rig: Rig) -> None:
    rig.engine.plan(batches=[])
    for second in range(1, 4):
        rig.clock.at(second - 0.5, partial(setattr, rig.engine, "live", (second, 100 * second)))
    rig.stop_at(3.5)

    state = rig.run()

    shown = [state.progress.messages_live for state in rig.states if state.phase == Phase.PHASE_RUNNING]
    assert list(dict.fromkeys(shown)) == [0, 100, 200, 300]
    assert (state.progress.records_live, state.progress.messages_live) == (3, 300)


def test_a_new_checkpoint_begins_with_short_batches() -> None:
    rig = Rig(warm_up_batches=3)
    rig.engine.plan(batches=[0, 1, 2])
    rig.engine.plan(batches=[3])
    rig.stop_at(22)

    state = rig.run()

    assert rig.engine.started == ["short", "full"]
    assert rig.engine.queries[0].stopped_at_s == pytest.approx(15, abs=0.2)
    assert [batch.batch_id for batch in state.progress.batches] == [0, 1, 2, 3]
    details = dict.fromkeys(state.detail for state in rig.states if state.phase == Phase.PHASE_STARTING)
    assert "warming up: 2 of 3 batches" in details


def test_a_checkpoint_that_had_its_short_batches_is_not_warmed_up_again() -> None:
    rig = Rig(warm_up_batches=3)
    rig.engine.plan(batches=[57])
    rig.engine.plan(batches=[58])
    rig.stop_at(12)

    rig.run()

    assert rig.engine.queries[0].stopped_at_s == pytest.approx(5, abs=0.2)


def test_slow_short_batches_end_after_their_time() -> None:
    rig = Rig(warm_up_batches=30)
    rig.engine.plan(batches=range(30))
    rig.engine.plan(batches=[])
    rig.stop_at(70)

    rig.run()

    assert rig.engine.queries[0].stopped_at_s == pytest.approx(60, abs=0.2)


def test_a_failure_among_the_short_batches_is_tried_again_from_where_they_were() -> None:
    rig = Rig(warm_up_batches=3)
    rig.engine.plan(batches=[0], error=a_failure())
    rig.engine.plan(batches=[1, 2])
    rig.engine.plan(batches=[])
    rig.stop_at(30)

    state = rig.run()

    assert rig.engine.started == ["short", "short", "full"]
    assert (state.phase, state.restarts) == (Phase.PHASE_FINISHED, 1)


def test_replica_off_its_schedule_realigns_by_a_batch_of_another_length() -> None:
    # The clock is at a multiple of 20 s; this one's batches start 5 s later, when the first query commits.
    rig = Rig(schedule=ReplicaSchedule(20.0, replica=1, replicas=4))
    rig.engine.plan(batches=[0])
    rig.engine.plan(batches=[])
    rig.stop_at(9)

    state = rig.run()

    assert rig.engine.batches_s == [2.0, 20.0]
    assert rig.engine.queries[0].stopped_at_s == pytest.approx(5, abs=0.3)
    assert (state.phase, state.restarts) == (Phase.PHASE_FINISHED, 0)


def test_replica_that_drifts_restarts_its_query() -> None:
    rig = Rig(schedule=ReplicaSchedule(20.0, replica=0, replicas=2))
    rig.engine.plan(batches=[0])  # it ends after 5 s, when the next start is 15 s away
    rig.engine.plan(batches=[])
    rig.stop_at(30)

    rig.run()

    assert rig.engine.batches_s == [20.0, pytest.approx(12, abs=0.3)]


def test_only_replica_goes_on_with_its_query(rig: Rig) -> None:
    rig.engine.plan(batches=[0, 1, 2])
    rig.stop_at(18)

    rig.run()

    assert rig.engine.batches_s == [5.0]


def test_stop_ends_the_warm_up() -> None:
    rig = Rig(warm_up_batches=3)
    rig.engine.plan(batches=[0, 1, 2])
    rig.stop_at(7)

    state = rig.run()

    assert rig.engine.started == ["short"]
    assert rig.engine.queries[0].stopped_at_s == pytest.approx(7, abs=0.2)
    assert state.phase == Phase.PHASE_FINISHED


def test_missing_executors_are_awaited(rig: Rig) -> None:
    rig.engine.slots_now, rig.supervisor.slots_may_grow = 2, True
    rig.engine.plan(batches=[])
    rig.clock.at(7, lambda: setattr(rig.engine, "slots_now", 5))
    rig.stop_at(10)

    rig.run()

    assert 7 <= rig.engine.started_at_s[0] < 7.5
    assert rig.states[0].phase == Phase.PHASE_STARTING
    assert rig.states[0].detail == "waiting for executors: the job has 2 of 5 slots"


def test_too_few_local_slots_are_refused_at_once(rig: Rig) -> None:
    rig.engine.slots_now = 4

    with pytest.raises(UsageError, match=r"^the job has 4 of 5 slots; give the job 5 cores, or fewer partitions$"):
        rig.run()

    assert rig.clock.elapsed_s == 0
    assert rig.supervisor.state.phase == Phase.PHASE_FAILED
    assert rig.supervisor.state.detail == "the job has 4 of 5 slots; give the job 5 cores, or fewer partitions"


def test_executors_that_never_come_fail_the_job_after_the_time_for_good(rig: Rig) -> None:
    rig.engine.slots_now, rig.supervisor.slots_may_grow = 2, True

    with pytest.raises(DeadlineError, match="the job has 2 of 5 slots after 60 s; are the executors running"):
        rig.run()

    assert 60 <= rig.clock.elapsed_s < 61
    assert rig.supervisor.state.phase == Phase.PHASE_FAILED
    assert rig.supervisor.state.detail == "the job has 2 of 5 slots after 60 s; are the executors running?"
    assert rig.supervisor.state.restarts == 0


def test_stop_ends_the_wait_for_executors(rig: Rig) -> None:
    rig.engine.slots_now, rig.supervisor.slots_may_grow = 2, True
    rig.stop_at(3)

    state = rig.run()

    assert state.phase == Phase.PHASE_FINISHED
    assert rig.engine.started_at_s == []


def test_failed_query_is_started_again_after_a_while(rig: Rig) -> None:
    rig.engine.plan(batches=[0], error=a_failure())
    rig.engine.plan(batches=[1])
    rig.stop_at(20)

    state = rig.run()

    assert state.restarts == 1
    assert [batch.batch_id for batch in state.progress.batches] == [0, 1]
    assert rig.engine.started_at_s == [0, pytest.approx(7, abs=0.2)]
    details = [state.detail for state in rig.states]
    assert "restarting after: the executor is gone" in details


def test_query_that_ends_by_itself_counts_as_failed(rig: Rig) -> None:
    rig.engine.plan(batches=[], ends=True)
    rig.engine.plan(batches=[])
    rig.stop_at(10)

    state = rig.run()

    assert state.restarts == 1
    assert "restarting after: the query ended by itself" in [state.detail for state in rig.states]


def test_last_commit_of_a_query_that_fails_is_noted(rig: Rig) -> None:
    rig.engine.plan(batches=[0, 1], error=a_failure())
    rig.engine.plan(batches=[])
    rig.clock.at(4, lambda: rig.clock.advance_ns(8_000_000_000))
    rig.stop_at(20)

    state = rig.run()

    assert [batch.batch_id for batch in state.progress.batches] == [0, 1]


PYTHON_ERROR = """\
[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/opt/market-spread/packages/pyspark/serializers.py", line 483, in loads
    return cloudpickle.loads(obj, encoding=encoding)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
ModuleNotFoundError: No module named 'tariff'
 SQLSTATE: 38000 SQLSTATE: XXKST
=== Streaming Query ===
"""


USERS_ERROR = PYTHON_ERROR.replace(
    "ModuleNotFoundError", '  File "/home/me/fares.py", line 12, in longer\n    tariff()\nModuleNotFoundError'
)


@pytest.mark.parametrize(("error", "where"), [(PYTHON_ERROR, ""), (USERS_ERROR, "fares.py:12: ")])
def test_what_a_python_worker_raised_is_said_and_not_that_it_raised(rig: Rig, error: str, where: str) -> None:
    rig.engine.plan(batches=[0], error=a_failure(error))
    rig.engine.plan(batches=[1])
    rig.stop_at(20)

    rig.run()

    details = [state.detail for state in rig.states]
    assert f"restarting after: {where}ModuleNotFoundError: No module named 'tariff'" in details


def test_pauses_between_failures_grow_and_the_job_gives_up(rig: Rig) -> None:
    for number in range(4):
        rig.engine.plan_refusal(a_failure(f"failure {number}\nand its long stack"))

    with pytest.raises(RunFailedError, match=r"^the query failed 4 times in a row; the last time: failure 3$"):
        rig.run()

    assert rig.engine.started_at_s == [0, 1, 3, 8]
    assert rig.supervisor.state.phase == Phase.PHASE_FAILED
    assert rig.supervisor.state.detail == "the query failed 4 times in a row; the last time: failure 3"
    assert rig.supervisor.state.restarts == 3


def test_commit_between_failures_begins_the_count_anew() -> None:
    rig = Rig(restarts_max=1)
    for number in range(6):
        rig.engine.plan(batches=[number], error=a_failure())
    rig.engine.plan(batches=[])
    rig.stop_at(60)

    state = rig.run()

    assert state.phase == Phase.PHASE_FINISHED
    assert state.restarts == 6


def test_failures_without_a_commit_between_them_add_up_after_one() -> None:
    rig = Rig(restarts_max=1)
    rig.engine.plan(batches=[0], error=a_failure())
    rig.engine.plan(batches=[], error=a_failure("again"))

    with pytest.raises(RunFailedError, match="the query failed 2 times in a row; the last time: again"):
        rig.run()


@pytest.mark.parametrize(
    "error",
    [Py4JError("an answer from Java is empty"), ConnectionRefusedError(111, "Connection refused")],
    ids=["broken call", "no JVM"],
)
def test_jvm_that_is_gone_fails_the_job_as_soon_as_it_cannot_be_reached(rig: Rig, error: Exception) -> None:
    rig.engine.plan(batches=[0], error=error)
    rig.engine.plan_refusal(ConnectionRefusedError(111, "Connection refused"))

    with pytest.raises(RunFailedError, match=r"^the job's JVM ended: \[Errno 111\] Connection refused$"):
        rig.run()

    assert len(rig.engine.queries) == 1
    assert rig.supervisor.state.phase == Phase.PHASE_FAILED


def test_wrong_configuration_is_not_tried_again(rig: Rig) -> None:
    rig.engine.plan_refusal(UsageError("the topic orders is missing; create it"))

    with pytest.raises(UsageError, match="the topic orders is missing; create it"):
        rig.run()

    assert rig.engine.started_at_s == [0]
    assert rig.supervisor.state.phase == Phase.PHASE_FAILED


def test_error_of_our_own_code_is_not_hidden(rig: Rig) -> None:
    rig.engine.plan_refusal(KeyError("a mistake"))

    with pytest.raises(KeyError, match="a mistake"):
        rig.run()


def test_stop_without_waiting_ends_the_query_at_once(rig: Rig) -> None:
    rig.engine.plan(batches=[0, 1])
    rig.stop_at(7)

    rig.run()

    assert rig.engine.queries[0].stopped_at_s == pytest.approx(7, abs=0.2)


def test_stop_that_waits_ends_the_query_after_the_running_batch(rig: Rig) -> None:
    rig.engine.plan(batches=[0, 1, 2, 3])
    rig.stop_at(7, wait_s=60)

    state = rig.run()

    assert rig.engine.queries[0].stopped_at_s == pytest.approx(10, abs=0.2)
    assert state.progress.batch_id == 1


def test_stop_that_waits_ends_the_running_batch_where_it_can(rig: Rig) -> None:
    rig.engine.plan(batches=[0, 1, 2, 3])
    rig.engine.ends_early = True
    rig.stop_at(7, wait_s=60)

    state = rig.run()

    assert rig.engine.ended_at_s == [7.0]
    assert rig.engine.queries[0].stopped_at_s == pytest.approx(7.25, abs=0.01)
    assert state.progress.batch_id == 1


def test_stop_waits_no_longer_than_it_was_told(rig: Rig) -> None:
    rig.engine.plan(batches=[])
    rig.stop_at(7, wait_s=20)

    rig.run()

    assert rig.engine.queries[0].stopped_at_s == pytest.approx(27, abs=0.2)


def test_query_that_does_not_stop_does_not_keep_the_process(rig: Rig) -> None:
    rig.engine.plan(batches=[])
    rig.clock.at(2, lambda: setattr(rig.engine.queries[0], "hangs", True))
    rig.stop_at(3)

    state = rig.run()

    assert (state.phase, state.restarts) == (Phase.PHASE_FINISHED, 0)


def test_short_batches_that_do_not_stop_are_a_failure() -> None:
    rig = Rig(warm_up_batches=1)
    rig.engine.plan(batches=[0])
    rig.engine.plan(batches=[1])
    rig.clock.at(2, lambda: setattr(rig.engine.queries[0], "hangs", True))
    rig.stop_at(20)

    state = rig.run()

    assert (rig.engine.started, state.restarts) == (["short", "full"], 1)


def test_second_stop_shortens_the_wait(rig: Rig) -> None:
    rig.engine.plan(batches=[])
    rig.stop_at(7, wait_s=600)
    rig.stop_at(9)

    rig.run()

    assert rig.engine.queries[0].stopped_at_s == pytest.approx(9, abs=0.2)


def test_stop_after_a_failure_does_not_start_the_query_again(rig: Rig) -> None:
    rig.engine.plan(batches=[], error=a_failure())
    rig.stop_at(1.5)

    state = rig.run()

    assert state.phase == Phase.PHASE_FINISHED
    assert rig.engine.started_at_s == [0]


class Drain(threading.Thread):
    """A drain that waits in a thread of its own, as a control call does."""

    def __init__(self, supervisor: Supervisor, until: dict[tuple[str, int], int]) -> None:
        super().__init__(daemon=True)
        self._supervisor = supervisor
        self._until = until
        self.outcome: object = None
        self.start()
        while self.is_alive() and until not in supervisor._drains:
            self.join(0.001)

    def run(self) -> None:
        try:
            self.outcome = self._supervisor.drain(self._until, timeout_s=30)
        except MarketSpreadError as error:
            self.outcome = error

    def awaited(self) -> object:
        self.join(30)
        assert not self.is_alive()
        return self.outcome


def test_drain_returns_when_the_offsets_are_committed(rig: Rig) -> None:
    rig.engine.plan(batches=[0, 1, 2])
    drain = Drain(rig.supervisor, {("nbbo", 0): 20})
    rig.stop_at(12)

    rig.run()

    assert drain.awaited() == {("nbbo", 0): 20}


def test_drain_ends_a_batch_as_soon_as_it_has_read_all_that_is_awaited(rig: Rig) -> None:
    """Batch 0 has 10 records at 5 s; batch 1, of which 9 are read at 6 s and 10 at 8 s, would end at 10 s."""
    rig.engine.plan(batches=[0, 1, 2])
    rig.engine.ends_early = True
    rig.clock.at(6, lambda: setattr(rig.engine, "live", (9, 9)))
    rig.clock.at(8, lambda: setattr(rig.engine, "live", (10, 10)))
    drain = Drain(rig.supervisor, {("nbbo", 0): 20})
    rig.stop_at(9.5)

    rig.run()

    assert drain.awaited() == {("nbbo", 0): 20}
    (ended_at_s,) = rig.engine.ended_at_s
    assert ended_at_s == pytest.approx(8.5, abs=0.5)
    assert rig.engine.kept_time_at_s == [pytest.approx(ended_at_s + 0.25, abs=0.01)]


def test_drain_asks_again_for_the_end_of_a_batch_that_could_not_hear_it(rig: Rig) -> None:
    """The first ask, when all 10 records of the first batch are read, has no effect; the batch would end at 5 s."""
    rig.engine.plan(batches=[0, 1])
    rig.engine.ends_early = True
    rig.engine.ends_lost = 1
    rig.engine.live = (10, 10)
    drain = Drain(rig.supervisor, {("nbbo", 0): 10})
    rig.stop_at(4.5)

    rig.run()

    assert drain.awaited() == {("nbbo", 0): 10}
    assert rig.engine.ended_at_s == pytest.approx([0, 3.1], abs=0.3)


def test_drain_does_not_take_what_a_failed_batch_had_read_for_read(rig: Rig) -> None:
    """The batch that fails at 11 s has read 40 records, of which 20 are awaited; the next one reads them again."""
    rig.engine.ends_early = True
    rig.engine.plan(batches=[0, 1], error=a_failure())
    rig.engine.plan(batches=[2, 3])
    rig.clock.at(8, lambda: setattr(rig.engine, "live", (50, 50)))
    rig.clock.at(11.3, lambda: setattr(rig.engine, "live", (3, 3)))
    rig.clock.at(11.3, lambda: Drain(rig.supervisor, {("nbbo", 0): 40}))
    rig.clock.at(14, lambda: setattr(rig.engine, "live", (20, 20)))
    rig.stop_at(16)

    rig.run()

    assert rig.engine.queries[0].ended_early == 0
    assert min(rig.engine.ended_at_s) >= 14


def test_drain_of_what_is_committed_does_not_wait(rig: Rig) -> None:
    rig.engine.plan(batches=[0, 1, 2])
    drained: list[object] = []
    rig.clock.at(11, lambda: drained.append(rig.supervisor.drain({("nbbo", 0): 20}, timeout_s=0)))
    rig.stop_at(12)

    rig.run()

    assert drained == [{("nbbo", 0): 20}]


def test_drain_of_nothing_is_done(rig: Rig) -> None:
    assert rig.supervisor.drain({("orders", 3): 0}, timeout_s=0) == {}


def test_drain_ends_after_its_time(rig: Rig) -> None:
    with pytest.raises(DeadlineError, match=r"^the job did not commit everything within 0 s$"):
        rig.supervisor.drain({("nbbo", 0): 1}, timeout_s=0)


def test_drain_of_a_failed_job_says_why() -> None:
    rig = Rig(restarts_max=0)
    rig.engine.plan(batches=[0], error=a_failure())
    drain = Drain(rig.supervisor, {("nbbo", 0): 20})

    with pytest.raises(RunFailedError):
        rig.run()

    outcome = drain.awaited()
    assert isinstance(outcome, RunFailedError)
    assert str(outcome) == (
        "the job failed before it was drained; the query failed 1 times in a row; the last time: the executor is gone"
    )


def test_drain_of_a_stopped_job_does_not_claim_that_all_is_committed(rig: Rig) -> None:
    rig.engine.plan(batches=[0])
    drain = Drain(rig.supervisor, {("nbbo", 0): 20})
    rig.stop_at(6)

    rig.run()

    outcome = drain.awaited()
    assert isinstance(outcome, WrongStateError)
    assert str(outcome) == "the job was stopped before it was drained; start it again, and it continues"


def test_a_count_has_its_moment_and_the_cpu_time_of_it(rig: Rig) -> None:
    """Counts of 100, 200, 300 come at 0.5, 1.5 and 2.5 s; half a CPU is used."""
    begun_ns = rig.clock.unix_ns()
    rig.engine.plan(batches=[])
    for second in range(1, 4):
        rig.clock.at(second - 0.5, partial(setattr, rig.engine, "live", (second, 100 * second)))
    rig.stop_at(9)

    state = rig.run()

    seen = {each.progress.messages_live: each.progress for each in rig.states if each.progress.messages_live}
    ages_s = [(seen[100 * second].counted_unix_ns - begun_ns) / 1e9 - (second - 0.5) for second in (2, 3)]
    assert all(0 <= age_s <= 0.25 for age_s in ages_s)
    assert state.progress.counted_unix_ns == seen[300].counted_unix_ns < rig.clock.unix_ns() - 5_000_000_000
    assert state.progress.counted_cpu_us == (state.progress.counted_unix_ns - begun_ns) // 2000


class Lock:
    """Another driver has the checkpoint until then; how often it was asked for."""

    def __init__(self, clock: ActingClock, free_at_s: float) -> None:
        self._clock = clock
        self._free_at_s = free_at_s
        self.asked = 0

    def acquire(self) -> bool:
        self.asked += 1
        return self._clock.elapsed_s >= self._free_at_s


def stand_by(rig: Rig, lock: Lock, *, batches: int) -> FakeEngine:
    """Until the checkpoint is free; the engine of the rehearsal."""
    elsewhere = FakeEngine(rig.clock)
    elsewhere.plan(batches=range(batches // 2))
    elsewhere.plan(batches=range(batches // 2, 100))
    rig.supervisor.stand_by(
        lock.acquire, cast("SparkEngine", elsewhere), WarmUp(batches, WARM_UP_BATCH_S, timeout_s=60.0)
    )
    return elsewhere


def test_a_standby_rehearses_elsewhere_and_begins_when_the_other_is_gone() -> None:
    rig = Rig(warm_up_batches=3)
    lock = Lock(rig.clock, free_at_s=40)
    rig.engine.plan(batches=[7])
    rig.stop_at(46)

    elsewhere = stand_by(rig, lock, batches=2)
    taken_at_s = rig.clock.elapsed_s
    state = rig.run()

    assert elsewhere.started == ["short", "short"]  # the second time from the checkpoint of the first
    assert [query.stopped_at_s for query in elsewhere.queries] == [pytest.approx(at, abs=0.6) for at in (5, 10)]
    assert taken_at_s == pytest.approx(40, abs=0.1)
    assert rig.engine.prepared_at_s == [pytest.approx(10, abs=0.6)]
    # Without short batches, as there is a backlog; and what was committed in the rehearsal is nowhere counted.
    assert rig.engine.started == ["full"]
    assert [batch.batch_id for batch in state.progress.batches] == [7]
    assert state.progress.messages_committed == 10


def test_a_standby_says_whether_it_is_warm() -> None:
    rig = Rig()
    stand_by(rig, Lock(rig.clock, free_at_s=40), batches=2)

    idle, taking_over = Phase.PHASE_IDLE, Phase.PHASE_STARTING
    assert [(state.phase, state.detail) for state in rig.states] == [
        (idle, "rehearsing"), (idle, ""), (taking_over, "taking over"),
    ]  # fmt: skip


def test_a_driver_whose_checkpoint_is_free_begins_as_ever() -> None:
    rig = Rig(warm_up_batches=1)
    rig.engine.plan(batches=[0])
    rig.engine.plan(batches=[])
    rig.stop_at(10)

    elsewhere = stand_by(rig, Lock(rig.clock, free_at_s=0), batches=2)
    rig.run()

    assert (elsewhere.started, rig.engine.started) == ([], ["short", "full"])


def test_a_checkpoint_that_is_free_in_mid_rehearsal_ends_it() -> None:
    rig = Rig()

    elsewhere = stand_by(rig, Lock(rig.clock, free_at_s=7), batches=20)

    assert elsewhere.queries[0].stopped_at_s == pytest.approx(7, abs=0.6)
    assert rig.clock.elapsed_s == pytest.approx(7, abs=0.6)


@pytest.mark.parametrize("stop_s", [3, 30])
def test_a_standby_is_stopped_without_the_checkpoint(stop_s: float, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    rig = Rig()
    rig.stop_at(stop_s)

    stand_by(rig, Lock(rig.clock, free_at_s=END_S), batches=2)
    state = rig.run()

    assert rig.clock.elapsed_s == pytest.approx(stop_s, abs=0.6)
    assert (rig.engine.started, state.phase) == ([], Phase.PHASE_FINISHED)
    assert "standby.takes_over" not in caplog.messages


def test_a_rehearsal_that_fails_leaves_a_standby_that_is_not_warm() -> None:
    rig = Rig()
    elsewhere = FakeEngine(rig.clock)
    elsewhere.plan_refusal(a_failure())

    engine = cast("SparkEngine", elsewhere)
    rig.supervisor.stand_by(Lock(rig.clock, free_at_s=5).acquire, engine, WarmUp(2, WARM_UP_BATCH_S, 60.0))

    assert rig.clock.elapsed_s == pytest.approx(5, abs=0.1)
