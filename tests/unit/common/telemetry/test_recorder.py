"""What a recorder hands over, and when."""

import threading

import numpy as np
import pytest

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import (
    ALERTS,
    FRAMES_LATE,
    JOB_BATCH,
    SEND_LAG,
    UNACKNOWLEDGED,
    Metric,
    MetricKind,
)
from market_spread.common.telemetry.recorder import Recorder, pushes_missing
from market_spread.v1.metrics_pb2 import PushRequest
from tests.support.clock import ManualClock

START = 1_700_000_000_000_000_000


def recorder_at(clock: ManualClock) -> Recorder:
    return Recorder(source="sender-0", clock=clock, run_id="r1")


def taken(recorder: Recorder) -> PushRequest:
    (push,) = recorder.take()
    return push


def test_take_without_work_is_nothing() -> None:
    recorder = recorder_at(ManualClock(START))
    recorder.counter(FRAMES_LATE)
    recorder.histogram(SEND_LAG)

    assert recorder.take() == []


def test_take_is_the_interval_since_the_last_take() -> None:
    clock = ManualClock(START)
    recorder = recorder_at(clock)
    clock.advance_ns(1_000)
    recorder.take()
    clock.advance_ns(500)
    recorder.counter(FRAMES_LATE).add(1)

    push = taken(recorder)

    assert (push.start_unix_ns, push.end_unix_ns) == (START + 1_000, START + 1_500)
    assert (push.source, push.run_id, push.epoch_unix_ns, push.sequence) == ("sender-0", "r1", START, 1)


def test_histograms_are_of_the_interval_and_counters_since_the_epoch() -> None:
    recorder = recorder_at(ManualClock(START))
    histogram, counter = recorder.histogram(SEND_LAG), recorder.counter(FRAMES_LATE)
    histogram.record_us(np.array([5, 7]))
    counter.add(2)
    recorder.take()
    histogram.record_us(np.array([100, -3]))
    counter.add(3)

    push = taken(recorder)

    (sent,) = push.histograms
    assert (sent.key.name, sent.count, sent.sum, sent.min, sent.max) == (SEND_LAG.name, 2, 100, 0, 100)
    assert (sent.overflow, sent.negative) == (0, 1)
    assert HdrCounts.decode(sent.encoded).counts[[0, 100]].tolist() == [1, 1]
    assert [(sample.key.name, sample.value) for sample in push.counters] == [(FRAMES_LATE.name, 5.0)]
    assert push.sequence == 2


def test_a_sum_that_is_too_large_for_the_wire_is_its_largest_value() -> None:
    recorder = recorder_at(ManualClock(START))
    recorder.histogram(SEND_LAG).record_us(np.full(20_000, 1_700_000_000_000_000, np.int64))

    (sent,) = taken(recorder).histograms

    assert sent.sum == 18_446_744_073_709_551_615


def test_setting_the_same_value_is_no_work() -> None:
    recorder = recorder_at(ManualClock(START))
    recorder.gauge(JOB_BATCH).set(4)
    recorder.counter(FRAMES_LATE).set(9)
    recorder.take()

    recorder.gauge(JOB_BATCH).set(4)
    recorder.counter(FRAMES_LATE).set(9)
    recorder.counter(FRAMES_LATE).add(0)

    assert recorder.take() == []


def test_a_gauge_is_pushed_once_it_is_set() -> None:
    recorder = recorder_at(ManualClock(START))
    recorder.gauge(UNACKNOWLEDGED)
    recorder.gauge(JOB_BATCH).set(-1)

    push = taken(recorder)

    assert [(sample.key.name, sample.value) for sample in push.gauges] == [(JOB_BATCH.name, -1.0)]


def test_the_same_labels_are_the_same_series() -> None:
    recorder = recorder_at(ManualClock(START))
    recorder.counter(ALERTS, phase="measured").add(1)
    recorder.counter(ALERTS, phase="measured").add(1)
    recorder.counter(ALERTS, phase="warm_up").add(5)

    push = taken(recorder)

    assert [(dict(sample.key.labels), sample.value) for sample in push.counters] == [
        ({"phase": "measured"}, 2.0),
        ({"phase": "warm_up"}, 5.0),
    ]


def test_a_change_of_run_begins_a_new_epoch_and_hands_over_the_rest_first() -> None:
    clock = ManualClock(START)
    recorder = recorder_at(clock)
    recorder.counter(FRAMES_LATE).add(7)
    recorder.gauge(JOB_BATCH).set(3)
    recorder.run_id = "r2"
    recorder.counter(FRAMES_LATE).add(1)

    first, second = recorder.take()

    assert (first.run_id, first.sequence, first.counters[0].value) == ("r1", 1, 7.0)
    assert (second.run_id, second.sequence, second.counters[0].value) == ("r2", 1, 1.0)
    assert second.epoch_unix_ns == START + 1
    assert not second.gauges
    assert recorder.take() == []


def test_the_same_run_again_changes_nothing() -> None:
    recorder = recorder_at(ManualClock(START))
    recorder.counter(FRAMES_LATE).add(7)

    recorder.run_id = "r1"

    assert taken(recorder).epoch_unix_ns == START


def test_a_change_of_run_is_no_work() -> None:
    recorder = recorder_at(ManualClock(START))

    recorder.run_id = "r2"

    assert recorder.take() == []


def test_a_clock_stepped_back_makes_no_interval_that_ends_before_it_starts() -> None:
    clock = ManualClock(START)
    recorder = recorder_at(clock)
    clock.advance_ns(-5_000)
    recorder.counter(FRAMES_LATE).add(1)

    push = taken(recorder)

    assert (push.start_unix_ns, push.end_unix_ns) == (START - 5_000, START - 5_000)


def test_unregistered_metrics_are_refused() -> None:
    with pytest.raises(ValueError, match="market_spread_made_up_total is not in"):
        recorder_at(ManualClock()).counter(Metric("market_spread_made_up_total", MetricKind.COUNTER, "?"))


def test_wrong_labels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"has the labels \['phase'\], not \['topic'\]"):
        recorder_at(ManualClock()).counter(ALERTS, topic="orders")


def test_wrong_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="is a histogram, not a counter"):
        recorder_at(ManualClock()).counter(SEND_LAG)


def test_threads_lose_nothing() -> None:
    recorder = recorder_at(ManualClock(START))
    histogram, counter = recorder.histogram(SEND_LAG), recorder.counter(FRAMES_LATE)
    pushes: list[PushRequest] = []

    def work() -> None:
        for _ in range(200):
            histogram.record_us(np.array([1, 2, 3]))
            counter.add(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        pushes += recorder.take()
    pushes += recorder.take()

    assert sum(item.count for push in pushes for item in push.histograms) == 2_400
    assert pushes[-1].counters[0].value == 800.0
    assert [push.sequence for push in pushes] == list(range(1, len(pushes) + 1))


@pytest.mark.parametrize(
    ("last", "seen", "dropped", "missing"),
    [
        (3, 3, 0, 0),
        (42, 3, 39, 39),  # the first 39 were dropped before an aggregator answered
        (42, 3, 0, 39),  # and none of those was told of
        (10, 8, 0, 2),
        (3, 3, 5, 5),  # dropped after the last one that came, which was sent again and told of it
        (0, 0, 0, 0),
    ],
)
def test_pushes_that_are_missing(last: int, seen: int, dropped: int, missing: int) -> None:
    assert pushes_missing(last=last, seen=seen, dropped=dropped) == missing
