"""Pushes like those of a run at 20,000 messages a second: the series of sender and receiver, with wide latencies."""

from collections.abc import Callable, Iterator

import numpy as np

from market_spread.common.hdr.codec import Int64s
from market_spread.common.telemetry import metrics as metric_names
from market_spread.common.telemetry.recorder import Recorder
from market_spread.v1.metrics_pb2 import PushRequest
from tests.support.clock import ManualClock

SECOND_NS = 1_000_000_000
MESSAGES_PER_S = 20_000
FRAMES_PER_S = 1_000
ALERTS_PER_S = 200
PARTITIONS = 1


class Values:
    """Latencies, log-normal, microseconds."""

    def __init__(self, seed: int = 1) -> None:
        self._random = np.random.default_rng(seed)

    def of(self, median_us: float, sigma: float, count: int) -> Int64s:
        """So many of them."""
        values = self._random.lognormal(np.log(median_us), sigma, count)
        return np.clip(values, 1, 3.6e9).astype(np.int64)


def sender_pushes(source: str, count: int, *, run_id: str = "r1", partitions: int = PARTITIONS) -> list[PushRequest]:
    """A second each, one after the other."""
    clock, values = ManualClock(), Values()
    recorder = Recorder(source=source, clock=clock, run_id=run_id)
    return list(_taken(recorder, clock, lambda: record_sender(recorder, values, partitions), count))


def receiver_pushes(source: str, count: int, *, run_id: str = "r1") -> list[PushRequest]:
    """A second each, one after the other."""
    clock, values = ManualClock(), Values()
    recorder = Recorder(source=source, clock=clock, run_id=run_id)
    return list(_taken(recorder, clock, lambda: record_receiver(recorder, values), count))


def record_sender(recorder: Recorder, values: Values, partitions: int = PARTITIONS) -> None:
    """What a sender measures in a second."""
    recorder.histogram(metric_names.SEND_LAG).record_us(values.of(1_600, 0.7, MESSAGES_PER_S))
    recorder.histogram(metric_names.FRAME_DELAY).record_us(values.of(300, 1.0, FRAMES_PER_S))
    recorder.histogram(metric_names.ACKNOWLEDGE).record_us(values.of(2_500, 0.6, FRAMES_PER_S))
    for metric, number in ((metric_names.MESSAGES_DUE, MESSAGES_PER_S), (metric_names.FRAMES_LATE, 3)):
        recorder.counter(metric).add(number)
    recorder.counter(metric_names.MESSAGES_FAILED).add(0)
    recorder.gauge(metric_names.UNACKNOWLEDGED).set(11_400)
    for topic in ("nbbo", "orders"):
        for partition in range(partitions):
            place = {"topic": topic, "partition": partition}
            recorder.counter(metric_names.MESSAGES_SENT, **place).add(MESSAGES_PER_S / 2 / partitions)
            recorder.counter(metric_names.PAYLOAD_SENT, **place).add(MESSAGES_PER_S * 28 / partitions)
            recorder.counter(metric_names.FRAMES_SENT, **place).add(FRAMES_PER_S / 2 / partitions)


def record_receiver(recorder: Recorder, values: Values) -> None:
    """What a receiver measures in a second."""
    for metric, median_us in ((metric_names.END_TO_END, 9_000), (metric_names.SERVICE, 7_000)):
        recorder.histogram(metric, phase="measured").record_us(values.of(median_us, 0.9, ALERTS_PER_S))
    for stage, median_us in (("send_lag", 1_600), ("ingest", 2_700), ("compute", 1_400), ("delivery", 3_200)):
        recorder.histogram(metric_names.STAGE, phase="measured", stage=stage).record_us(
            values.of(median_us, 0.9, ALERTS_PER_S)
        )
    recorder.counter(metric_names.ALERTS, phase="measured").add(ALERTS_PER_S)
    recorder.counter(metric_names.ALERTS_DUPLICATED).add(0)


def _taken(recorder: Recorder, clock: ManualClock, record: Callable[[], None], count: int) -> Iterator[PushRequest]:
    for _ in range(count):
        record()
        # In a process the pusher adds these two.
        recorder.counter(metric_names.CPU).add(0.07)
        recorder.gauge(metric_names.MEMORY).set(60_000_000)
        clock.advance_ns(SECOND_NS)
        yield from recorder.take()
