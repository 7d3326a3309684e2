"""What a pusher keeps, sends again and drops."""

from collections import deque
from collections.abc import Callable
from typing import cast

import pytest

from market_spread.common.telemetry import pusher as push_module
from market_spread.common.telemetry.metrics import CPU, FRAMES_LATE, MEMORY
from market_spread.common.telemetry.pusher import Pusher, PushStream, StreamEndedError
from market_spread.common.telemetry.recorder import Recorder
from market_spread.v1.metrics_pb2 import PushRequest, PushResponse
from tests.support.clock import ManualClock


class Aggregator:
    """Answers as it is told to, and remembers what it took.

    away: a stream ends when something is sent. refusal: the answer to every push. answer_takes_ns: from one answer to
    the next; None if none ever comes.
    """

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.away = False
        self.refusal = ""
        self.answer_takes_ns: int | None = 0
        self.streams: list[Stream] = []
        self.taken: list[PushRequest] = []

    def open_stream(self) -> "Stream":
        self.streams.append(Stream(self, self._clock))
        return self.streams[-1]

    def take(self, push: PushRequest) -> PushResponse:
        copy = PushRequest()
        copy.CopyFrom(push)
        self.taken.append(copy)
        return PushResponse(sequence=push.sequence, refusal=self.refusal)

    def sequences(self) -> list[int]:
        return [push.sequence for push in self.taken]


class Stream:
    """One stream to it."""

    def __init__(self, aggregator: Aggregator, clock: ManualClock) -> None:
        self._aggregator = aggregator
        self._clock = clock
        self.sent: list[int] = []
        self._unanswered: deque[PushRequest] = deque()
        self.ended = aggregator.away
        self.closed = False

    def send(self, push: PushRequest) -> None:
        assert not self.closed
        self.sent.append(push.sequence)
        self._unanswered.append(push)

    def answer(self, timeout_s: float) -> PushResponse | None:
        if self.ended or self._aggregator.away:
            self.ended = True
            raise StreamEndedError("planned")
        takes_ns = self._aggregator.answer_takes_ns
        if not self._unanswered or takes_ns is None or takes_ns > round(timeout_s * 1e9):
            self._clock.advance_ns(round(timeout_s * 1e9))
            return None
        self._clock.advance_ns(takes_ns)
        return self._aggregator.take(self._unanswered.popleft())

    def close(self) -> None:
        self.closed = True


OpenStream = Callable[[], PushStream]


class Rig:
    def __init__(self, pending_max: int = 600) -> None:
        self.clock = ManualClock()
        self.recorder = Recorder(source="sender-0", clock=self.clock, run_id="r1")
        self.aggregator = Aggregator(self.clock)
        self.pusher = Pusher(
            self.recorder,
            "unused",
            clock=self.clock,
            pending_max=pending_max,
            open_stream=cast(OpenStream, self.aggregator.open_stream),
        )

    def work(self) -> None:
        self.recorder.counter(FRAMES_LATE).add(1)

    def step(self) -> None:
        self.work()
        self.pusher.step()
        self.clock.advance_ns(1_000_000_000)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_push_has_cpu_memory_and_clock(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_module, "read_clock_error", lambda: (12, True))
    monkeypatch.setattr(push_module, "host_id", lambda: "a-boot-id")

    rig.step()

    (push,) = rig.aggregator.taken
    counters = {sample.key.name: sample.value for sample in push.counters}
    gauges = {sample.key.name: sample.value for sample in push.gauges}
    assert counters[FRAMES_LATE.name] == 1.0
    assert counters[CPU.name] > 0
    assert gauges[MEMORY.name] > 1_000_000
    assert (push.clock_error_us, push.clock_synchronised) == (12, True)
    assert push.host == "a-boot-id"


def test_nothing_is_pushed_without_work(rig: Rig) -> None:
    rig.pusher.step()

    assert rig.aggregator.streams == []


def test_all_pushes_go_over_one_stream(rig: Rig) -> None:
    rig.step()
    rig.step()
    rig.step()

    (stream,) = rig.aggregator.streams
    assert stream.sent == [1, 2, 3]
    assert (rig.pusher.delivery.pending, stream.closed) == (0, False)


def test_unanswered_pushes_are_sent_again_in_order_over_the_next_stream(rig: Rig) -> None:
    rig.aggregator.away = True
    rig.step()
    rig.step()
    rig.aggregator.away = False
    rig.step()

    assert [stream.sent for stream in rig.aggregator.streams] == [[1], [1, 2], [1, 2, 3]]
    assert [stream.closed for stream in rig.aggregator.streams] == [True, True, False]
    assert rig.aggregator.sequences() == [1, 2, 3]
    assert rig.pusher.delivery.pending == 0


def test_an_unreachable_aggregator_is_tried_once_a_step(rig: Rig) -> None:
    rig.aggregator.away = True
    rig.step()
    rig.step()
    rig.step()

    assert len(rig.aggregator.streams) == 3
    assert rig.pusher.delivery.pending == 3


def test_a_stream_that_ended_between_two_steps_delays_nothing(rig: Rig) -> None:
    rig.step()
    rig.aggregator.streams[0].ended = True

    rig.step()

    assert [stream.sent for stream in rig.aggregator.streams] == [[1], [2]]
    assert rig.aggregator.sequences() == [1, 2]


def test_what_a_stream_that_ends_has_not_answered_is_sent_again(rig: Rig) -> None:
    rig.aggregator.answer_takes_ns = None
    rig.step()
    rig.step()
    rig.aggregator.streams[0].ended = True
    rig.aggregator.answer_takes_ns = 0

    rig.step()

    assert [stream.sent for stream in rig.aggregator.streams] == [[1, 2], [1, 2, 3]]
    assert rig.aggregator.sequences() == [1, 2, 3]


def test_the_oldest_is_dropped_and_counted() -> None:
    rig = Rig(pending_max=2)
    rig.aggregator.away = True
    for _ in range(5):
        rig.step()
    rig.aggregator.away = False
    rig.pusher.step()

    assert rig.aggregator.sequences() == [4, 5]
    assert [push.pushes_dropped for push in rig.aggregator.taken] == [3, 3]
    assert rig.pusher.delivery.dropped == 3


def test_of_a_slow_aggregator_the_oldest_that_is_not_on_its_way_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_module, "IN_FLIGHT_MAX", 2)
    monkeypatch.setattr(push_module, "SILENCE_S", 100.0)
    rig = Rig(pending_max=3)
    rig.aggregator.answer_takes_ns = None
    for _ in range(4):
        rig.step()
    rig.aggregator.answer_takes_ns = 0
    rig.step()

    assert rig.aggregator.sequences() == [1, 2, 5]
    assert [push.pushes_dropped for push in rig.aggregator.taken] == [0, 0, 2]
    assert (rig.pusher.delivery.pending, rig.pusher.delivery.dropped) == (0, 2)


def test_a_refused_push_ends_neither_the_stream_nor_the_next(rig: Rig) -> None:
    rig.aggregator.refusal = "planned"
    rig.step()
    rig.aggregator.refusal = ""
    rig.step()

    (stream,) = rig.aggregator.streams
    assert stream.sent == [1, 2]
    assert (rig.pusher.delivery.refused, rig.pusher.delivery.dropped, rig.pusher.delivery.pending) == (1, 0, 0)


def test_a_push_that_is_too_large_for_a_message_is_refused_here(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_module, "MESSAGE_BYTES_MAX", 20)

    rig.step()

    assert rig.aggregator.streams == []
    assert (rig.pusher.delivery.refused, rig.pusher.delivery.pending) == (1, 0)


def test_a_backlog_does_not_delay_the_next_interval(rig: Rig) -> None:
    rig.aggregator.away = True
    for _ in range(5):
        rig.step()
    rig.aggregator.away = False
    rig.aggregator.answer_takes_ns = 400_000_000
    begin_ns = rig.clock.monotonic_ns()

    rig.pusher.step()

    assert rig.clock.monotonic_ns() - begin_ns == 1_000_000_000
    assert rig.aggregator.sequences() == [1, 2]
    assert rig.pusher.delivery.pending == 3


def test_so_many_pushes_are_on_their_way_at_most(rig: Rig) -> None:
    rig.aggregator.away = True
    for _ in range(40):
        rig.step()
    rig.aggregator.away = False
    rig.aggregator.answer_takes_ns = None

    rig.pusher.step()

    assert rig.aggregator.streams[-1].sent == list(range(1, 33))


def test_a_silent_aggregator_is_given_up_after_five_seconds_and_tried_again(rig: Rig) -> None:
    rig.aggregator.answer_takes_ns = None
    for _ in range(3):
        rig.step()
    rig.aggregator.answer_takes_ns = 0
    rig.step()

    first, second = rig.aggregator.streams
    assert (first.closed, second.closed) == (True, False)
    assert (first.sent, second.sent) == ([1, 2, 3], [1, 2, 3, 4])
    assert rig.pusher.delivery.pending == 0


def test_the_rest_of_an_earlier_run_is_pushed_first(rig: Rig) -> None:
    rig.work()
    rig.recorder.run_id = "r2"
    rig.work()

    rig.pusher.step()

    assert [(push.run_id, push.sequence) for push in rig.aggregator.taken] == [("r1", 1), ("r2", 1)]


def test_the_last_interval_is_delivered_at_stop_and_the_stream_closed(rig: Rig) -> None:
    rig.work()

    rig.pusher.stop()

    assert rig.aggregator.sequences() == [1]
    assert [stream.closed for stream in rig.aggregator.streams] == [True]


@pytest.mark.parametrize("away", [True, False])
def test_stop_tries_for_two_seconds_at_most(rig: Rig, away: bool) -> None:
    rig.aggregator.away, rig.aggregator.answer_takes_ns = away, None
    rig.work()
    begin_ns = rig.clock.monotonic_ns()

    rig.pusher.stop()

    assert rig.clock.monotonic_ns() - begin_ns == 2_000_000_000
    assert rig.pusher.delivery.pending == 1


def test_stop_delivers_once_the_aggregator_is_back(rig: Rig) -> None:
    rig.aggregator.away = True
    rig.work()
    aggregator = rig.aggregator

    def back_after_three() -> Stream:
        aggregator.away = len(aggregator.streams) < 3
        return aggregator.open_stream()

    pusher = Pusher(rig.recorder, "unused", clock=rig.clock, open_stream=cast(OpenStream, back_after_three))
    pusher.stop()

    assert aggregator.sequences() == [1]
    assert len(aggregator.streams) == 4


def test_a_second_stop_does_nothing(rig: Rig) -> None:
    rig.pusher.stop()
    rig.work()

    rig.pusher.stop()

    assert rig.aggregator.streams == []


def test_a_started_pusher_ends_with_everything_delivered(rig: Rig) -> None:
    rig.work()

    rig.pusher.start()
    rig.pusher.stop()

    assert rig.aggregator.sequences() == [1]


def test_a_stop_with_a_backlog_still_takes_two_seconds_at_most(rig: Rig) -> None:
    rig.aggregator.away = True
    for _ in range(20):
        rig.step()
    rig.aggregator.away = False
    rig.aggregator.answer_takes_ns = 300_000_000
    begin_ns = rig.clock.monotonic_ns()

    rig.pusher.stop()

    assert rig.aggregator.sequences() == [1, 2, 3, 4, 5, 6]
    assert rig.clock.monotonic_ns() - begin_ns == 2_000_000_000


def test_drops_are_told_by_the_run_that_they_are_of() -> None:
    rig = Rig(pending_max=2)
    rig.aggregator.away = True
    for _ in range(3):
        rig.step()
    rig.recorder.run_id = "r2"
    for _ in range(1):
        rig.step()
    rig.aggregator.away = False
    rig.step()

    assert rig.pusher.delivery.dropped == 3
    told = [(push.run_id, push.sequence, push.pushes_dropped) for push in rig.aggregator.taken]
    assert told == [("r2", 1, 0), ("r2", 2, 0)]


def test_an_interval_that_was_ended_is_pushed_before_the_one_that_goes_on(rig: Rig) -> None:
    rig.work()
    rig.recorder.begin_interval()
    rig.work()

    rig.pusher.step()

    assert [(push.run_id, push.sequence) for push in rig.aggregator.taken] == [("r1", 1), ("r1", 2)]
    assert [push.counters[0].value for push in rig.aggregator.taken] == [1, 2]
