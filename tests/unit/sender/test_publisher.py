"""Frames go out at their planned times, and what becomes of them is counted."""

import threading
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.hdr.histogram import bucket_indices
from market_spread.common.kafka.client import Done, Headers, Producer
from market_spread.common.load.source import Block, MessageStream
from market_spread.common.telemetry.recorder import Recorder
from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.sender.counts import SendCounts
from market_spread.sender.framing import Frame, FramePlan
from market_spread.sender.publisher import Publisher
from market_spread.v1.control_pb2 import Phase
from tests.support.clock import ManualClock

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
            quotes = MessageStream(np.array([intended_ns]), np.array([self._bucket]), rows)
            yield Block(int(intended_ns) + 1, quotes, MessageStream.empty(ORDER.width))
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

    def send(
        self, topic: str, partition: int, value: bytes, headers: Headers, done: Done, key: bytes | None = None
    ) -> None:
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
    load: FakeLoad,
    producer: FakeProducer,
    clock: ManualClock,
    *,
    unacknowledged_bytes_max: int = 1_000_000,
    **more: int,
) -> Publisher:
    recorder = Recorder(source="sender-0", clock=clock)
    return Publisher(
        load,
        PLAN,
        producer=cast(Producer, producer),
        recorder=recorder,
        clock=clock,
        unacknowledged_bytes_max=unacknowledged_bytes_max,
        **more,
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
    totals = subject.status()
    assert totals.frames_late == 0
    assert totals.frame_delay_ns_max == 10 * MS
    assert subject.counts.send_lag.max_us == 10_000


def test_frames_more_than_ten_milliseconds_late_are_counted() -> None:
    clock = ManualClock(START_NS)
    subject = publisher(FakeLoad([0, 5]), FakeProducer(clock, takes_ms=16), clock)

    subject.run()

    totals = subject.status()
    assert totals.frames_late == 1
    assert totals.frame_delay_ns_max == 11 * MS
    assert subject.counts.frame_delay.count == 2


def test_start_in_the_past_sends_everything_at_once_and_shows_the_lag() -> None:
    clock = ManualClock(START_NS + 1000 * MS)
    producer = FakeProducer(clock)
    subject = publisher(FakeLoad([0, 10, 20]), producer, clock)

    subject.run()

    assert producer.sent_ms == [1000.0, 1000.0, 1000.0]
    assert subject.counts.send_lag.max_us == 1_000_000
    assert subject.counts.send_lag.min_us == 980_000


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

    totals = subject.status()
    assert subject.phase == Phase.PHASE_FAILED
    assert subject.detail == "3 frames with 3 messages are lost; the first one by TimeoutError: no answer"
    assert (totals.frames_failed, totals.messages_failed, totals.messages_sent) == (3, 3, 3)
    assert totals.unacknowledged_bytes == 0


@pytest.mark.parametrize(("late_ms", "late"), [(0, 2), (5, 2), (10, 1), (11, 0), (250, 0)])
def test_late_is_what_the_run_says(late_ms: int, late: int) -> None:
    clock = ManualClock(START_NS)
    subject = publisher(FakeLoad([0, 5, 11]), FakeProducer(clock, takes_ms=11), clock, late_ns=late_ms * MS)

    subject.run()

    assert subject.status().frame_delay_ns_max == 11 * MS, "of the third; that of the second is 6 ms"
    assert subject.status().frames_late == late


@given(st.integers(1_000, 300_000), st.lists(st.integers(0, 400_000), min_size=1, max_size=30))
def test_late_frames_are_those_above_the_limit_in_the_histogram(late_us: int, delays_us: list[int]) -> None:
    counts = SendCounts(Recorder(source="sender-0", clock=ManualClock()), late_ns=late_us * 1000)
    frame = Frame("orders", 0, b"", np.array([START_NS]), START_NS)

    for delay_us in delays_us:
        counts.sent(frame, START_NS + delay_us * 1000 + 999)
    counts.flush(0, now_ns=0, clock_deviation_ns=0)

    totals = counts.status()
    (bucket,) = bucket_indices(np.array([late_us]))
    assert totals.frames_late == counts.frame_delay.counts[bucket + 1 :].sum()


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
    assert subject.status().frames_late == 1
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

    (counts,) = subject.status().partitions
    assert (counts.topic, counts.partition) == ("nbbo", 1)
    assert (counts.messages, counts.frames, counts.payload_bytes) == (3, 3, 165)
    assert (counts.frames_acknowledged, counts.next_offset) == (3, 3)


def test_counts_are_pushed_as_metrics() -> None:
    clock = ManualClock(START_NS)
    recorder = Recorder(source="sender-0", clock=clock)
    load = FakeLoad([0, 1, 2])
    subject = Publisher(
        load,
        PLAN,
        producer=cast(Producer, FakeProducer(clock, takes_ms=1)),
        recorder=recorder,
        clock=clock,
        unacknowledged_bytes_max=1000,
    )

    subject.run()

    (pushed,) = recorder.take()
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


class SteppedClock(ManualClock):
    """Someone sets it while the publisher sleeps for the first time."""

    def __init__(self, unix_ns: int, step_ns: int) -> None:
        super().__init__(unix_ns)
        self._to_step_ns = step_ns

    def sleep_ns(self, duration_ns: int) -> None:
        super().sleep_ns(duration_ns)
        self.step_ns(self._to_step_ns)
        self._to_step_ns = 0


@pytest.mark.parametrize("step_ms", [-1000, 1000])
def test_a_step_of_the_clock_shifts_no_frame_and_is_told(step_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SteppedClock(START_NS - 100 * MS, step_ms * MS)
    begun_ns = clock.monotonic_ns()
    producer = FakeProducer(clock)
    sent_at_ms: list[float] = []
    send = producer.send

    def noting(*told: Any) -> None:
        sent_at_ms.append((clock.monotonic_ns() - begun_ns) / MS)
        send(*told)

    monkeypatch.setattr(producer, "send", noting)
    subject = publisher(FakeLoad([0, 10, 20]), producer, clock)

    subject.run()

    assert sent_at_ms == [100.0, 110.0, 120.0]
    assert [headers["sent_us"] for headers in producer.headers] == [
        b"1700000000000000",
        b"1700000000010000",
        b"1700000000020000",
    ]
    totals = subject.status()
    assert (totals.frames_late, subject.counts.send_lag.max_us) == (0, 0)
    assert totals.clock_deviation_us_max == step_ms * 1000


def test_what_a_failed_load_is_due_stays_as_it_was_when_it_failed() -> None:
    clock = ManualClock(START_NS)
    load = FakeLoad([0, 10], error=OSError("file is gone"))
    subject = publisher(load, FakeProducer(clock), clock)
    subject.run()
    due = subject.messages_due()

    load.intended_ns = np.append(load.intended_ns, START_NS + 50 * MS)
    clock.advance_ns(1000 * MS)

    assert subject.phase == Phase.PHASE_FAILED
    assert due == subject.messages_due() <= 2


def _await(happened: object) -> None:
    assert callable(happened)
    pause = threading.Event()
    for _ in range(500):
        if happened():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen")
