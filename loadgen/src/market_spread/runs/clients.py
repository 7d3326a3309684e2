"""Calls to the processes of a run, each with a deadline, each error as one of ours."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import grpc

from market_spread.common.errors import MarketSpreadError, RunFailedError, RunVoidError, UsageError
from market_spread.common.rpc import DEADLINE_S, channel_to
from market_spread.runs.ensemble import TOPICS, Addresses
from market_spread.runs.plan import PlannedLoad
from market_spread.runs.replicas import merged
from market_spread.v1.control_pb2 import (
    DrainJobRequest,
    DrainReceiverRequest,
    JobStatusRequest,
    JobStatusResponse,
    PartitionOffset,
    ReadLedgerRequest,
    ReceiverStatusRequest,
    ReceiverStatusResponse,
    SenderStatusRequest,
    SenderStatusResponse,
    StartReceivingRequest,
    StartSendingRequest,
    StopJobRequest,
    StopReceivingRequest,
    StopSendingRequest,
)
from market_spread.v1.control_pb2_grpc import JobStub, ReceiverStub, SenderStub

Partition = tuple[str, int]


class JobClient:
    """The control side of a job, or of several replicas of it. `close` it."""

    def __init__(self, *addresses: str) -> None:
        self._channels = [channel_to(address) for address in addresses]
        self._jobs = [JobStub(channel) for channel in self._channels]

    def job_status(self) -> JobStatusResponse:
        """What the job has done; of replicas, those that answer, as one."""
        statuses: list[JobStatusResponse] = []
        silent: list[MarketSpreadError] = []
        for job in self._jobs:
            try:
                statuses.append(_call("job", job.Status, JobStatusRequest()))
            except RunFailedError as error:
                silent.append(error)
        if not statuses:
            raise silent[0]
        return merged(statuses, silent=len(silent))

    def drain_job(self, until: Mapping[Partition, int], timeout_s: float) -> None:
        """Wait until the job, or the first of its replicas, has committed everything below the offsets."""
        ends = [PartitionOffset(topic=topic, partition=number, offset=end) for (topic, number), end in until.items()]
        request = DrainJobRequest(until=ends)
        pool = ThreadPoolExecutor(len(self._jobs))
        drains = [pool.submit(_call, "job", job.Drain, request, timeout_s) for job in self._jobs]
        pool.shutdown(wait=False)
        failures = []
        for drain in as_completed(drains):
            failure = drain.exception()
            if failure is None:
                return
            failures.append(failure)
        raise failures[0]

    def stop_job(self, wait_s: float) -> None:
        """Have the job end, after the running batch if that commits within the time."""
        for job in self._jobs:
            _call("job", job.Stop, StopJobRequest(wait_ms=round(wait_s * 1000)))

    def close(self) -> None:
        """Disconnect."""
        for channel in self._channels:
            channel.close()


class Clients(JobClient):
    """The control side of all of a run: sender, receiver and job. `close` it."""

    def __init__(self, addresses: Addresses) -> None:
        super().__init__(addresses.job, *addresses.replicas)
        sender, receiver = channel_to(addresses.sender), channel_to(addresses.receiver)
        self._channels += [sender, receiver]
        self._sender = SenderStub(sender)
        self._receiver = ReceiverStub(receiver)

    def start_sending(
        self, load: PlannedLoad, *, run_id: str, linger_us: int, frame_messages: int, start_unix_ns: int = 0
    ) -> int:
        """Begin a load; returns its start, Unix nanoseconds."""
        request = StartSendingRequest(
            run_id=run_id,
            source=load.source,
            parameters_json=load.parameters_json,
            start_unix_ns=start_unix_ns,
            linger_us=linger_us,
            frame_messages=frame_messages,
            nbbo_topic=TOPICS.nbbo,
            orders_topic=TOPICS.orders,
        )
        start: int = _call("sender", self._sender.Start, request, 60).start_unix_ns
        return start

    def sender_status(self) -> SenderStatusResponse:
        """What the sender has sent."""
        status: SenderStatusResponse = _call("sender", self._sender.Status, SenderStatusRequest())
        return status

    def stop_sending(self) -> None:
        """End the running load early."""
        _call("sender", self._sender.Stop, StopSendingRequest(), 30)

    def start_receiving(self, run_id: str, warm_up_order_id_min: int) -> None:
        """Begin the ledger of a run."""
        request = StartReceivingRequest(
            run_id=run_id,
            alerts_topic=TOPICS.alerts,
            invalid_topic=TOPICS.invalid,
            warm_up_order_id_min=warm_up_order_id_min,
        )
        _call("receiver", self._receiver.Start, request, 30)

    def receiver_status(self) -> ReceiverStatusResponse:
        """What the receiver has received."""
        status: ReceiverStatusResponse = _call("receiver", self._receiver.Status, ReceiverStatusRequest())
        return status

    def drain_receiver(self, timeout_s: float) -> None:
        """Have the receiver take everything that its topics hold now."""
        _call("receiver", self._receiver.Drain, DrainReceiverRequest(), timeout_s)

    def stop_receiving(self) -> None:
        """End the ledger."""
        _call("receiver", self._receiver.Stop, StopReceivingRequest(), 30)

    def ledger(self, run_id: str, name: str) -> bytes:
        """The ledger's bytes: `alerts` or `invalid`."""
        try:
            pieces = self._receiver.ReadLedger(ReadLedgerRequest(run_id=run_id, name=name), timeout=120)
            return b"".join(piece.data for piece in pieces)
        except grpc.RpcError as error:
            raise _as_ours("receiver", error) from error


def sent_ends(statuses: Iterable[SenderStatusResponse]) -> dict[Partition, int]:
    """The offset after the last acknowledged record of each partition."""
    ends: dict[Partition, int] = {}
    for status in statuses:
        for sent in status.partitions:
            key = (sent.topic, sent.partition)
            ends[key] = max(ends.get(key, 0), sent.next_offset)
    return ends


def _call(process: str, method: Any, request: Any, timeout_s: float = DEADLINE_S) -> Any:
    try:
        return method(request, timeout=timeout_s)
    except grpc.RpcError as error:
        raise _as_ours(process, error) from error


def _as_ours(process: str, error: Any) -> MarketSpreadError:
    sentence = f"the {process} says: {error.details()}"
    if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
        return UsageError(sentence)
    return (RunFailedError if process == "job" else RunVoidError)(sentence)
