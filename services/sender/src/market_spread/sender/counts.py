"""What a load has come to so far: messages, frames and bytes by partition, how late, what is lost."""

import threading
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from market_spread.common.hdr.histogram import HdrCounts, bucket_indices, highest_values
from market_spread.common.kafka.client import Partition
from market_spread.common.telemetry import metrics as metric_names
from market_spread.common.telemetry.recorder import Recorder
from market_spread.common.wire.codec import Int64s
from market_spread.sender.framing import Frame
from market_spread.v1.control_pb2 import PartitionSent, SenderStatusResponse

# Of a run that does not say what late is.
LATE_NS_DEFAULT = 10_000_000


@dataclass(slots=True)
class _Pending:
    """What happened since the last `flush`, kept as it came, because recording is cheap only in bulk."""

    sent_ns: list[int] = field(default_factory=list)
    planned_ns: list[int] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    intended_ns: list[Int64s] = field(default_factory=list)
    acknowledge_ns: list[int] = field(default_factory=list)
    late: int = 0
    messages_failed: int = 0
    partitions: dict[Partition, PartitionSent] = field(default_factory=dict)


class SendCounts:
    """Counts a load's frames as they are sent and acknowledged, and records them as metrics. Thread-safe.

    A frame is late if it is sent more than `late_ns` after its plan, at the resolution of the histogram of delays: the
    count is that of the values above the limit in it.

    first_failure: why the first lost frame was lost, empty if none was. The histograms, microseconds, hold what was
    there at the last `flush`.
    """

    def __init__(self, recorder: Recorder, *, late_ns: int = LATE_NS_DEFAULT) -> None:
        self._recorder = recorder
        self._late_us = int(highest_values(bucket_indices(np.array([late_ns // 1000])))[0])
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._pending = _Pending()
        self._partitions: dict[Partition, PartitionSent] = {}
        self._totals = SenderStatusResponse()
        self._open_since_ns: Counter[int] = Counter()  # frames by when they were handed over; ascending, as they are
        self._age_ns_max = self._clock_deviation_ns_max = self._messages_due = self._frames_open = 0
        self.first_failure = ""
        self.frame_delay, self.send_lag, self.acknowledge = HdrCounts(), HdrCounts(), HdrCounts()

    def sent(self, frame: Frame, sent_ns: int) -> None:
        delay_ns = max(sent_ns - frame.planned_ns, 0)
        late = delay_ns // 1000 > self._late_us
        where = (frame.topic, frame.partition)
        with self._lock:
            pending = self._pending
            for partitions in (self._partitions, pending.partitions):
                sent = partitions.setdefault(where, PartitionSent(topic=frame.topic, partition=frame.partition))
                sent.messages += frame.messages
                sent.payload_bytes += len(frame.payload)
                sent.frames += 1
            totals = self._totals
            totals.messages_sent += frame.messages
            totals.frames_sent += 1
            totals.frames_late += late
            totals.frame_delay_ns_max = max(totals.frame_delay_ns_max, delay_ns)
            totals.unacknowledged_bytes += len(frame.payload)
            self._frames_open += 1
            self._open_since_ns[sent_ns] += 1
            pending.late += late
            pending.sent_ns.append(sent_ns)
            pending.planned_ns.append(frame.planned_ns)
            pending.messages.append(frame.messages)
            pending.intended_ns.append(frame.intended_ns)

    def acknowledged(self, where: Partition, payload_bytes: int, offset: int, sent_ns: int, now_ns: int) -> None:
        """The broker has a frame that was handed over at `sent_ns`."""
        with self._lock:
            sent = self._partitions[where]
            sent.frames_acknowledged += 1
            sent.next_offset = max(sent.next_offset, offset + 1)
            self._pending.acknowledge_ns.append(now_ns - sent_ns)
            self._close_frame(payload_bytes, sent_ns, now_ns)

    def failed(self, messages: int, payload_bytes: int, reason: str, sent_ns: int, now_ns: int) -> None:
        with self._lock:
            self._totals.frames_failed += 1
            self._totals.messages_failed += messages
            self._pending.messages_failed += messages
            self.first_failure = self.first_failure or reason
            self._close_frame(payload_bytes, sent_ns, now_ns)

    def wait_for_room(self, payload_bytes: int, bound: int, timeout_s: float) -> bool:
        """Wait until so many more bytes stay within the bound of unacknowledged ones; False if the time is over."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._frames_open == 0 or self._totals.unacknowledged_bytes + payload_bytes <= bound, timeout_s
            )

    def wait_until_closed(self, timeout_s: float) -> bool:
        """Wait until every frame is acknowledged or lost; False if the time is over."""
        with self._changed:
            return self._changed.wait_for(lambda: self._frames_open == 0, timeout_s)

    def flush(self, messages_due: int, *, now_ns: int, clock_deviation_ns: int) -> None:
        """Put what has happened into the histograms and the metrics."""
        with self._lock:
            pending, self._pending = self._pending, _Pending()
            newly_due, self._messages_due = messages_due - self._messages_due, messages_due
            unacknowledged_bytes = self._totals.unacknowledged_bytes
            self._age_ns_max = max(self._age_ns_max, now_ns - next(iter(self._open_since_ns), now_ns))
            self._clock_deviation_ns_max = max(self._clock_deviation_ns_max, clock_deviation_ns, key=abs)
        delays_us, lags_us = _delays_us(pending), _lags_us(pending)
        acknowledge_us = np.array(pending.acknowledge_ns, np.int64) // 1000
        with self._lock:
            self.frame_delay.record(delays_us)
            self.send_lag.record(lags_us)
            self.acknowledge.record(acknowledge_us)
        record = self._recorder
        record.histogram(metric_names.FRAME_DELAY).record_us(delays_us)
        record.histogram(metric_names.SEND_LAG).record_us(lags_us)
        record.histogram(metric_names.ACKNOWLEDGE).record_us(acknowledge_us)
        record.counter(metric_names.MESSAGES_DUE).add(newly_due)
        record.counter(metric_names.FRAMES_LATE).add(pending.late)
        record.counter(metric_names.MESSAGES_FAILED).add(pending.messages_failed)
        record.gauge(metric_names.UNACKNOWLEDGED).set(unacknowledged_bytes)
        for (topic, partition), sent in pending.partitions.items():
            record.counter(metric_names.MESSAGES_SENT, topic=topic, partition=partition).add(sent.messages)
            record.counter(metric_names.PAYLOAD_SENT, topic=topic, partition=partition).add(sent.payload_bytes)
            record.counter(metric_names.FRAMES_SENT, topic=topic, partition=partition).add(sent.frames)

    def status(self) -> SenderStatusResponse:
        """The sums now, as they are told; histograms, age and deviation as they were at the last `flush`."""
        status = SenderStatusResponse()
        with self._lock:
            status.CopyFrom(self._totals)
            status.partitions.extend(self._partitions[where] for where in sorted(self._partitions))
            status.unacknowledged_age_us_max = self._age_ns_max // 1000
            status.clock_deviation_us_max = self._clock_deviation_ns_max // 1000
            delay, lag, acknowledge = self.frame_delay.copy(), self.send_lag.copy(), self.acknowledge.copy()
        # Outside of the lock, which sending waits for.
        status.frame_delay_histogram = delay.encode()
        status.send_lag_histogram = lag.encode()
        status.acknowledge_histogram = acknowledge.encode()
        return status

    def _close_frame(self, payload_bytes: int, sent_ns: int, now_ns: int) -> None:
        self._age_ns_max = max(self._age_ns_max, now_ns - sent_ns)
        self._open_since_ns[sent_ns] -= 1
        if not self._open_since_ns[sent_ns]:
            del self._open_since_ns[sent_ns]
        self._frames_open -= 1
        self._totals.unacknowledged_bytes -= payload_bytes
        self._changed.notify_all()


def _delays_us(pending: _Pending) -> Int64s:
    return np.maximum(np.array(pending.sent_ns, np.int64) - np.array(pending.planned_ns, np.int64), 0) // 1000


def _lags_us(pending: _Pending) -> Int64s:
    sent_ns = np.repeat(np.array(pending.sent_ns, np.int64), pending.messages)
    intended_ns: Int64s = np.concatenate([np.empty(0, np.int64), *pending.intended_ns])
    return (sent_ns - intended_ns) // 1000
