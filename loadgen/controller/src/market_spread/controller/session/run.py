"""A run, from its plan to its result: initial quotes, warm-up, measured load, drain, judgement."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from typing import Any

import psutil

from market_spread.common.clock import Clock, polls
from market_spread.common.errors import DeadlineError, MarketSpreadError, RunVoidError, UsageError
from market_spread.common.job_contract import ALL_DECISIONS
from market_spread.controller.analysis.evidence import WORDS
from market_spread.controller.analysis.observed import LOOKS_MAX, CpuReading, Observed, RunProgress, alerts_of, judge
from market_spread.controller.clients.probe import Watch
from market_spread.controller.clients.services import JOB_STARTS_WITHIN_S, Addresses, Clients, Partition, sent_ends
from market_spread.controller.deploy.base import Environment
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.plan.workload import run_limits
from market_spread.controller.session.fault_schedule import FaultSchedule
from market_spread.v1 import control_pb2 as pb

POLL_S, _DRAIN_TIMEOUT_S = 0.25, 300
_SEND_AHEAD_NS = 500_000_000
_WORKING_OFF = "working off the warm-up"


@dataclass(eq=False)
class Run:
    """Carries one plan through the processes of an environment. Use once.

    `plan` is what is sent; behind what topics hold already, its quotes are numbered on. show: called some times a
    second; interrupted: ends the measured load early; on_started: told where the processes are, as soon as they are all
    there; on_ready: the same, once the job is up, before the warm-up; on_drained: told all that there is to judge,
    before that is done.
    """

    plan: RunPlan
    environment: Environment
    _: KW_ONLY
    run_id: str
    clock: Clock
    show: Callable[[RunProgress], None]
    interrupted: threading.Event
    on_started: Callable[[Addresses], None] = lambda addresses: None
    on_ready: Callable[[Addresses], None] = lambda addresses: None
    on_drained: Callable[[Observed], None] = lambda observed: None

    def __post_init__(self) -> None:
        self._step, self._words = "", WORDS[self.plan.origin["source"]]
        self._begun_ns = self.clock.monotonic_ns()
        self._ends: dict[Partition, int] = {}
        self._watch = Watch(clock=self.clock)
        self._faults = FaultSchedule(self.plan.workload.planned_faults, self.environment, clock=self.clock)
        self._topics: tuple[str, ...] = ()  # that the load goes to, if it is not the market's

    def carry_out(self) -> Observed:
        """The whole run. What goes wrong with it is in the result's `error`; UsageError is raised."""
        observed = Observed(started=datetime.now(UTC), words=self._words)
        self._show("starting")
        addresses = self.environment.start()
        self.on_started(addresses)
        clients = Clients(addresses, outage_s=self.environment.job_outage_s, decisions=self.plan.workload.decisions)
        try:
            self._prepare(clients, observed, addresses)
            self._measure(clients, observed, addresses)
            self._drain(clients, observed)
            self._show("judging")
            self._collect(clients, observed)
            self.on_drained(observed)
            self._judge(observed)
        except UsageError:
            raise
        except MarketSpreadError as error:
            self._note(error, observed)
            self._salvage(clients, observed)
        except KeyboardInterrupt:
            if not self.environment.is_new:  # its sender lives on
                with suppress(MarketSpreadError):
                    clients.stop_sending()
            raise
        finally:
            clients.close()  # ends the calls of those that watch
            self._watch.close()
        return observed

    def _prepare(self, clients: Clients, observed: Observed, addresses: Addresses) -> None:
        """Initial quotes, seen by the job and committed; warm-up in the meantime.

        The quotes are there before the job is, so that the short batches that it begins with commit them; and the
        warm-up's load comes while it works these off, so that what they warm up is what a full batch does.
        """
        if self.environment.is_new:
            clients.start_receiving(self.run_id)
        else:
            self._begin_behind(clients, observed)
        self._send("initial", clients, observed, "loading the initial quotes")
        initial_ends = dict(self._ends)
        clients.wait_for_job(self._starting, or_first_batch=True)
        self.on_ready(addresses)
        if self.plan.warm_up is not None:
            self._send("warm_up", clients, observed, "warming up")
        clients.wait_for_job(self._starting)
        self._wait_until_ready(clients, observed, initial_ends)

    def _begin_behind(self, clients: Clients, observed: Observed) -> None:
        """Begin where others have run before: nothing of theirs is in the way of this run, nor counted in it.

        The receiver begins behind what the topics hold, and quotes are numbered on: else the job would hold them for
        old ones.
        """
        sources = dict.fromkeys((clients.topics.nbbo, clients.topics.orders), self.plan.workload.market.partitions)
        held = self._end_others(clients, observed, sources)
        self.plan = self.plan.behind(held.newest_sequence)
        outputs = [end for end in held.ends if end.topic not in sources]
        clients.start_receiving(self.run_id, outputs)

    def _end_others(
        self, clients: Clients, observed: Observed, sources: Mapping[str, int], topics: Sequence[str] = ()
    ) -> pb.DescribeTopicsResponse:
        """What the topics hold once the job has finished what its sources do, so that no output of it comes later.

        sources: with their partitions. The job's counts are taken from here. UsageError if another run is going on, or
        a source has other partitions.
        """
        other = clients.sender_status()
        if other.phase in (pb.Phase.PHASE_RUNNING, pb.Phase.PHASE_DRAINING):
            raise UsageError(f"run {other.run_id} is going on here; wait for its end, and then start this one again")
        clients.stop_receiving()
        # A pipeline that is new does short batches until there was something to warm up with.
        clients.wait_for_job(self._starting, or_first_batch=bool(topics))
        held = clients.describe_topics(topics)
        for topic, wanted in sources.items():
            if (partitions := sum(end.topic == topic for end in held.ends)) != wanted:
                raise UsageError(
                    f"the topic {topic} has {partitions} partitions and the workload {wanted}; "
                    "change partitions of the workload, or make the topics anew"
                )
        inputs = {(end.topic, end.partition): end.offset for end in held.ends if end.topic in sources}
        if any(inputs.values()):
            say = "waiting for what the topics hold"
            self._look_on_while(lambda: clients.drain_job(inputs, _DRAIN_TIMEOUT_S), clients, observed, say)
            held = clients.describe_topics(topics)  # what was in them may have led to outputs
        job = clients.job_status()
        observed.sent_before, observed.restarts_before = job.messages_committed, job.restarts
        return held

    def _measure(self, clients: Clients, observed: Observed, addresses: Addresses) -> None:
        """The measured load, to its end or to the user's."""
        if self.interrupted.is_set():
            observed.interrupted = True
            return
        stolen_before_s = self.environment.stolen_cpu_s()
        observed.round_trips["before"] = clients.take_round_trips()
        begun_ns = self.clock.monotonic_ns()
        observed.time_to_first_order_s = (begun_ns + _SEND_AHEAD_NS - self._begun_ns) / 1e9
        self._watch.start({"sender": addresses.sender, "receiver": addresses.receiver}, addresses.identity)
        try:
            self._send("measured", clients, observed, "measuring")
        finally:  # also if the job dies: what the machine did until then is known
            self._faults.close()
            observed.faults = self._faults.events
            observed.measured_until_unix_ns = self.clock.unix_ns()
        observed.round_trips["during"] = clients.take_round_trips()
        observed.interrupted = self.interrupted.is_set()
        elapsed_s = (self.clock.monotonic_ns() - begun_ns) / 1e9
        stolen_s = self.environment.stolen_cpu_s()
        if stolen_s is not None and stolen_before_s is not None:
            observed.stolen_share = (stolen_s - stolen_before_s) / (elapsed_s * (psutil.cpu_count() or 1))

    def _drain(self, clients: Clients, observed: Observed) -> None:
        """Everything sent is processed and committed, and every alert received."""

        def drain() -> None:
            clients.drain_job(self._ends, _DRAIN_TIMEOUT_S)
            clients.drain_receiver(60)

        self._watch.ask_broker(lambda: clients.describe_topics(self._topics))
        self._look_on_while(drain, clients, observed, "draining")
        observed.round_trips["after"] = clients.take_round_trips()
        observed.drained = True

    def _look_on_while(self, work: Callable[[], None], clients: Clients, observed: Observed, say: str) -> None:
        """Do the work, which blocks, on another thread, and show what goes on until it ends; its error is raised."""
        pool = ThreadPoolExecutor(1)
        working = pool.submit(work)
        pool.shutdown(wait=False)  # it ends with its calls, at the latest when the clients are closed
        while wait([working], POLL_S).not_done:
            self.environment.check_alive()
            self._look(clients, observed, say)
        self._look(clients, observed, say)
        working.result()

    def _salvage(self, clients: Clients, observed: Observed) -> None:
        """What came before it went wrong, as far as it is to be had: what is wrong in it is so whatever happened."""
        observed.silences = self._watch.silences()
        if "measured" in observed.starts_unix_ns:
            with suppress(MarketSpreadError):
                observed.received = clients.receiver_status()
                self._collect(clients, observed)
                self._judge(observed)

    def _collect(self, clients: Clients, observed: Observed) -> None:
        observed.silences = self._watch.silences()
        observed.ledger = clients.ledger(self.run_id, "alerts")
        observed.alerts = alerts_of(observed.ledger)
        if self.plan.workload.decisions == ALL_DECISIONS:
            observed.decisions_ledger = clients.ledger(self.run_id, "decisions")

    def _judge(self, observed: Observed) -> None:
        judge(self.plan, observed)

    def _send(self, phase: str, clients: Clients, observed: Observed, say: str) -> None:
        """Offer one load of the plan and wait until the broker has all of it."""
        load = getattr(self.plan, phase)
        request = pb.StartSendingRequest(
            run_id=self.run_id,
            linger_us=round(self.plan.workload.frames.linger_ms * 1000),
            frame_messages=self.plan.workload.frames.messages if phase != "initial" else 200,
            start_unix_ns=self.clock.unix_ns() + _SEND_AHEAD_NS,
            limits=run_limits(self.plan.workload),
            topics=self._topics,
        )
        observed.starts_unix_ns[phase] = clients.start_sending(load, request)
        if phase == "measured":
            self._faults.start(observed.starts_unix_ns[phase])
        stopped = False
        while True:
            self.environment.check_alive()
            status = self._look(clients, observed, say)
            if phase == "measured":
                observed.sent = status
                self._look_at_cpu(observed)
            if status.phase == pb.Phase.PHASE_FAILED:
                raise RunVoidError(f"the sender failed: {status.detail}")
            if status.phase == pb.Phase.PHASE_FINISHED:
                break
            if self.interrupted.is_set() and not stopped:
                clients.stop_sending()
                stopped = True
            self.clock.sleep_ns(round(POLL_S * 1e9))
        for key, end in sent_ends([status]).items():
            self._ends[key] = max(self._ends.get(key, 0), end)
        if phase != "measured":
            observed.sent_before += status.messages_sent

    def _look_at_cpu(self, observed: Observed) -> None:
        """Keep what was used by the newest count of the job, if that is of the judged part of the load.

        It is a poll old at most, so that what others have used now goes with it.
        """
        job, start_ns = observed.job, observed.starts_unix_ns["measured"]
        from_ns = start_ns + round(self.plan.workload.warm_up.settle_s * 1e9)
        to_ns = start_ns + round(self.plan.duration_s * 1e9)
        due_ns = observed.looks[-1].unix_ns + max((to_ns - from_ns) // LOOKS_MAX, 1) if observed.looks else from_ns
        if due_ns <= job.counted_unix_ns <= to_ns:
            look = CpuReading(
                unix_ns=job.counted_unix_ns, messages_processed=job.messages_processed,
                messages_sent=observed.sent.messages_sent, job_cpu_us=job.counted_cpu_us,
                executors_cpu_us=self.environment.executors_cpu_us(), broker_cpu_us=self.environment.broker_cpu_us(),
                restarts=observed.restarts,
            )  # fmt: skip
            observed.looks = (*observed.looks, look)

    def _starting(self, job: pb.JobStatusResponse) -> None:
        self.environment.check_alive()
        self._show("starting", job=job)

    def _wait_until_ready(self, clients: Clients, observed: Observed, initial_ends: Mapping[Partition, int]) -> None:
        """Until a committed batch covers the initial quotes, each bucket's probe has answered, and no backlog is left.

        The short batches take less than the warm-up sends; measured orders would wait behind what piled up.
        """
        timeout_s = 3 * self.plan.workload.job.batch_s + JOB_STARTS_WITHIN_S
        # A drain ends a long batch, for which a replay would wait: its short ones were over before its quotes came.
        self._look_on_while(lambda: clients.drain_job(initial_ends, timeout_s), clients, observed, _WORKING_OFF)
        for _ in polls(self.clock, timeout_s, every_s=POLL_S):
            if self.interrupted.is_set():
                return
            self.environment.check_alive()
            job, receiver = clients.job_status(), receiving(clients.receiver_status())
            self._show(_WORKING_OFF, receiver=receiver, job=job)
            if silent := self.plan.probe_symbols - set(receiver.warm_up_symbols):
                what = f"no alert came for the probes {', '.join(sorted(silent))}"
            elif (backlog := observed.sent_before - job.messages_processed) > 0 and not self._is_committed(job):
                what = f"{backlog} messages of the warm-up were not processed"
            else:
                return
        raise DeadlineError(f"{what} within {timeout_s:.0f} s of the warm-up")

    def _is_committed(self, job: pb.JobStatusResponse) -> bool:
        """Whether it has committed all that was sent: what it did just before it was killed, nobody has counted."""
        ends = {(it.topic, it.partition): it.offset for it in job.committed}
        return all(ends.get(partition, 0) >= end for partition, end in self._ends.items())

    def _look(self, clients: Clients, observed: Observed, say: str) -> pb.SenderStatusResponse:
        sender = clients.sender_status()
        self._watch.acknowledged(sender.frames_sent, sum(sent.frames_acknowledged for sent in sender.partitions))
        observed.received, observed.job = receiving(clients.receiver_status()), clients.job_status()
        observed.job_restarts = self.environment.job_restarts
        self._show(say, sender=sender, receiver=observed.received, job=observed.job, sent_before=observed.sent_before)
        return sender

    def _show(self, phase: str, **known: Any) -> None:
        """Enter the phase, and show it with what is known besides: fields of `RunProgress`."""
        self._step = phase
        known |= {"words": self._words, "faults": tuple(self._faults.begun)}
        self.show(RunProgress(phase, (self.clock.monotonic_ns() - self._begun_ns) / 1e9, **known))

    def _note(self, error: MarketSpreadError, observed: Observed) -> None:
        """Note what went wrong, and when; a process that died is why."""
        observed.error, observed.failed_step, observed.failed_unix_ns = error, self._step, self.clock.unix_ns()
        try:
            self.environment.check_alive()
        except MarketSpreadError as cause:
            # A job that has died may have died of what spoiled the run.
            if isinstance(cause, RunVoidError) or not isinstance(error, RunVoidError):
                observed.error = cause


def receiving(status: pb.ReceiverStatusResponse) -> pb.ReceiverStatusResponse:
    """The status of a receiver that receives. RunVoidError if it has given up, though its process lives on."""
    if status.phase == pb.Phase.PHASE_FAILED:
        raise RunVoidError(f"the receiver failed: {status.detail}")
    return status
