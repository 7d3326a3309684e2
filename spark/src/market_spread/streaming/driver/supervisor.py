"""Keeps the query running: waits for slots, starts it, follows its progress, restarts it when it fails."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from market_spread.common.clock import Clock, polls
from market_spread.common.errors import DeadlineError, MarketSpreadError, RunFailedError, UsageError, WrongStateError
from market_spread.common.logs import log_event
from market_spread.streaming.driver.engine import SparkEngine
from market_spread.streaming.driver.progress import Partition, QueryProgress, new_commits
from market_spread.streaming.driver.replica_schedule import ReplicaSchedule
from market_spread.streaming.modes.support import sentence_of
from market_spread.v1.control_pb2 import Phase

_log = logging.getLogger(__name__)

# Each poll takes the driver and its JVM a millisecond or two of CPU.
_POLL_NS = 250_000_000
_ASK_AGAIN_NS = 3_000_000_000  # a commit takes less
_STANDBY_POLL_NS, _LIVE_INTERVAL_NS = 50_000_000, 1_000_000_000
_BACKOFF_S = (1.0, 2.0, 5.0)
# What Spark may raise; an OSError means that the JVM has ended.
_SPARK_ERRORS = (PySparkException, Py4JError, OSError)


@dataclass(frozen=True, slots=True)
class JobState:
    """What the supervisor does, and the query's progress. A new value at every change."""

    phase: "Phase.ValueType" = Phase.PHASE_STARTING
    detail: str = "starting"
    restarts: int = 0
    progress: QueryProgress = field(default_factory=QueryProgress)


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How many short batches a new checkpoint begins with, how short, and how long they may take together."""

    batches: int
    batch_s: float
    timeout_s: float


@dataclass(eq=False)
class Supervisor:
    """Runs the query until `stop`, or until it has failed too often; `state` is the newest.

    `run` blocks; everything else may be called from any thread. slots_may_grow: whether more may appear later; cpu_us:
    CPU time that the job's processes have used, microseconds; read at each new count of messages.
    """

    engine: SparkEngine
    _: KW_ONLY
    slots_needed: int
    slots_may_grow: bool
    slots_timeout_s: float
    restarts_max: int
    warm_up: WarmUp
    schedule: ReplicaSchedule
    clock: Clock
    on_change: Callable[[JobState], None]
    cpu_us: Callable[[], int]
    state: JobState = field(default_factory=JobState, init=False)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._drains: list[Mapping[Partition, int]] = []
        self._read = 0  # records, by the running batch
        self._stop_by_ns: int | None = None

    def stop(self, wait_s: float) -> None:
        """Make `run` return after the running batch has committed, or after the time if that is sooner."""
        with self._changed:
            self._stop_by_ns = self.clock.monotonic_ns() + round(wait_s * 1e9)

    def drain(self, until: Mapping[Partition, int], timeout_s: float) -> Mapping[Partition, int]:
        """Wait until all below the offsets, and what follows from it, is committed; returns the committed offsets.

        A batch that has read all of it is ended for that before its time, where it can be.
        DeadlineError after the time; RunFailedError or WrongStateError if the job ends before.
        """

        def reached() -> bool:
            done = self.state.progress
            return not done.is_followed and all(done.offsets.get(key, 0) >= end for key, end in until.items())

        ended = (Phase.PHASE_FAILED, Phase.PHASE_FINISHED)
        with self._changed:
            self._drains.append(until)
            self._changed.wait_for(lambda: reached() or self.state.phase in ended, timeout_s)
            self._drains.remove(until)
            state = self.state
            if reached():
                return state.progress.offsets
        if state.phase == Phase.PHASE_FAILED:
            raise RunFailedError(f"the job failed before it was drained; {state.detail}")
        if state.phase == Phase.PHASE_FINISHED:
            raise WrongStateError("the job was stopped before it was drained; start it again, and it continues")
        raise DeadlineError(f"the job did not commit everything within {timeout_s:.0f} s")

    def stand_by(self, is_ours: Callable[[], bool], rehearsal: SparkEngine, warm_up: WarmUp) -> None:
        """Return once the checkpoint is ours, or after `stop`.

        As long as another driver has it, the query runs in short batches elsewhere, and then nothing runs: what is then
        to be done at once has been done before, planned and compiled.
        """
        if is_ours():
            return

        def end_if_due(_state: JobState) -> None:
            if self._stop_by_ns is not None or is_ours():
                rehearsing.stop(0)

        self._change(phase=Phase.PHASE_IDLE, detail="rehearsing")
        rehearsing = replace(self, engine=rehearsal, warm_up=warm_up, on_change=end_if_due)
        try:
            for batches in (warm_up.batches // 2, warm_up.batches):  # the second time from a checkpoint, as later
                rehearsing.warm_up = replace(warm_up, batches=batches)
                rehearsing._warm_the_query_up()
            self.engine.prepare()
        except (*_SPARK_ERRORS, RunFailedError) as error:
            log_event(_log, "standby.not_warm", logging.WARNING, reason=sentence_of(error))
        self._change(phase=Phase.PHASE_IDLE, detail="")
        while self._stop_by_ns is None and not is_ours():
            self.clock.sleep_ns(_STANDBY_POLL_NS)
        if self._stop_by_ns is not None:
            return
        self.warm_up = replace(self.warm_up, batches=0)  # there is a backlog
        self._change(phase=Phase.PHASE_STARTING, detail="taking over")
        log_event(_log, "standby.takes_over")

    def run(self) -> None:
        """Keep the query running until `stop`.

        RunFailedError after too many failures in a row or when the JVM is gone, DeadlineError if slots are missing for
        too long.
        """
        failures = 0
        while True:
            committed_before = self.state.progress.batch_id
            try:
                self._wait_for_slots()
                self._warm_the_query_up()
                if self._stop_by_ns is not None:
                    break
                self._change(phase=Phase.PHASE_STARTING, detail="starting the query")
                batch_s = self.schedule.next_batch_s(self.clock.unix_ns())
                query = self.engine.start_query(batch_s)
                if not self._follow(query, realigns=batch_s != self.schedule.batch_s):
                    break
            except (UsageError, DeadlineError) as error:
                self._change(phase=Phase.PHASE_FAILED, detail=str(error))
                raise
            except OSError as error:  # a new JVM takes a new process
                raise self._failed(f"the job's JVM ended: {error}") from error
            except (*_SPARK_ERRORS, MarketSpreadError) as error:
                failures = 1 if self.state.progress.batch_id > committed_before else failures + 1
                self._after_failure(failures, sentence_of(error))
        self._change(phase=Phase.PHASE_FINISHED, detail="")

    def _wait_for_slots(self) -> None:
        """Wait for executors that are still starting: Real-Time Mode fails at once if a slot is missing."""
        for _ in polls(self.clock, self.slots_timeout_s, every_s=_POLL_NS / 1e9):
            if (slots := self.engine.slots()) >= self.slots_needed or self._stop_by_ns is not None:
                return
            missing = f"the job has {slots} of {self.slots_needed} slots"
            if not self.slots_may_grow:
                raise UsageError(f"{missing}; give the job {self.slots_needed} cores, or fewer partitions")
            self._change(detail=f"waiting for executors: {missing}")
        raise DeadlineError(f"{missing} after {self.slots_timeout_s:.0f} s; are the executors running?")

    def _warm_the_query_up(self) -> None:
        """Run the checkpoint's first batches as short ones.

        Planning and committing run once per batch: with only long batches they would stay interpreted for long, and the
        pause between two batches would be longer (docs/adr/0006). A checkpoint that has these batches is not warmed up
        again: it has a backlog to process.
        """
        if not self._batches_to_warm_up() or self._stop_by_ns is not None:
            return
        deadline_ns = self.clock.monotonic_ns() + round(self.warm_up.timeout_s * 1e9)
        query = self.engine.start_query(self.warm_up.batch_s)
        try:
            while query.isActive:
                self._note_commits(query)
                left = self._batches_to_warm_up()
                if not left or self._stop_by_ns is not None or self.clock.monotonic_ns() >= deadline_ns:
                    return
                self._change(detail=f"warming up: {self.warm_up.batches - left} of {self.warm_up.batches} batches")
                self.clock.sleep_ns(_POLL_NS)
            raise query.exception() or RunFailedError("the query ended by itself")
        finally:
            self._end(query)

    def _batches_to_warm_up(self) -> int:
        return max(0, self.warm_up.batches - 1 - self.state.progress.batch_id)

    def _follow(self, query: StreamingQuery, *, realigns: bool) -> bool:
        """Follow the query until it must stop (False) or restart to keep its schedule (True): when it has drifted, or
        after the batch that realigns it. Raises whatever else ended the query.
        """
        self._change(phase=Phase.PHASE_RUNNING, detail="")
        batch_before = self.state.progress.batch_id
        first_batch_after_stop: int | None = None
        live_at_ns = self._read = 0
        end_asked_ns: int | None = None
        try:
            while query.isActive:
                self._note_commits(query)
                if self.clock.monotonic_ns() >= live_at_ns:
                    live_at_ns = self.clock.monotonic_ns() + self._read_live_counts()
                has_ended = self.state.progress.batch_id > batch_before
                batch_before = self.state.progress.batch_id
                if has_ended and end_asked_ns is not None:
                    self.engine.keep_time()
                    end_asked_ns = None
                if has_ended and (realigns or self.schedule.has_drifted(self.clock.unix_ns())):
                    return True
                if self._stop_by_ns is not None:
                    if first_batch_after_stop is None:
                        self._change(phase=Phase.PHASE_DRAINING, detail="waiting for the running batch")
                        first_batch_after_stop = self.state.progress.batch_id
                    committed = self.state.progress.batch_id > first_batch_after_stop
                    if committed or self.clock.monotonic_ns() >= self._stop_by_ns:
                        return False
                # A batch that was still being planned took its deadline from the clock that was set ahead.
                may_ask = end_asked_ns is None or self.clock.monotonic_ns() - end_asked_ns >= _ASK_AGAIN_NS
                if may_ask and (self._stop_by_ns is not None or self._is_awaited()) and self.engine.end_batch():
                    end_asked_ns = self.clock.monotonic_ns()
                self.clock.sleep_ns(_POLL_NS)
            self._note_commits(query)
            raise query.exception() or RunFailedError("the query ended by itself")
        finally:
            self._end(query)

    def _is_awaited(self) -> bool:
        """Whether the running batch has read all that a drain waits for."""
        offsets = self.state.progress.offsets
        with self._changed:
            drains = list(self._drains)
        left = (sum(max(0, end - offsets.get(key, 0)) for key, end in until.items()) for until in drains)
        return any(0 < records <= self._read for records in left)

    def _read_live_counts(self) -> int:
        """Note what the running batch has done; returns after how many nanoseconds to read again.

        Counts arrive once a second. After new ones, the next are read at every poll from shortly before they are due,
        so the time of their arrival is known to a quarter of a second.
        """
        counted = self.state.progress.messages_live
        live = self.engine.live_counts()
        self._read = live[0]
        self._change(progress=self.state.progress.with_live(*live))
        if not any(live):
            return _LIVE_INTERVAL_NS
        return 0 if self.state.progress.messages_live == counted else _LIVE_INTERVAL_NS * 3 // 4

    def _end(self, query: StreamingQuery) -> None:
        """Stop the query. One that hangs, because its broker is gone, ends with the process if that ends anyway."""
        try:
            query.stop()
        except _SPARK_ERRORS as error:
            if self._stop_by_ns is None:
                raise
            log_event(_log, "query.not_stopped", logging.WARNING, reason=sentence_of(error))

    def _note_commits(self, query: StreamingQuery) -> None:
        after = self.state.progress.batch_id
        if self.engine.newest_batch(query) <= after:
            return
        newest = query.lastProgress
        # Spark keeps the last 100 batches, and reading each costs milliseconds: only after a gap are all read.
        recent = [newest] if newest and newest.batchId == after + 1 else query.recentProgress
        for commit in new_commits(recent, after_batch=after, late_s=self.engine.late_s()):
            self._change(progress=self.state.progress.after_commit(commit))
            self._read = 0
            log_event(_log, "batch.committed", batch_id=commit.batch_id, messages=commit.messages, late=commit.late)

    def _after_failure(self, failures: int, reason: str) -> None:
        log_event(_log, "query.failed", logging.ERROR, failures=failures, reason=reason)
        if failures > self.restarts_max:
            raise self._failed(f"the query failed {failures} times in a row; the last time: {reason}")
        self._change(phase=Phase.PHASE_STARTING, detail=f"restarting after: {reason}", restarts=self.state.restarts + 1)
        self.clock.sleep_ns(round(_BACKOFF_S[min(failures, len(_BACKOFF_S)) - 1] * 1e9))

    def _failed(self, detail: str) -> RunFailedError:
        self._change(phase=Phase.PHASE_FAILED, detail=detail)
        return RunFailedError(detail)

    def _change(self, **changes: object) -> None:
        counted = self.state.progress.messages_live
        with self._changed:
            self.state = replace(self.state, **changes)  # type: ignore[arg-type]
            progress = self.state.progress
            if progress.messages_live != counted:
                progress = replace(progress, counted_unix_ns=self.clock.unix_ns(), counted_cpu_us=self.cpu_us())
                self.state = replace(self.state, progress=progress)
            self._changed.notify_all()
        self.on_change(self.state)
