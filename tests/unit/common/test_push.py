"""What a pusher keeps, sends again and drops."""

import grpc
import pytest

from market_spread.common import push as push_module
from market_spread.common.clock import ManualClock
from market_spread.common.clock_error import ClockError
from market_spread.common.metric_names import CPU, FRAMES_LATE, MEMORY
from market_spread.common.push import Pusher
from market_spread.common.recording import Recorder
from market_spread.v1.metrics_pb2 import PushRequest, PushResponse


class RefusalError(grpc.RpcError):
    def __init__(self, code: grpc.StatusCode) -> None:
        super().__init__()
        self._code = code

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return "planned"


class Aggregator:
    """Answers as it is told to, and remembers what it took."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.answer: grpc.StatusCode | None = None
        self.call_takes_ns = 0
        self.calls = 0
        self.timeouts_s: list[float] = []
        self.taken: list[PushRequest] = []

    def __call__(self, push: PushRequest, timeout_s: float) -> PushResponse:
        self.calls += 1
        self.timeouts_s.append(timeout_s)
        self._clock.advance_ns(min(self.call_takes_ns, round(timeout_s * 1e9)))
        if self.call_takes_ns > timeout_s * 1e9:
            raise RefusalError(grpc.StatusCode.DEADLINE_EXCEEDED)
        if self.answer is not None:
            raise RefusalError(self.answer)
        copy = PushRequest()
        copy.CopyFrom(push)
        self.taken.append(copy)
        return PushResponse(sequence=push.sequence)

    def sequences(self) -> list[int]:
        return [push.sequence for push in self.taken]


class Rig:
    def __init__(self, pending_max: int = 600) -> None:
        self.clock = ManualClock()
        self.recorder = Recorder(source="sender-0", clock=self.clock, run_id="r1")
        self.aggregator = Aggregator(self.clock)
        self.pusher = Pusher(self.recorder, "unused", clock=self.clock, pending_max=pending_max, call=self.aggregator)

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
    monkeypatch.setattr(push_module, "read_clock_error", lambda: ClockError(bound_us=12, synchronised=True))

    rig.step()

    (push,) = rig.aggregator.taken
    counters = {sample.key.name: sample.value for sample in push.counters}
    gauges = {sample.key.name: sample.value for sample in push.gauges}
    assert counters[FRAMES_LATE.name] == 1.0
    assert counters[CPU.name] > 0
    assert gauges[MEMORY.name] > 1_000_000
    assert (push.clock_error_us, push.clock_synchronised) == (12, True)


def test_nothing_is_pushed_without_work(rig: Rig) -> None:
    rig.pusher.step()

    assert rig.aggregator.calls == 0


def test_unacknowledged_pushes_are_sent_again_in_order(rig: Rig) -> None:
    rig.aggregator.answer = grpc.StatusCode.UNAVAILABLE
    rig.step()
    rig.step()
    rig.aggregator.answer = None
    rig.step()

    assert rig.aggregator.sequences() == [1, 2, 3]
    assert rig.pusher.pending == 0


def test_an_unreachable_aggregator_is_tried_once_a_step(rig: Rig) -> None:
    rig.aggregator.answer = grpc.StatusCode.DEADLINE_EXCEEDED
    rig.step()
    rig.step()
    rig.step()

    assert rig.aggregator.calls == 3
    assert rig.pusher.pending == 3


def test_the_oldest_is_dropped_and_counted() -> None:
    rig = Rig(pending_max=2)
    rig.aggregator.answer = grpc.StatusCode.UNAVAILABLE
    for _ in range(5):
        rig.step()
    rig.aggregator.answer = None
    rig.pusher.step()

    assert rig.aggregator.sequences() == [4, 5]
    assert [push.pushes_dropped for push in rig.aggregator.taken] == [3, 3]
    assert rig.pusher.dropped == 3


def test_a_refused_push_does_not_hold_up_the_next(rig: Rig) -> None:
    rig.aggregator.answer = grpc.StatusCode.INVALID_ARGUMENT
    rig.step()
    rig.aggregator.answer = None
    rig.step()

    assert rig.aggregator.sequences() == [2]
    assert (rig.pusher.refused, rig.pusher.dropped) == (1, 0)


def test_a_backlog_does_not_delay_the_next_interval(rig: Rig) -> None:
    rig.aggregator.answer = grpc.StatusCode.UNAVAILABLE
    for _ in range(5):
        rig.step()
    rig.aggregator.answer = None
    rig.aggregator.call_takes_ns = 400_000_000

    rig.pusher.step()

    assert rig.aggregator.sequences() == [1, 2, 3]
    assert rig.pusher.pending == 2
    assert rig.aggregator.timeouts_s[-3:] == [1.0, 1.0, 1.0]


def test_the_rest_of_an_earlier_run_is_pushed_first(rig: Rig) -> None:
    rig.work()
    rig.recorder.run_id = "r2"
    rig.work()

    rig.pusher.step()

    assert [(push.run_id, push.sequence) for push in rig.aggregator.taken] == [("r1", 1), ("r2", 1)]


def test_the_last_interval_is_delivered_at_stop(rig: Rig) -> None:
    rig.work()

    rig.pusher.stop()

    assert rig.aggregator.sequences() == [1]


def test_stop_tries_for_two_seconds_at_most(rig: Rig) -> None:
    rig.aggregator.answer = grpc.StatusCode.UNAVAILABLE
    rig.work()
    begin_ns = rig.clock.monotonic_ns()

    rig.pusher.stop()

    assert rig.clock.monotonic_ns() - begin_ns == 2_000_000_000
    assert rig.pusher.pending == 1


def test_stop_delivers_once_the_aggregator_is_back(rig: Rig) -> None:
    rig.aggregator.answer = grpc.StatusCode.UNAVAILABLE
    rig.work()
    aggregator, calls = rig.aggregator, rig.aggregator.calls

    def back_after_three(push: PushRequest, timeout_s: float) -> PushResponse:
        if aggregator.calls - calls == 3:
            aggregator.answer = None
        return aggregator(push, timeout_s)

    pusher = Pusher(rig.recorder, "unused", clock=rig.clock, call=back_after_three)
    pusher.stop()

    assert aggregator.sequences() == [1]


def test_a_second_stop_does_nothing(rig: Rig) -> None:
    rig.pusher.stop()
    rig.work()

    rig.pusher.stop()

    assert rig.aggregator.calls == 0


def test_a_started_pusher_ends_with_everything_delivered(rig: Rig) -> None:
    rig.work()

    rig.pusher.start()
    rig.pusher.stop()

    assert rig.aggregator.sequences() == [1]


def test_a_stop_with_a_backlog_still_takes_two_seconds_at_most(rig: Rig) -> None:
    rig.aggregator.answer = grpc.StatusCode.UNAVAILABLE
    for _ in range(20):
        rig.step()
    rig.aggregator.answer = None
    rig.aggregator.call_takes_ns = 300_000_000
    begin_ns = rig.clock.monotonic_ns()

    rig.pusher.stop()

    assert rig.aggregator.sequences() == [1, 2, 3, 4, 5, 6]
    assert rig.clock.monotonic_ns() - begin_ns == 2_000_000_000
