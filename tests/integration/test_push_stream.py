"""The stream of pushes between real processes: an aggregator that restarts, is slow, refuses one push of many."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.grpc.calls import channel_to
from market_spread.common.telemetry.metrics import FRAMES_LATE, MESSAGES_DUE, SEND_LAG
from market_spread.common.telemetry.pusher import Pusher, PushStream, StreamEndedError
from market_spread.common.telemetry.recorder import Recorder
from market_spread.v1.metrics_pb2 import Sample, SeriesKey
from tests.support.aggregators import (
    DEADLINE_S,
    Aggregator,
    Launch,
    data_of,
    lag_count,
    launcher,
    push_to,
    pusher_of,
    recorder_of,
    taken,
)
from tests.support.waiting import eventually


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    with launcher(tmp_path) as launched:
        yield launched


class Work:
    """What several processes record, a value at a time."""

    def __init__(self, aggregator: Aggregator, processes: int = 4) -> None:
        self.recorders = [recorder_of(f"sender-{number}") for number in range(processes)]
        self.pushers = [pusher_of(recorder, aggregator) for recorder in self.recorders]
        self.recorded = 0
        for pusher in self.pushers:
            pusher.start()

    def record(self) -> None:
        for recorder in self.recorders:
            recorder.histogram(SEND_LAG).record_us(np.array([7]))
            recorder.counter(MESSAGES_DUE).add(1)
            self.recorded += 1
        time.sleep(0.005)

    def record_for(self, duration_s: float) -> None:
        end = time.monotonic() + duration_s
        while time.monotonic() < end:
            self.record()

    def stop(self) -> None:
        for pusher in self.pushers:
            pusher.stop()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_aggregator_that_restarts_in_mid_stream_loses_nothing_and_has_nothing_twice(
    launch: Launch, tmp_path: Path, number: signal.Signals
) -> None:
    first = launch(runs_folder=tmp_path / "runs")
    work = Work(first)
    work.record_for(0.5)

    first.process.send_signal(number)
    _, errors = first.process.communicate(timeout=DEADLINE_S)
    work.record_for(0.5)
    second = launch(first.grpc_port, first.http_port, runs_folder=tmp_path / "runs")
    work.record_for(0.5)
    eventually("what was kept is delivered", lambda: all(pusher.delivery.pending < 3 for pusher in work.pushers))
    work.stop()

    assert lag_count(second) == work.recorded
    sources = data_of(second)["sources"]
    assert [(source["missing"], source["pushes_dropped"]) for source in sources] == [(0, 0)] * 4
    kept = [pusher.delivery for pusher in work.pushers]
    assert [(each.pending, each.dropped, each.refused) for each in kept] == [(0, 0, 0)] * 4
    assert "Traceback" not in errors


@pytest.mark.alone
def test_a_stream_is_told_that_the_aggregator_stops(launch: Launch) -> None:
    aggregator, recorder = launch(), recorder_of("sender-0")
    recorder.counter(MESSAGES_DUE).add(1)
    with channel_to(aggregator.address) as channel:
        stream = PushStream(channel)
        stream.send(taken(recorder))
        answer = stream.answer(DEADLINE_S)
        begin = time.monotonic()

        aggregator.process.terminate()
        with pytest.raises(StreamEndedError) as ended:
            stream.answer(DEADLINE_S)

        _, errors = aggregator.process.communicate(timeout=DEADLINE_S)
    assert answer is not None
    assert str(ended.value) == "the metrics-aggregator stops; keep what is not answered and send it again"
    assert aggregator.process.returncode == 0
    assert time.monotonic() - begin < 5
    assert "Traceback" not in errors


def test_a_slow_aggregator_gets_everything_once_and_holds_up_nobody(launch: Launch) -> None:
    aggregator = launch()
    work = Work(aggregator)
    work.record_for(0.2)
    aggregator.process.send_signal(signal.SIGSTOP)

    for _ in range(100):
        work.record()  # nobody goes on before SIGCONT who waits for an answer
    eventually("pushes are kept", lambda: all(pusher.delivery.pending > 3 for pusher in work.pushers))
    aggregator.process.send_signal(signal.SIGCONT)
    work.record_for(0.2)
    work.stop()

    assert lag_count(aggregator) == work.recorded
    sources = data_of(aggregator)["sources"]
    assert [(source["missing"], source["duplicates"]) for source in sources] == [(0, 0)] * 4


def test_what_a_silent_aggregator_was_not_sent_is_bounded_and_what_is_dropped_is_shown(launch: Launch) -> None:
    aggregator, recorder = launch(), recorder_of("sender-0")
    pusher = Pusher(recorder, aggregator.address, clock=SystemClock(), interval_s=0.02, pending_max=40)
    pusher.start()
    record(recorder)
    eventually("the stream is open", lambda: lag_count(aggregator) == 1)
    aggregator.process.send_signal(signal.SIGSTOP)

    def dropped() -> bool:
        record(recorder)
        assert pusher.delivery.pending <= 40
        return pusher.delivery.dropped >= 3

    eventually("more is recorded than is kept", dropped)
    aggregator.process.send_signal(signal.SIGCONT)
    eventually("what was kept is delivered", lambda: pusher.delivery.pending == 0)
    record(recorder)
    pusher.stop()

    (source,) = data_of(aggregator)["sources"]
    assert source["missing"] == source["pushes_dropped"] == pusher.delivery.dropped


@pytest.mark.alone
def test_stop_gives_a_silent_aggregator_two_seconds(launch: Launch) -> None:
    aggregator, recorder = launch(), recorder_of("sender-0")
    pusher = pusher_of(recorder, aggregator)
    pusher.start()
    record(recorder)
    eventually("the stream is open", lambda: lag_count(aggregator) == 1)
    aggregator.process.send_signal(signal.SIGSTOP)
    record(recorder)
    begin = time.monotonic()

    pusher.stop()

    assert 1.9 < time.monotonic() - begin < 5
    assert pusher.delivery.pending == 1


def test_a_wrong_push_is_refused_with_a_sentence_and_the_others_are_taken(launch: Launch) -> None:
    aggregator, recorder = launch(), recorder_of("sender-0")
    pushes = []
    for _ in range(3):
        record(recorder)
        pushes.append(taken(recorder))
    pushes[1].counters.append(Sample(key=SeriesKey(name=FRAMES_LATE.name, labels={"host": "a"}), value=1))

    answers = push_to(aggregator.address, *pushes)

    assert [(answer.sequence, answer.refusal) for answer in answers] == [
        (1, ""),
        (2, f"{FRAMES_LATE.name} was pushed with the labels ['host']; it has []"),
        (3, ""),
    ]
    assert lag_count(aggregator) == 2
    assert data_of(aggregator)["aggregator"]["refused"] == 1


def record(recorder: Recorder) -> None:
    recorder.histogram(SEND_LAG).record_us(np.array([7]))
