"""Frames go out at their planned times, and what becomes of them is counted."""

import threading
from collections.abc import Iterator

import numpy as np

from market_spread.common.clock import ManualClock
from market_spread.common.kafka import Done, Headers
from market_spread.common.layout import NBBO, ORDER
from market_spread.common.load import Block, Stream
from market_spread.common.recording import Recorder
from market_spread.sender.preparation import FramePlan
from market_spread.sender.publisher import Publisher
from market_spread.v1.control_pb2 import Phase

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
PLAN = FramePlan(nbbo_topic="nbbo", orders_topic="orders", partitions=2, linger_ns=2 * MS, frame_messages=1)


class FakeLoad:
    """Quotes at the given milliseconds from the start, each a block, on the given partition."""

    def __init__(self, times_ms: list[int], *, bucket: int = 0, error: Exception | None = None) -> None:
        self.intended_ns = np.array(times_ms, np.int64) * MS + START_NS
        self.messages = len(times_ms)
        self._bucket = bucket
        self._error = error

    def messages_due(self, unix_ns: int) -> int:
        return int((self.intended_ns < unix_ns).sum())

    def blocks(self) -> Iterator[Block]:
        for intended_ns in self.intended_ns:
            rows = np.full((1, NBBO.width), ord("Q"), np.uint8)
            quotes = Stream(np.array([intended_ns]), np.array([self._bucket]), rows)
            yield Block(int(intended_ns) + 1, quotes, Stream.empty(ORDER.width))
        if self._error is not None:
            raise self._error


class FakeProducer:
    """Remembers when what was sent; a send takes as long as it is told, on the manual clock."""

    def __init__(self, clock: ManualClock, *, takes_ms: int = 0, error: Exception | None = None) -> None:
        self.sent_ms: list[float] = []
        self.headers: list[dict[str, bytes]] = []
        self.closed = False
        self.held: list[Done] | None = None
        self._clock = clock
        self._takes_ns = takes_ms * MS
        self._error = error

    def send(self, topic: str, partition: int, value: bytes, headers: Headers, done: Done) -> None:
        self.sent_ms.append((self._clock.unix_ns() - START_NS) / MS)
        self.headers.append(dict(headers))
        self._clock.advance_ns(self._takes_ns)
        if self.held is not None:
            self.held.append(done)
        elif self._error is not None:
            done(-1, self._error)
        else:
            done(len(self.sent_ms) - 1, None)

    def close(self, timeout_s: float = 0.0) -> None:
        self.closed = True


def publisher(
    load: FakeLoad, producer: FakeProducer, clock: ManualClock, *, unacknowledged_bytes_max: int = 1_000_000
) -> Publisher:
    recorder = Recorder(source="sender-0", clock=clock)
    return Publisher(
        load,
        PLAN,
        producer=producer,
        recorder=recorder,
        clock=clock,
        unacknowledged_bytes_max=unacknowledged_bytes_max,
    )


def test_frames_leave_at_their_planned_times() -> None:
    clock = ManualClock(START_NS - 100 * MS)
    producer = FakeProducer(clock)
    subject = publisher(FakeLoad([0, 10, 20]), producer, clock)

    subject.run()

    assert producer.sent_ms == [0.0, 10.0, 20.0]
    assert subject.phase == Phase.PHASE_FINISHED
    assert producer.closed


def test_late_send_keeps_schedule() -> None:
    clock = ManualClock(START_NS)
    producer = FakeProducer(clock, takes_ms=15)
    subject = publisher(FakeLoad([0, 10, 20, 100]), producer, clock)

    subject.run()

    assert producer.sent_ms == [0.0, 15.0, 30.0, 100.0]
    totals = subject.totals()
    assert totals.frames_late == 0
    assert totals.frame_delay_ns_max == 10 * MS
    assert totals.send_lag.max_us == 10_000


def test_frames_more_than_ten_milliseconds_late_are_counted() -> None:
    clock = ManualClock(START_NS)
    subject = publisher(FakeLoad([0, 5]), FakeProducer(clock, takes_ms=16), clock)

    subject.run()

    totals = subject.totals()
    assert totals.frames_late == 1
    assert totals.frame_delay_ns_max == 11 * MS
    assert totals.frame_delay.count == 2


def test_start_in_the_past_sends_everything_at_once_and_shows_the_lag() -> None:
    clock = ManualClock(START_NS + 1000 * MS)
    producer = FakeProducer(clock)
    subject = publisher(FakeLoad([0, 10, 20]), producer, clock)

    subject.run()

    assert producer.sent_ms == [1000.0, 1000.0, 1000.0]
    assert subject.totals().send_lag.max_us == 1_000_000
    assert subject.totals().send_lag.min_us == 980_000


def test_headers_carry_the_format_and_the_actual_send_time() -> None:
    clock = ManualClock(START_NS + 3 * MS)
    producer = FakeProducer(clock)
    subject = publisher(FakeLoad([0]), producer, clock)

    subject.run()

    assert producer.headers == [{"format": b"1", "sent_us": b"1700000000003000"}]


def test_lost_frames_are_counted_and_fail_the_load() -> None:
    clock = ManualClock(START_NS)
    producer = FakeProducer(clock, error=TimeoutError("no answer"))
    subject = publisher(FakeLoad([0, 1, 2]), producer, clock)

    subject.run()

    totals = subject.totals()
    assert subject.phase == Phase.PHASE_FAILED
    assert subject.detail == "3 frames with 3 messages are lost; the first one by TimeoutError: no answer"
    assert (totals.frames_failed, totals.messages_failed, totals.messages_sent) == (3, 3, 3)
    assert totals.unacknowledged_bytes == 0


def test_full_buffer_waits_and_shows_as_lag() -> None:
    clock = ManualClock(START_NS)
    producer = FakeProducer(clock)
    producer.held = []
    subject = publisher(FakeLoad([0, 0]), producer, clock, unacknowledged_bytes_max=NBBO.width)
    subject.start()
    _await(lambda: len(producer.sent_ms) == 1)

    clock.advance_ns(500 * MS)
    producer.held.pop()(0, None)
    _await(lambda: len(producer.sent_ms) == 2)
    producer.held.pop()(1, None)
    subject._thread.join(5)

    assert producer.sent_ms == [0.0, 500.0]
    assert subject.totals().frames_late == 1
    assert subject.messages_due() == 2
    assert subject.phase == Phase.PHASE_FINISHED


def test_stop_ends_the_schedule_and_sends_nothing_that_is_not_due() -> None:
    clock = ManualClock(START_NS + 25 * MS)
    producer = FakeProducer(clock)
    subject = publisher(FakeLoad([0, 10, 20, 30_000_000]), producer, clock)
    subject._stopping.set()

    subject.run()

    assert len(producer.sent_ms) <= 3
    assert subject.phase == Phase.PHASE_FINISHED
    assert subject.messages_due() == 3


def test_error_of_the_load_fails_it_with_its_words() -> None:
    clock = ManualClock(START_NS)
    producer = FakeProducer(clock)
    subject = publisher(FakeLoad([0], error=OSError("file is gone")), producer, clock)

    subject.run()

    assert subject.phase == Phase.PHASE_FAILED
    assert subject.detail == "OSError: file is gone"
    assert producer.sent_ms == [0.0]


def test_message_for_a_partition_that_does_not_exist_fails_the_load() -> None:
    clock = ManualClock(START_NS)
    subject = publisher(FakeLoad([0], bucket=2), FakeProducer(clock), clock)

    subject.run()

    assert subject.phase == Phase.PHASE_FAILED
    assert subject.detail == (
        "the load has a message for partition 2, but the topics have 2 partitions; give the load buckets=2"
    )


def test_counts_by_partition_add_up() -> None:
    clock = ManualClock(START_NS)
    subject = publisher(FakeLoad([0, 1, 2], bucket=1), FakeProducer(clock), clock)

    subject.run()

    counts = subject.totals().partitions["nbbo", 1]
    assert (counts.messages, counts.frames, counts.payload_bytes) == (3, 3, 165)
    assert (counts.frames_acknowledged, counts.next_offset) == (3, 3)


def test_counts_are_pushed_as_metrics() -> None:
    clock = ManualClock(START_NS)
    recorder = Recorder(source="sender-0", clock=clock)
    load = FakeLoad([0, 1, 2])
    subject = Publisher(
        load,
        PLAN,
        producer=FakeProducer(clock, takes_ms=1),
        recorder=recorder,
        clock=clock,
        unacknowledged_bytes_max=1000,
    )

    subject.run()

    pushed = recorder.take()
    assert pushed is not None
    assert {sample.key.name: sample.value for sample in pushed.counters if sample.value} == {
        "market_spread_sender_frames_sent_total": 3,
        "market_spread_sender_messages_due_total": 3,
        "market_spread_sender_messages_sent_total": 3,
        "market_spread_sender_payload_bytes_total": 165,
    }
    assert {histogram.key.name: histogram.count for histogram in pushed.histograms} == {
        "market_spread_sender_acknowledge_seconds": 3,
        "market_spread_sender_frame_delay_seconds": 3,
        "market_spread_sender_send_lag_seconds": 3,
    }


def _await(happened: object) -> None:
    assert callable(happened)
    pause = threading.Event()
    for _ in range(500):
        if happened():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen")
