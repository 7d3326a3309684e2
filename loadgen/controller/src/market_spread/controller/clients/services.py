"""Calls to the processes of a run, each with a deadline, each error as one of ours."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeVar, cast

import grpc
from google.protobuf.message import Message

from market_spread.common.clock import Clock, SystemClock, polls
from market_spread.common.errors import MarketSpreadError, RunFailedError, RunVoidError, UsageError
from market_spread.common.grpc.calls import DEADLINE_S, channel_to, partition_offsets
from market_spread.common.grpc.identity import OPEN, Identity
from market_spread.common.job_contract import ALL_DECISIONS, MODES, REJECTED_DECISIONS, TOPICS, Topics
from market_spread.common.kafka.security import PLAINTEXT, KafkaSecurity
from market_spread.common.wire.layout import WARM_UP_ORDER_ID_MIN
from market_spread.controller.clients.together import JobHistory, merged_replicas, merged_senders, with_standby
from market_spread.controller.plan.plan import PlannedLoad
from market_spread.v1 import control_pb2 as pb
from market_spread.v1.control_pb2_grpc import JobStub, ReceiverStub, SenderStub


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """A call by the caller's clock, when it was sent and answered, and what the other's clock told. Unix ns."""

    sent_unix_ns: int
    told_unix_ns: int
    received_unix_ns: int

    @property
    def bound_ns(self) -> int:
        """How wrong `offset_ns` can be at most, however the way out and the way back share the time."""
        return -(-(self.received_unix_ns - self.sent_unix_ns) // 2)

    @property
    def offset_ns(self) -> int:
        """How far the other clock is ahead, if the way out takes as long as the way back."""
        return (2 * self.told_unix_ns - self.sent_unix_ns - self.received_unix_ns) // 2


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the running processes are reached.

    replicas: the job's replicas besides the first, or its standby; more_senders: the senders besides the first; topics:
    those of the job, of a system's `invalid` alone; security: how the broker is spoken to; identity: ours.
    """

    bootstrap_servers: str
    sender: str
    receiver: str
    job: str
    aggregator: str
    aggregator_http: str
    replicas: tuple[str, ...] = ()
    more_senders: tuple[str, ...] = ()
    is_standby: bool = False
    topics: Topics = TOPICS
    security: KafkaSecurity = PLAINTEXT
    identity: Identity = OPEN


_POLL_S, JOB_STARTS_WITHIN_S = 0.1, 180
_RETRY_NS = 1_000_000_000
# A process that stands still is judged by how long it did; one that dies, and cancels its calls, is noticed elsewhere.
_PATIENCE_NS = 60_000_000_000
_UNANSWERED = (grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE)

Partition = tuple[str, int]
Answer = TypeVar("Answer", bound=Message)
Status = TypeVar("Status", pb.JobStatusResponse, pb.SenderStatusResponse, pb.ReceiverStatusResponse)


class _SilentJobError(RunFailedError):
    """The job did not answer, or not in time."""


class _SilentError(RunVoidError):
    """A process of the rig did not answer, or not in time."""


def describe_job(address: str) -> pb.DescribeJobResponse:
    """The settings that a job runs with. RunFailedError if it does not answer."""
    with channel_to(address) as channel:
        return _call("job", JobStub(channel).Describe, pb.DescribeJobRequest())


class JobClient:
    """The control side of a job, or of several replicas of it. `close` it."""

    def __init__(
        self, *addresses: str, outage_s: float = 0.0, has_standby: bool = False, clock: Clock | None = None,
        identity: Identity = OPEN,
    ) -> None:  # fmt: skip
        """has_standby: of two drivers one has the checkpoint, and the other one may be the next.

        outage_s: how long the job may not answer, as its driver is started again; it is seen as starting then.

        Every status is a round trip: the best of each process since `take_round_trips` are kept.
        """
        self._round_trips: dict[str, RoundTrip] = {}
        self._last: dict[str, tuple[int, Any]] = {}
        self._outage_ns = round(outage_s * 1e9)
        self._has_standby = has_standby
        self._newest: pb.JobStatusResponse | None = None
        self._clock = clock or SystemClock()
        self._answered_ns = self._clock.monotonic_ns()
        self._history = JobHistory()
        self._channels = [channel_to(address, identity) for address in addresses]
        self._jobs = [JobStub(channel) for channel in self._channels]

    def job_status(self) -> pb.JobStatusResponse:
        """What the job has done; of replicas, those that answer, as one."""
        statuses: list[pb.JobStatusResponse] = []
        silent: list[RunFailedError] = []
        for number, job in enumerate(self._jobs):
            try:
                statuses.append(self._status(_numbered("job", number), job.Status, pb.JobStatusRequest()))
            except RunFailedError as error:
                silent.append(error)
        if (together := self._as_one(statuses, len(silent))) is not None:
            self._answered_ns = self._clock.monotonic_ns()
            self._newest = together
            return together
        reason = silent[0] if silent else _SilentJobError("the job has no driver that has its checkpoint")
        may_be_silent_ns = max(self._outage_ns, _PATIENCE_NS if isinstance(reason, _SilentJobError) else 0)
        if self._clock.monotonic_ns() - self._answered_ns >= may_be_silent_ns:
            raise reason
        absent = deepcopy(self._newest or pb.JobStatusResponse(batch_id=-1))
        absent.phase, absent.detail = pb.Phase.PHASE_STARTING, str(reason)
        return absent

    def wait_for_job(self, look: Callable[[pb.JobStatusResponse], object], *, or_first_batch: bool = False) -> None:
        """Until it runs, or has at least done a batch. RunFailedError if it does not. look: told each other status."""
        for _ in polls(self._clock, JOB_STARTS_WITHIN_S, every_s=_POLL_S):
            status = self.job_status()
            if status.phase == pb.Phase.PHASE_RUNNING or (or_first_batch and status.batch_id >= 0):
                return
            look(status)
            if status.phase == pb.Phase.PHASE_FAILED:
                break
        raise RunFailedError(f"the job did not start: {status.detail}")

    def _as_one(self, statuses: list[pb.JobStatusResponse], silent: int) -> pb.JobStatusResponse | None:
        """All who answer as one; None if no one does that works, or could."""
        if self._has_standby:
            return with_standby(statuses, self._history, silent)
        if not statuses:
            return None
        together = merged_replicas(statuses, silent=silent)
        # Another system's count is of what it has committed, whoever has done it.
        has_history = self._outage_ns > 0 and len(self._jobs) == 1 and together.mode in MODES
        return self._history.continued(together) if has_history else together

    def take_round_trips(self) -> dict[str, RoundTrip]:
        """The quickest round trip to each process since the last call."""
        taken, self._round_trips = self._round_trips, {}
        return taken

    def _status(self, process: str, method: Callable[..., Status], request: Message) -> Status:
        sent_unix_ns, sent_ns = self._clock.unix_ns(), self._clock.monotonic_ns()
        status = _call(process.partition("-")[0], method, request)
        took_ns = self._clock.monotonic_ns() - sent_ns
        best = self._round_trips.get(process)
        if best is None or took_ns < best.received_unix_ns - best.sent_unix_ns:
            self._round_trips[process] = RoundTrip(sent_unix_ns, status.unix_ns, sent_unix_ns + took_ns)
        return status

    def _status_or_last(self, process: str, method: Callable[..., Status], request: Message) -> Status:
        """The process's status; while it does not answer, for some time, its last one."""
        try:
            status = self._status(process, method, request)
            self._last[process] = (self._clock.monotonic_ns(), status)
        except _SilentError:
            if process not in self._last or self._clock.monotonic_ns() - self._last[process][0] > _PATIENCE_NS:
                raise
        return cast(Status, self._last[process][1])

    def drain_job(self, until: Mapping[Partition, int], timeout_s: float) -> None:
        """Wait until the job, or the first of its replicas, has committed everything below the offsets.

        A job that does not answer is asked again for as long as its status may be silent, whether it stands still or
        is being started again; who watches over its process says if it has died.
        """
        deadline_ns = self._clock.monotonic_ns() + round(timeout_s * 1e9)
        while True:
            try:
                left_ns = deadline_ns - self._clock.monotonic_ns()
                return self._drain_job(until, max(left_ns / 1e9, DEADLINE_S))
            except RunFailedError as error:
                may_return = self._outage_ns or isinstance(error, _SilentJobError)
                if not may_return or self._clock.monotonic_ns() > deadline_ns:
                    raise
                self.job_status()
                self._clock.sleep_ns(_RETRY_NS)

    def _drain_job(self, until: Mapping[Partition, int], timeout_s: float) -> None:
        request = pb.DrainJobRequest(until=partition_offsets(until))
        pool = ThreadPoolExecutor(len(self._jobs))
        drains = [pool.submit(_call, "job", job.Drain, request, timeout_s) for job in self._jobs]
        pool.shutdown(wait=False)
        failures = []
        for drain in as_completed(drains):
            if (failure := drain.exception()) is None:
                return
            failures.append(failure)
        raise failures[0]

    def close(self) -> None:
        for channel in self._channels:
            channel.close()


class Clients(JobClient):
    """The control side of all of a run: senders, receiver and job. `close` it."""

    def __init__(self, addresses: Addresses, *, outage_s: float = 0.0, decisions: str = REJECTED_DECISIONS) -> None:
        """outage_s: see `JobClient`; decisions: which ones the job sends."""
        jobs, shown = (addresses.job, *addresses.replicas), addresses.identity
        super().__init__(*jobs, outage_s=outage_s, has_standby=addresses.is_standby, identity=shown)
        senders = [channel_to(address, shown) for address in (addresses.sender, *addresses.more_senders)]
        receiver = channel_to(addresses.receiver, shown)
        self._channels += [*senders, receiver]
        self._senders = [SenderStub(sender) for sender in senders]
        self._receiver = ReceiverStub(receiver)
        self.topics = addresses.topics
        self._receiving: pb.StartReceivingRequest | None = None
        self._decisions_topic = self.topics.decisions if decisions == ALL_DECISIONS else ""

    def start_sending(self, load: PlannedLoad, request: pb.StartSendingRequest) -> int:
        """Begin a load, of several senders each its slice; returns its start, Unix nanoseconds.

        request: all but the load; it has the topics of a load of records, which names its own.
        """
        requests = [
            pb.StartSendingRequest(source=part.source, parameters_json=part.parameters_json)
            for part in load.slices(len(self._senders))
        ]
        for each in requests:
            each.MergeFrom(request)
            if not request.topics:
                each.nbbo_topic, each.orders_topic = self.topics.nbbo, self.topics.orders
        methods = [sender.Start for sender in self._senders]
        with ThreadPoolExecutor(len(requests)) as pool:
            first, *_ = pool.map(_call, repeat("sender"), methods, requests, repeat(60))
        return int(first.start_unix_ns)

    def sender_status(self) -> pb.SenderStatusResponse:
        """What has been sent; by several senders together."""
        statuses = [
            self._status_or_last(_numbered("sender", number), sender.Status, pb.SenderStatusRequest())
            for number, sender in enumerate(self._senders)
        ]
        return merged_senders(statuses)

    def stop_sending(self) -> None:
        """End the running load early."""
        for sender in self._senders:
            _call("sender", sender.Stop, pb.StopSendingRequest(), 30)

    def describe_topics(self, topics: Sequence[str] = ()) -> pb.DescribeTopicsResponse:
        """What the topics hold; those of the market unless others are named."""
        its, request = self.topics, pb.DescribeTopicsRequest(topics=topics)
        if not topics:
            ours = [its.nbbo, its.orders, its.alerts, its.invalid, self._decisions_topic]
            request = pb.DescribeTopicsRequest(topics=filter(None, ours), nbbo_topic=its.nbbo)
        return _call("sender", self._senders[0].DescribeTopics, request, 60)

    def start_receiving(
        self, run_id: str, begin: Iterable[pb.PartitionOffset] = (), system: pb.StartReceivingRequest | None = None
    ) -> None:
        """Begin the ledger of a run; it takes what comes after the offsets, or all that the topics hold.

        system: its inputs and outputs, in place of the topics of the market.
        """
        its = self.topics
        request = pb.StartReceivingRequest(
            run_id=run_id, invalid_topic=its.invalid, warm_up_order_id_min=WARM_UP_ORDER_ID_MIN, begin=begin
        )
        market = pb.StartReceivingRequest(alerts_topic=its.alerts, decisions_topic=self._decisions_topic)
        request.MergeFrom(system or market)
        _call("receiver", self._receiver.Start, request, 30)
        self._receiving = request

    def receiver_status(self) -> pb.ReceiverStatusResponse:
        """What it has received. One whose process was started again goes on behind what its ledger has."""
        status = self._status_or_last("receiver", self._receiver.Status, pb.ReceiverStatusRequest())
        if status.phase != pb.Phase.PHASE_IDLE or self._receiving is None:
            return status
        with suppress(_SilentError):  # neither may the broker be there
            _call("receiver", self._receiver.Start, self._receiving, 30)
        return self._status_or_last("receiver", self._receiver.Status, pb.ReceiverStatusRequest())

    def drain_receiver(self, timeout_s: float) -> None:
        """Have the receiver take everything that its topics hold now."""
        _call("receiver", self._receiver.Drain, pb.DrainReceiverRequest(), timeout_s)

    def stop_receiving(self) -> None:
        _call("receiver", self._receiver.Stop, pb.StopReceivingRequest(), 30)

    def ledger(self, run_id: str, name: str) -> bytes:
        """The ledger's bytes: `alerts`, `decisions` or `invalid`."""
        try:
            pieces = self._receiver.ReadLedger(pb.ReadLedgerRequest(run_id=run_id, name=name), timeout=120)
            return b"".join(piece.data for piece in pieces)
        except grpc.RpcError as error:
            raise _as_ours("receiver", error) from error


def sent_ends(statuses: Iterable[pb.SenderStatusResponse]) -> dict[Partition, int]:
    """The offset after the last acknowledged record of each partition."""
    sent = merged_senders(list(statuses)).partitions
    return {(each.topic, each.partition): each.next_offset for each in sent}


def _numbered(process: str, number: int) -> str:
    return f"{process}-{number}" if number else process


def _call(process: str, method: Callable[..., Answer], request: Message, timeout_s: float = DEADLINE_S) -> Answer:
    try:
        return method(request, timeout=timeout_s)
    except grpc.RpcError as error:
        raise _as_ours(process, error) from error


def _as_ours(process: str, error: Any) -> MarketSpreadError:
    sentence = f"the {process} says: {error.details()}"
    if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
        return UsageError(sentence)
    if process == "job":
        return (_SilentJobError if error.code() in _UNANSWERED else RunFailedError)(sentence)
    return (_SilentError if error.code() in _UNANSWERED else RunVoidError)(sentence)
