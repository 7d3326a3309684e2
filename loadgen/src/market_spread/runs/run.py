"""A run, from its plan to its result: initial quotes, warm-up, measured load, drain, judgement."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psutil

from market_spread.common.clock import Clock
from market_spread.common.errors import DeadlineError, MarketSpreadError, RunFailedError, RunVoidError, UsageError
from market_spread.common.layout import WARM_UP_ORDER_ID_MIN
from market_spread.common.ledger import decode_ledger
from market_spread.common.processes import cpu_us
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle import Oracle
from market_spread.loadgen.verdicts import Judgement
from market_spread.runs.clients import Clients, Partition, sent_ends
from market_spread.runs.ensemble import Addresses, Ensemble
from market_spread.runs.latencies import Batch
from market_spread.runs.machine import stolen_cpu_s
from market_spread.runs.plan import RunPlan, orders_of, quotes_of
from market_spread.v1.control_pb2 import (
    JobStatusResponse,
    Phase,
    ReceiverStatusResponse,
    SenderStatusResponse,
)

_POLL_NS = 250_000_000
_START_TIMEOUT_S = 180
_DRAIN_TIMEOUT_S = 300
_SEND_AHEAD_NS = 500_000_000


@dataclass(frozen=True, slots=True)
class Progress:
    """What a run shows while it lasts. Statuses are None as long as there is none."""

    phase: str
    elapsed_s: float
    sender: SenderStatusResponse | None = None
    receiver: ReceiverStatusResponse | None = None
    job: JobStatusResponse | None = None


@dataclass(slots=True)
class Observed:
    """What a run has brought to light, filled in as it goes; an interrupted run is judged by what is there.

    sent: the measured load; sent_before: messages of the phases before it. job_before, job_after: the job's status when
    the measured load began and ended; job: the newest; job_restarts: of its processes, beside those within them.
    """

    started: datetime
    sent: SenderStatusResponse = field(default_factory=SenderStatusResponse)
    received: ReceiverStatusResponse = field(default_factory=ReceiverStatusResponse)
    job: JobStatusResponse = field(default_factory=JobStatusResponse)
    job_before: JobStatusResponse = field(default_factory=JobStatusResponse)
    job_after: JobStatusResponse = field(default_factory=JobStatusResponse)
    starts_unix_ns: dict[str, int] = field(default_factory=dict)
    sent_before: int = 0
    broker_cpu_us: int = 0
    stolen_share: float = 0.0
    time_to_first_order_s: float | None = None
    ledger: bytes = b""
    alerts: Alerts | None = None
    judgement: Judgement | None = None
    drained: bool = False
    interrupted: bool = False
    error: MarketSpreadError | None = None
    job_restarts: int = 0


class Run:
    """Carries one plan through running processes. Use once."""

    def __init__(
        self,
        plan: RunPlan,
        ensemble: Ensemble,
        *,
        run_id: str,
        clock: Clock,
        show: Callable[[Progress], None],
        interrupted: threading.Event,
        on_started: Callable[[Addresses], None] = lambda addresses: None,
    ) -> None:
        """`show` is called some times a second; `interrupted` ends the measured load early.

        on_started: told where the processes are, as soon as they are all there.
        """
        self._plan = plan
        self._ensemble = ensemble
        self._run_id = run_id
        self._clock = clock
        self._show = show
        self._interrupted = interrupted
        self._on_started = on_started
        self._begun_ns = clock.monotonic_ns()
        self._ends: dict[Partition, int] = {}

    def carry_out(self) -> Observed:
        """The whole run. What goes wrong with it is in the result's `error`; UsageError is raised."""
        observed = Observed(started=datetime.now(UTC))
        self._say("starting")
        addresses = self._ensemble.start()
        self._on_started(addresses)
        clients = Clients(addresses)
        try:
            with self._noting_errors(observed):
                self._prepare(clients, observed)
                self._measure(clients, observed)
                self._drain(clients, observed)
                self._say("judging")
                self._judge(clients, observed)
        finally:
            clients.close()
        return observed

    def _prepare(self, clients: Clients, observed: Observed) -> None:
        """Initial quotes, seen by the job and committed; warm-up in the meantime.

        The quotes are there before the job is, so that the short batches that it begins with commit them; and the
        warm-up's load comes while it works these off, so that what they warm up is what a full batch does.
        """
        clients.start_receiving(self._run_id, WARM_UP_ORDER_ID_MIN)
        self._send("initial", clients, observed, "loading the initial quotes")
        initial_ends = dict(self._ends)
        self._wait_for_job(clients, lambda job: job.batch_id >= 0 or job.phase == Phase.PHASE_RUNNING)
        if self._plan.warm_up is not None:
            self._send("warm_up", clients, observed, "warming up")
        self._wait_for_job(clients, lambda job: job.phase == Phase.PHASE_RUNNING)
        self._wait_until_ready(clients, observed, initial_ends)

    def _measure(self, clients: Clients, observed: Observed) -> None:
        """The measured load, to its end or to the user's."""
        if self._interrupted.is_set():
            observed.interrupted = True
            return
        observed.job_before = clients.job_status()
        broker_before, stolen_before = self._broker_cpu_us(), stolen_cpu_s()
        begun_ns = self._clock.monotonic_ns()
        observed.time_to_first_order_s = (begun_ns + _SEND_AHEAD_NS - self._begun_ns) / 1e9
        self._send("measured", clients, observed, "measuring")
        observed.job_after = observed.job
        observed.interrupted = self._interrupted.is_set()
        elapsed_s = (self._clock.monotonic_ns() - begun_ns) / 1e9
        observed.stolen_share = (stolen_cpu_s() - stolen_before) / (elapsed_s * (psutil.cpu_count() or 1))
        observed.broker_cpu_us = self._broker_cpu_us() - broker_before

    def _drain(self, clients: Clients, observed: Observed) -> None:
        """Everything sent is processed and committed, and every alert received."""
        done = threading.Event()
        problem: list[MarketSpreadError] = []

        def wait() -> None:
            try:
                clients.drain_job(self._ends, _DRAIN_TIMEOUT_S)
                clients.drain_receiver(60)
            except MarketSpreadError as error:
                problem.append(error)
            done.set()

        threading.Thread(target=wait, name="drain", daemon=True).start()
        while not done.wait(_POLL_NS / 1e9):
            self._ensemble.check_alive()
            self._look(clients, observed, "draining")
        self._look(clients, observed, "draining")
        if problem:
            raise problem[0]
        observed.drained = True

    def _judge(self, clients: Clients, observed: Observed) -> None:
        observed.ledger = clients.ledger(self._run_id, "alerts")
        ledger = decode_ledger(observed.ledger)
        alerts = Alerts.from_rows(ledger.alert_rows, ledger.received_us)
        observed.alerts = alerts[alerts.order_id < WARM_UP_ORDER_ID_MIN]
        if "measured" in observed.starts_unix_ns and observed.drained and not observed.interrupted:
            observed.judgement = judge_run(self._plan, observed)

    def _send(self, phase: str, clients: Clients, observed: Observed, say: str) -> None:
        """Offer one load of the plan and wait until the broker has all of it."""
        load = getattr(self._plan, phase)
        observed.starts_unix_ns[phase] = clients.start_sending(
            load,
            run_id=self._run_id,
            linger_us=round(self._plan.workload.linger_ms * 1000),
            frame_messages=self._plan.workload.frame_messages if phase != "initial" else 200,
            start_unix_ns=self._clock.unix_ns() + _SEND_AHEAD_NS,
        )
        stopped = False
        while True:
            self._ensemble.check_alive()
            status = self._look(clients, observed, say)
            if phase == "measured":
                observed.sent = status
            if status.phase == Phase.PHASE_FAILED:
                raise RunVoidError(f"the sender failed: {status.detail}")
            if status.phase == Phase.PHASE_FINISHED:
                break
            if self._interrupted.is_set() and not stopped:
                clients.stop_sending()
                stopped = True
            self._clock.sleep_ns(_POLL_NS)
        for key, end in sent_ends([status]).items():
            self._ends[key] = max(self._ends.get(key, 0), end)
        if phase != "measured":
            observed.sent_before += status.messages_sent

    def _wait_for_job(self, clients: Clients, ready: Callable[[JobStatusResponse], bool]) -> None:
        deadline_ns = self._clock.monotonic_ns() + _START_TIMEOUT_S * 10**9
        while not ready(status := clients.job_status()):
            self._ensemble.check_alive()
            self._show(self._progress("starting", job=status))
            if status.phase == Phase.PHASE_FAILED or self._clock.monotonic_ns() > deadline_ns:
                raise RunFailedError(f"the job did not start: {status.detail}")
            self._clock.sleep_ns(_POLL_NS)

    def _wait_until_ready(self, clients: Clients, observed: Observed, initial_ends: Mapping[Partition, int]) -> None:
        """Until a committed batch covers the initial quotes, each bucket's probe has answered, and no backlog is left.

        The short batches take less than the warm-up sends; measured orders would wait behind what piled up.
        """
        timeout_s = 3 * self._plan.workload.batch_s + _START_TIMEOUT_S
        deadline_ns = self._clock.monotonic_ns() + round(timeout_s * 1e9)
        while not self._interrupted.is_set():
            self._ensemble.check_alive()
            job, receiver = clients.job_status(), clients.receiver_status()
            self._show(self._progress("working off the warm-up", receiver=receiver, job=job))
            committed = {(end.topic, end.partition): end.offset for end in job.committed}
            silent = self._plan.probe_symbols - set(receiver.warm_up_symbols)
            behind = [key for key, end in initial_ends.items() if committed.get(key, 0) < end]
            backlog = observed.sent_before - job.messages_processed
            if not behind and not silent and backlog <= 0:
                return
            if self._clock.monotonic_ns() > deadline_ns:
                if silent:
                    what = f"no alert came for the probes {', '.join(sorted(silent))}"
                elif backlog > 0:
                    what = f"{backlog} messages of the warm-up were not processed"
                else:
                    what = "nothing was committed"
                raise DeadlineError(f"{what} within {timeout_s:.0f} s of the warm-up")
            self._clock.sleep_ns(_POLL_NS)

    def _look(self, clients: Clients, observed: Observed, say: str) -> SenderStatusResponse:
        sender = clients.sender_status()
        observed.received, observed.job = clients.receiver_status(), clients.job_status()
        observed.job_restarts = self._ensemble.job_restarts
        self._show(self._progress(say, sender=sender, receiver=observed.received, job=observed.job))
        return sender

    def _say(self, phase: str) -> None:
        self._show(self._progress(phase))

    def _progress(
        self,
        phase: str,
        *,
        sender: SenderStatusResponse | None = None,
        receiver: ReceiverStatusResponse | None = None,
        job: JobStatusResponse | None = None,
    ) -> Progress:
        elapsed_s = (self._clock.monotonic_ns() - self._begun_ns) / 1e9
        return Progress(phase, elapsed_s, sender, receiver, job)

    def _broker_cpu_us(self) -> int:
        child = self._ensemble.broker.child
        return cpu_us(psutil.Process(child.pid), children=True) if child and child.running else 0

    @contextmanager
    def _noting_errors(self, observed: Observed) -> Iterator[None]:
        """What goes wrong belongs to the result, but for what the user can mend; a process that died is why."""
        try:
            yield
        except UsageError:
            raise
        except MarketSpreadError as error:
            observed.error = error
            try:
                self._ensemble.check_alive()
            except MarketSpreadError as cause:
                observed.error = cause


def judge_run(plan: RunPlan, observed: Observed) -> Judgement:
    """The oracle's judgement: the input is made again from the plan, and the alerts held against it."""
    assert observed.alerts is not None
    repeats = observed.job.restarts + observed.job_restarts > 0 or plan.workload.replicas > 1
    delay_us = 0 if plan.is_fenced else None
    oracle = Oracle(observed.alerts, delay_us=delay_us, duplicates_allowed=repeats)
    phases = [phase for phase in ("initial", "warm_up", "measured") if phase in observed.starts_unix_ns]
    for phase in phases:
        for quotes in quotes_of(getattr(plan, phase).open(observed.starts_unix_ns[phase])):
            oracle.add_quotes(quotes)
    for orders in orders_of(plan.measured.open(observed.starts_unix_ns["measured"])):
        oracle.add_orders(orders)
    return oracle.judgement()


def batches_of(job: JobStatusResponse, batch_s: float) -> list[Batch]:
    """The job's committed batches; one of the warm-up's short ones was planned no longer than it took."""
    planned_ns = round(batch_s * 1e9)
    return [Batch(batch.start_unix_ns, min(planned_ns, batch.duration_ns), batch.duration_ns) for batch in job.batches]


def write_evidence(folder: Path, observed: Observed) -> None:
    """What the result was made from: the last status of each process, as JSON beside it."""
    from google.protobuf.json_format import MessageToDict

    statuses = {"sender": observed.sent, "receiver": observed.received, "job": observed.job}
    evidence = {name: MessageToDict(status) for name, status in statuses.items()}
    (folder / "evidence.json").write_text(json.dumps(evidence, indent=2) + "\n")
