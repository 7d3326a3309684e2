"""What it costs a process to record a value, and to make a push of a second's work."""

from collections.abc import Callable

from figure import Figure, Figures
from pushes import MESSAGES_PER_S, Values, record_sender

from market_spread.common.clock import SystemClock
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.metrics import SEND_LAG
from market_spread.common.telemetry.recorder import Recorder

BATCHES = (1, 10, 200)
VALUES = 1_000_000


def figures(scale: float) -> Figures:
    """Nanoseconds a value, by batch size; and of the push, by message."""
    values = Values().of(1_600, 0.7, 4_096)
    found = []
    for batch in BATCHES:
        times = max(10, round(VALUES * scale / batch / (20 if batch < 10 else 1)))
        histogram, handle = HdrCounts(), Recorder(source="s", clock=SystemClock()).histogram(SEND_LAG)
        parts = [values[first : first + batch] for first in range(0, len(values) - batch + 1, batch)]
        plain = _ns_each(lambda part, into=histogram: into.record(part), parts, times)  # type: ignore[misc]
        shared = _ns_each(handle.record_us, parts, times)
        found.append(Figure(f"HdrCounts.record, {batch} values at once", plain / batch, "ns/value"))
        found.append(Figure(f"with the recorder's lock, {batch} values at once", shared / batch, "ns/value"))
    found.append(Figure("a second's push at 20,000 messages/s", _push_us(max(5, round(200 * scale))), "us/push"))
    found.append(Figure("of that", found[-1].value * 1_000 / MESSAGES_PER_S, "ns/message"))
    return found


def _ns_each(record: Callable[..., None], parts: list[object], times: int) -> float:
    clock = SystemClock()
    for part in parts:
        record(part)
    begin_ns = clock.monotonic_ns()
    for number in range(times):
        record(parts[number % len(parts)])
    return (clock.monotonic_ns() - begin_ns) / times


def _push_us(times: int) -> float:
    clock, values = SystemClock(), Values()
    recorder = Recorder(source="sender-0", clock=clock)
    taken_ns = 0
    for _ in range(times):
        record_sender(recorder, values)
        begin_ns = clock.monotonic_ns()
        recorder.take()
        taken_ns += clock.monotonic_ns() - begin_ns
    return taken_ns / times / 1e3
