"""The gRPC service Sender: one load at a time, from a checked request to its counts."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing

import grpc

from market_spread.common.clock import Clock
from market_spread.common.documents import json_object
from market_spread.common.errors import DeadlineError, UsageError, WrongStateError
from market_spread.common.grpc.calls import partition_offsets
from market_spread.common.kafka.client import RECORD_BYTES_MAX, Consumer, KafkaBroker, Partition
from market_spread.common.load import source as loads
from market_spread.common.load.source import AnyLoad, LoadSource
from market_spread.common.logs import log_event
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
_POLL_S = 0.5
_POLLS_IN_VAIN_MAX = 40

_log = logging.getLogger(__name__)


class SenderService(SenderServicer):
    """Offers loads to Kafka. Thread-safe."""

    def __init__(
        self,
        *,
        broker: KafkaBroker,
        recorder: Recorder,
        clock: Clock,
        find_source: Callable[[str], LoadSource] = loads.find_source,
        unacknowledged_bytes_max: int = UNACKNOWLEDGED_BYTES_MAX,
    ) -> None:
        self._broker = broker
        self._recorder = recorder
        self._clock = clock
        self._find_source = find_source
        self._unacknowledged_bytes_max = unacknowledged_bytes_max
        self._starting = threading.Lock()
        self._publisher: Publisher | None = None
        self._run_id = ""
        self._start_unix_ns = 0

    def Start(self, request: pb.StartSendingRequest, context: grpc.ServicerContext) -> pb.StartSendingResponse:
        parameters = _checked(request)
        source = self._find_source(request.source)
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
        response.cpu_us, response.unix_ns = cpu_us(), self._clock.unix_ns()
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
        counts = self._broker.partition_counts(topics)
        ends, newest_sequence = describe_topics(self._broker.consumer(), counts, request.nbbo_topic)
        return pb.DescribeTopicsResponse(ends=partition_offsets(ends), newest_sequence=newest_sequence)

    def close(self) -> None:
        """End the running load, if there is one; what it has sent is acknowledged or counted as lost."""
        if self._publisher is not None:
            self._publisher.stop(_STOP_ANSWER_S)

    def _start(self, request: pb.StartSendingRequest, source: LoadSource, parameters: dict[str, object]) -> None:
        plan = self._plan(request)
        producer = self._broker.producer(request.topics or [request.nbbo_topic, request.orders_topic])
        try:
            start_unix_ns, load = self._made_in_time(request.start_unix_ns, source, parameters)
            self._recorder.run_id = request.run_id
            self._recorder.begin_interval()  # what is pushed from here on is of this load alone
            publisher = Publisher(
                load,
                plan,
                producer=producer,
                recorder=self._recorder,
                clock=self._clock,
                unacknowledged_bytes_max=self._unacknowledged_bytes_max,
                late_ns=request.limits.late_us * 1000 if request.limits.HasField("late_us") else LATE_NS_DEFAULT,
            )
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
        begun_unix_ns = self._clock.unix_ns()
        start_unix_ns = begun_unix_ns + START_DELAY_NS
        load = source(parameters, start_unix_ns)
        took_ns = self._clock.unix_ns() - begun_unix_ns
        if took_ns > START_DELAY_NS // 2:
            start_unix_ns += 2 * took_ns
            load = source(parameters, start_unix_ns)
        return start_unix_ns, load

    def _plan(self, request: pb.StartSendingRequest) -> FramePlan:
        linger_ns = request.linger_us * 1000
        if request.topics:
            self._broker.partition_counts(request.topics)
            return FramePlan("", "", 0, linger_ns, 1)
        counts = self._broker.partition_counts([request.nbbo_topic, request.orders_topic])
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


def describe_topics(reader: Consumer, counts: Mapping[str, int], nbbo_topic: str) -> tuple[dict[Partition, int], int]:
    """Where each partition ends, and the highest sequence among the newest quotes, 0 if there is none.

    counts: partitions of each topic, `nbbo_topic` among them. Closes the reader. DeadlineError if quotes do not come.
    """
    with closing(reader):
        ends = reader.end_offsets((topic, number) for topic, count in counts.items() for number in range(count))
        quotes = {key: end for key, end in ends.items() if key[0] == nbbo_topic and end}
        return ends, max(_newest(reader, quotes), default=0)


def _newest(reader: Consumer, ends: Mapping[Partition, int]) -> Iterable[int]:
    """The highest sequence of each record at the ends."""
    if not ends:
        return
    reader.assign({key: max(0, end - NEWEST_RECORDS) for key, end in ends.items()})
    behind = dict(ends)
    polls_in_vain = 0
    while behind:
        found = reader.poll(_POLL_S)
        polls_in_vain = 0 if found else polls_in_vain + 1
        if polls_in_vain == _POLLS_IN_VAIN_MAX:
            missing = ", ".join(f"{topic}/{number}" for topic, number in behind)
            waited_s = _POLL_S * _POLLS_IN_VAIN_MAX
            raise DeadlineError(f"the newest quotes of {missing} could not be read within {waited_s:g} s")
        for key, records in found.items():
            yield from (_sequence_of(record.value) for record in records)
            if key in behind and records[-1].offset + 1 >= behind[key]:
                del behind[key]


def _sequence_of(value: bytes) -> int:
    """The highest sequence in a frame; 0 if it is none of ours."""
    if not value or len(value) % NBBO.width:
        return 0
    quotes = decode(NBBO, value)
    sequences = quotes.ints("sequence")[quotes.readable]
    return int(sequences.max()) if len(sequences) else 0
