"""A system under test that does nothing wrong but wait as it is told: `python -m`, in place of the job."""

import heapq
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import grpc
import numpy as np

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.config import from_environment
from market_spread.common.errors import DeadlineError
from market_spread.common.grpc.calls import partition_offsets
from market_spread.common.job_contract import TOPICS
from market_spread.common.kafka.client import KafkaBroker, Partition
from market_spread.common.process.service import ServiceConfig, run_main, serving
from market_spread.common.processes import cpu_us, stop_event_on_signals
from market_spread.common.telemetry.recorder import Recorder
from market_spread.common.wire.codec import decode, encode
from market_spread.common.wire.layout import ALERT, NBBO, ORDER
from market_spread.controller.archive.self_test_record import is_held
from market_spread.loadgen.oracle.quote_book import rejects
from market_spread.v1 import control_pb2 as pb
from market_spread.v1.control_pb2_grpc import JobServicer

# The clients' threads answer the broker; with Python's 5 ms they would wait that long for a loop that computes.
_SWITCH_S = 0.000_1
_WAIT_US_MAX = 50_000
_EMITTED_AT = ALERT.offset("emitted_us")
_EMITTED_WIDTH = ALERT.field("emitted_us").width


@dataclass(frozen=True, slots=True, kw_only=True)
class NullConfig(ServiceConfig):
    """partitions: of each input; delay_us: how long the alert of every second order is held back."""

    source: str = "job"
    partitions: int
    delay_us: int = 0


class NullSystem:
    """Answers orders on symbols whose newest quote is wide. An alert has when its order was read and it was emitted."""

    def __init__(self, send: Callable[[bytes], None], *, clock: Clock, delay_us: int = 0) -> None:
        """Each alert goes to `send`, at `emit_due`."""
        self.messages = 0
        self._send, self._clock, self._delay_us = send, clock, delay_us
        self._newest: dict[bytes, tuple[bool, int, int, int]] = {}
        self.waiting: list[tuple[int, int, bytes]] = []  # a heap of alerts, each after when it is due

    def take_quotes(self, frame: bytes) -> None:
        """Remember the quotes of a frame, each the newest of its symbol."""
        quotes = decode(NBBO, frame)
        bid, offer, sequence = (quotes.ints(name) for name in ("bid", "offer", "sequence"))
        values = zip(rejects(bid, offer).tolist(), bid.tolist(), offer.tolist(), sequence.tolist(), strict=True)
        self._newest |= dict(zip(quotes.columns["symbol"].tolist(), values, strict=True))
        self.messages += len(bid)

    def take_orders(self, frame: bytes, *, read_us: int) -> None:
        """Prepare the alerts of a frame that was read then."""
        columns = decode(ORDER, frame).columns
        symbols = columns["symbol"].tolist()
        self.messages += len(symbols)
        met = [(at, quote) for at, symbol in enumerate(symbols) if (quote := self._newest.get(symbol)) and quote[0]]
        if not met:
            return
        quotes = np.array([quote for _, quote in met], np.int64)
        orders = {name: column[[at for at, _ in met]] for name, column in columns.items()}
        count = len(met)
        alerts = encode(ALERT, {
            **orders, "kind": np.full(count, ord("A"), np.uint8),
            "bid": quotes[:, 1], "offer": quotes[:, 2], "quote_sequence": quotes[:, 3],
            "sent_us": orders["intended_us"], "read_us": np.full(count, read_us, np.int64),
            "emitted_us": np.zeros(count, np.int64),
        })  # fmt: skip
        for order_id, row in zip(orders["order_id"].tolist(), alerts, strict=True):
            heapq.heappush(self.waiting, (read_us + self.hold_us(order_id), order_id, row.tobytes()))

    def hold_us(self, order_id: int) -> int:
        return self._delay_us if is_held(order_id) else 0

    def emit_due(self) -> int:
        """Send what is due; in how many microseconds something else is, at most 50,000."""
        while self.waiting:
            left_us = self.waiting[0][0] - self._clock.unix_ns() // 1000
            if left_us > 0:
                return min(left_us, _WAIT_US_MAX)
            _, order_id, row = heapq.heappop(self.waiting)
            self.emit(order_id, row)
        return _WAIT_US_MAX

    def emit(self, order_id: int, row: bytes) -> None:
        """Send an alert, stamped with the moment."""
        stamp = b"%0*d" % (_EMITTED_WIDTH, self._clock.unix_ns() // 1000)
        self._send(row[:_EMITTED_AT] + stamp + row[_EMITTED_AT + _EMITTED_WIDTH :])


class _Loop(JobServicer):
    """Reads, has the system answer, and says how far it is."""

    def __init__(self, config: NullConfig, clock: Clock, system: Callable[..., NullSystem], stop: threading.Event):
        self._clock, self._stop = clock, stop
        self._sent = self._acknowledged = 0
        self._positions: dict[Partition, int] = {
            (topic, number): 0 for topic in (TOPICS.nbbo, TOPICS.orders) for number in range(config.partitions)
        }
        broker = KafkaBroker(config.bootstrap_servers, "null", config)
        self._consumer, self._producer = broker.consumer(), broker.producer([TOPICS.alerts])
        self._system = system(self._send, clock=clock, delay_us=config.delay_us)

    def run(self) -> None:
        with closing(self._consumer), closing(self._producer):
            self._consumer.assign(self._positions)
            wait_us = 0
            while not self._stop.is_set():
                for partition, records in sorted(self._consumer.poll(-(-wait_us // 1000) / 1000).items()):
                    read_us = self._clock.unix_ns() // 1000
                    for record in records:
                        if partition[0] == TOPICS.nbbo:
                            self._system.take_quotes(record.value)
                        else:
                            self._system.take_orders(record.value, read_us=read_us)
                    self._positions[partition] = records[-1].offset + 1
                wait_us = self._system.emit_due()

    def Status(self, request: pb.JobStatusRequest, context: grpc.ServicerContext) -> pb.JobStatusResponse:
        messages, now_ns, used_us = self._system.messages, self._clock.unix_ns(), cpu_us()
        return pb.JobStatusResponse(
            phase=pb.Phase.PHASE_RUNNING, mode="null", committed=partition_offsets(self._positions),
            messages_committed=messages, messages_processed=messages, cpu_us=used_us, counted_unix_ns=now_ns,
            counted_cpu_us=used_us, unix_ns=now_ns,
        )  # fmt: skip

    def Drain(self, request: pb.DrainJobRequest, context: grpc.ServicerContext) -> pb.DrainJobResponse:
        while not self._is_through(request):
            if (context.time_remaining() or 1) < 0.2 or self._stop.is_set():
                raise DeadlineError("the null system does not keep up")
            self._clock.sleep_ns(50_000_000)
        return pb.DrainJobResponse(committed=partition_offsets(self._positions))

    def Describe(self, request: pb.DescribeJobRequest, context: grpc.ServicerContext) -> pb.DescribeJobResponse:
        return pb.DescribeJobResponse()  # it has no Spark

    def _is_through(self, request: pb.DrainJobRequest) -> bool:
        is_read = all(self._positions[it.topic, it.partition] >= it.offset for it in request.until)
        return is_read and not self._system.waiting and self._acknowledged == self._sent

    def _send(self, alert: bytes) -> None:
        def done(_offset: int, _error: Exception | None) -> None:
            self._acknowledged += 1

        self._sent += 1
        self._producer.send(TOPICS.alerts, 0, alert, (), done)


def serve(config: NullConfig, system: Callable[..., NullSystem] = NullSystem) -> None:
    """Be the system until a signal. system: another class of the same, which does more than wait."""
    sys.setswitchinterval(_SWITCH_S)
    clock = SystemClock()
    loop = _Loop(config, clock, system, stop_event_on_signals())
    with serving(config, "Job", loop, recorder=Recorder(source=config.source, clock=clock), clock=clock):
        loop.run()


if __name__ == "__main__":
    sys.exit(run_main(lambda: serve(from_environment(NullConfig))))
