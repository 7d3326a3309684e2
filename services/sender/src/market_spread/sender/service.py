"""The gRPC service Sender: one load at a time, from a checked request to its counts."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

import grpc

from market_spread.common.clock import Clock
from market_spread.common.documents import json_object
from market_spread.common.errors import DeadlineError, UsageError, WrongStateError
from market_spread.common.grpc.calls import partition_offsets
from market_spread.common.kafka.client import RECORD_BYTES_MAX, KafkaBroker, Partition
from market_spread.common.load import source as loads
from market_spread.common.load.source import AnyLoad, LoadSource
from market_spread.common.logs import log_event
from market_spread.common.process.service import ServiceConfig
from market_spread.common.processes import cpu_us
from market_spread.common.telemetry.recorder import Recorder
from market_spread.common.wire.codec import decode
from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.sender.counts import LATE_NS_DEFAULT
from market_spread.sender.framing import FramePlan
from market_spread.sender.publisher import STOP_WITHIN_S, UNACKNOWLEDGED_BYTES_MAX, Publisher
from market_spread.v1 import control_pb2 as pb
from market_spread.v1.control_pb2_grpc import SenderServicer

START_DELAY_NS = 500_000_000
_LINGER_US_MAX = 60_000_000
# Kafka's own bytes around a record's value, generously.
_RECORD_OVERHEAD_BYTES = 1024
_STOP_ANSWER_S = STOP_WITHIN_S + 1.5
# Frames of several senders stand side by side in a partition, so its last one need not hold the highest number.
NEWEST_RECORDS = 64

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderConfig(ServiceConfig):
    """Environment of the sender."""

    source: Annotated[str, "Its name in metrics."] = "sender-0"
    unacknowledged_bytes_max: Annotated[int, "Held for a broker that is behind."] = UNACKNOWLEDGED_BYTES_MAX

    def errors(self) -> list[str]:
        errors = ServiceConfig.errors(self)
        if self.unacknowledged_bytes_max <= 0:
            errors.append(f"unacknowledged_bytes_max={self.unacknowledged_bytes_max}; use a positive number")
        return errors


@dataclass(eq=False, kw_only=True)
class SenderService(SenderServicer):
    """Offers loads to Kafka. Thread-safe."""

    broker: KafkaBroker
    recorder: Recorder
    clock: Clock
    find_source: Callable[[str], LoadSource] = loads.find_source
    unacknowledged_bytes_max: int = UNACKNOWLEDGED_BYTES_MAX

    def __post_init__(self) -> None:
        self._starting = threading.Lock()
        self._publisher: Publisher | None = None
        self._run_id = ""
        self._start_unix_ns = 0

    def Start(self, request: pb.StartSendingRequest, context: grpc.ServicerContext) -> pb.StartSendingResponse:
        parameters = _checked(request)
        source = self.find_source(request.source)
        if not self._starting.acquire(blocking=False):
            raise WrongStateError("another load is being started; ask for the status")
        try:
            if self._publisher is not None and self._publisher.running:
                raise WrongStateError(
                    f"a load of run {self._run_id!r} is running; stop it or wait until it has finished"
                )
            self._start(request, source, parameters)
        finally:
            self._starting.release()
        return pb.StartSendingResponse(start_unix_ns=self._start_unix_ns)

    def Status(self, request: pb.SenderStatusRequest, context: grpc.ServicerContext) -> pb.SenderStatusResponse:
        publisher = self._publisher
        response = publisher.status() if publisher else pb.SenderStatusResponse(phase=pb.Phase.PHASE_IDLE)
        response.run_id, response.start_unix_ns = self._run_id, self._start_unix_ns
        response.cpu_us, response.unix_ns = cpu_us(), self.clock.unix_ns()
        return response

    def Stop(self, request: pb.StopSendingRequest, context: grpc.ServicerContext) -> pb.StopSendingResponse:
        publisher = self._publisher
        if publisher is not None and not publisher.stop(_STOP_ANSWER_S):
            raise DeadlineError(f"the load has not ended within {_STOP_ANSWER_S} s; ask for the status")
        return pb.StopSendingResponse()

    def DescribeTopics(
        self, request: pb.DescribeTopicsRequest, context: grpc.ServicerContext
    ) -> pb.DescribeTopicsResponse:
        topics = list(filter(None, dict.fromkeys((*request.topics, request.nbbo_topic))))
        ends = self.broker.end_offsets(topics, committed=True)
        newest = newest_sequence(self.broker, ends, request.nbbo_topic)
        return pb.DescribeTopicsResponse(ends=partition_offsets(ends), newest_sequence=newest)

    def close(self) -> None:
        """End the running load, if there is one; what it has sent is acknowledged or counted as lost."""
        if self._publisher is not None:
            self._publisher.stop(_STOP_ANSWER_S)

    def _start(self, request: pb.StartSendingRequest, source: LoadSource, parameters: dict[str, object]) -> None:
        plan = self._plan(request)
        producer = self.broker.producer(request.topics or [request.nbbo_topic, request.orders_topic])
        try:
            start_unix_ns, load = self._made_in_time(request.start_unix_ns, source, parameters)
            self.recorder.run_id = request.run_id
            self.recorder.begin_interval()  # what is pushed from here on is of this load alone
            publisher = Publisher(
                load, plan, producer=producer, recorder=self.recorder, clock=self.clock,
                unacknowledged_bytes_max=self.unacknowledged_bytes_max,
                late_ns=request.limits.late_us * 1000 if request.limits.HasField("late_us") else LATE_NS_DEFAULT,
            )  # fmt: skip
        except BaseException:
            producer.close()
            raise
        self._run_id, self._start_unix_ns = request.run_id, start_unix_ns
        self._publisher = publisher
        publisher.start()
        log_event(_log, "load.started", run_id=request.run_id, source=request.source, start_unix_ns=start_unix_ns)

    def _made_in_time(
        self, wanted_unix_ns: int, source: LoadSource, parameters: dict[str, object]
    ) -> tuple[int, AnyLoad]:
        """The load and its start; a start of our choice leaves half a second after the load is made."""
        if wanted_unix_ns:
            return wanted_unix_ns, source(parameters, wanted_unix_ns)
        begun_unix_ns = self.clock.unix_ns()
        start_unix_ns = begun_unix_ns + START_DELAY_NS
        load = source(parameters, start_unix_ns)
        took_ns = self.clock.unix_ns() - begun_unix_ns
        if took_ns > START_DELAY_NS // 2:
            start_unix_ns += 2 * took_ns
            load = source(parameters, start_unix_ns)
        return start_unix_ns, load

    def _plan(self, request: pb.StartSendingRequest) -> FramePlan:
        linger_ns = request.linger_us * 1000
        if request.topics:
            self.broker.partition_counts(request.topics)
            return FramePlan("", "", 0, linger_ns, 1)
        counts = self.broker.partition_counts([request.nbbo_topic, request.orders_topic])
        quotes, orders = counts[request.nbbo_topic], counts[request.orders_topic]
        if quotes != orders:
            raise UsageError(
                f"{request.nbbo_topic} has {quotes} partitions and {request.orders_topic} {orders}; "
                "make both with the same number"
            )
        return FramePlan(request.nbbo_topic, request.orders_topic, quotes, linger_ns, request.frame_messages)


def _checked(request: pb.StartSendingRequest) -> dict[str, object]:
    """The load's parameters. UsageError naming everything that is wrong with the request."""
    errors = []
    frame_messages_max = (RECORD_BYTES_MAX - _RECORD_OVERHEAD_BYTES) // max(NBBO.width, ORDER.width)
    if not 1 <= request.frame_messages <= frame_messages_max:
        errors.append(f"frame_messages={request.frame_messages}; use 1 to {frame_messages_max}")
    if request.linger_us > _LINGER_US_MAX:
        errors.append(f"linger_us={request.linger_us}; use at most {_LINGER_US_MAX}")
    required = ("run_id", "source", *(() if request.topics else ("nbbo_topic", "orders_topic")))
    errors.extend(f"{name} is empty; give one" for name in required if not getattr(request, name))
    if request.nbbo_topic and request.nbbo_topic == request.orders_topic:
        errors.append(f"nbbo_topic and orders_topic are both {request.nbbo_topic!r}; use two topics")
    parameters: dict[str, object] = {}
    try:
        parameters = json_object(request.parameters_json)
    except ValueError as error:
        errors.append(f"parameters_json={request.parameters_json[:40]!r} cannot be read ({error}); give an object")
    if errors:
        raise UsageError("; ".join(errors))
    return parameters


def newest_sequence(broker: KafkaBroker, ends: Mapping[Partition, int], topic: str) -> int:
    """The highest sequence among the newest quotes of the topic, 0 if there is none. ends: of it, and of others."""
    quotes = {place: end for place, end in ends.items() if place[0] == topic and end}
    begin = {place: max(0, end - NEWEST_RECORDS) for place, end in quotes.items()}
    found = broker.records(quotes, begin) if quotes else ()
    return max((_sequence_of(record.value) for _, record in found), default=0)


def _sequence_of(value: bytes) -> int:
    """The highest sequence in a frame; 0 if it is none of ours."""
    if not value or len(value) % NBBO.width:
        return 0
    quotes = decode(NBBO, value)
    sequences = quotes.ints("sequence")[quotes.readable]
    return int(sequences.max()) if len(sequences) else 0
