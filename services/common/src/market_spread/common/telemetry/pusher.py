"""The thread that carries a process's measurements to the metrics-aggregator."""

import ctypes
import logging
import sys
import threading
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import grpc

from market_spread.common.clock import Clock
from market_spread.common.grpc.calls import MESSAGE_OPTIONS
from market_spread.common.logs import log_event
from market_spread.common.processes import cpu_us_of, family, memory_bytes_of
from market_spread.common.telemetry.delivery import PushDelivery, PushStream
from market_spread.common.telemetry.metrics import CPU, MEMORY, Metric
from market_spread.common.telemetry.recorder import Recorder
from market_spread.v1.metrics_pb2 import Sample, SeriesKey

_UNSYNCHRONISED = 0x40  # STA_UNSYNC
_UNKNOWN = -1, False
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
STOP_S = 2.0
_STEP_NS = 1_000_000_000
_RETRY_NS = 100_000_000
# An aggregator that comes back must be found within a second, not after gRPC's two minutes.
_CHANNEL_OPTIONS = (
    *MESSAGE_OPTIONS,
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)

_log = logging.getLogger(__name__)


class _Timex(ctypes.Structure):
    """Linux's struct timex: the fields that are read, and room for the others."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        *((name, ctypes.c_long) for name in ("offset", "freq", "maxerror", "esterror")),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_long * 32),
    )


def read_clock_error() -> tuple[int, bool]:
    """The bound of the clock's error, microseconds (-1: unknown), and whether the host keeps it synchronised.

    The kernel's, by adjtimex in read mode, which needs no privilege; unknown where there is no such call.
    """
    if sys.platform != "linux":
        return _UNKNOWN
    timex = _Timex(modes=0)
    if ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex)) < 0:
        return _UNKNOWN
    return timex.maxerror, not timex.status & _UNSYNCHRONISED


@cache
def host_id() -> str:
    """The boot id of the host's kernel, empty where there is none.

    Unlike the hostname it is the same in all containers of a host, which have one clock.
    """
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


class Pusher:
    """Pushes what the recorder took, every interval, in a thread of its own: `start`, then `stop`.

    delivery: keeps what was not answered, at most `pending_max` pushes, and counts. Nothing of it reaches the process's
    work.
    """

    def __init__(
        self,
        recorder: Recorder,
        address: str,
        *,
        clock: Clock,
        interval_s: float = 1.0,
        pending_max: int = 600,
        open_stream: Callable[[], PushStream] | None = None,
    ) -> None:
        """`open_stream` opens a stream without waiting for the aggregator; by default by gRPC to the address."""
        self._recorder = recorder
        self._clock = clock
        self._interval_ns = round(interval_s * 1e9)
        self._channel: grpc.Channel | None = None
        if open_stream is None:
            self._channel = channel = grpc.insecure_channel(address, options=_CHANNEL_OPTIONS)
            open_stream = partial(PushStream, channel)
        self.delivery = PushDelivery(open_stream, clock=clock, pending_max=pending_max)
        self._stopping = threading.Event()
        self._stop_by_ns = 0
        self._thread = threading.Thread(target=self._run, name="push", daemon=True)

    def start(self) -> None:
        """Begin to push. Does not wait for the aggregator."""
        self._thread.start()

    def stop(self) -> None:
        """Take the last interval, try for at most 2 s to deliver all, and end. Idempotent."""
        if self._stopping.is_set():
            return
        self._stop_by_ns = self._clock.monotonic_ns() + round(STOP_S * 1e9)
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self.finish()
        self.delivery.close()
        if self._channel is not None:
            self._channel.close()

    def step(self) -> None:
        """Take the interval, send what is kept, and wait for the answers, 1 s at most. The thread calls this."""
        self._take()
        self.delivery.deliver_until(self._clock.monotonic_ns() + min(self._interval_ns, _STEP_NS))

    def finish(self) -> None:
        """Take the rest and send until all is answered or the time for stopping is over."""
        self._take()
        self.delivery.deliver_until(self._stop_by_ns)
        while self.delivery.pending and self._clock.monotonic_ns() < self._stop_by_ns:
            self._clock.sleep_ns(_RETRY_NS)
            self.delivery.deliver_until(self._stop_by_ns)
        if self.delivery.pending:
            log_event(_log, "push.gave_up", logging.WARNING, pushes=self.delivery.pending)

    def _run(self) -> None:
        due_ns = self._clock.monotonic_ns() + self._interval_ns
        while not self._stopping.wait(max(0.0, (due_ns - self._clock.monotonic_ns()) / 1e9)):
            try:
                self.step()
            except Exception:  # the process's work goes on without its metrics
                _log.exception("push.failed")
            due_ns = max(due_ns + self._interval_ns, self._clock.monotonic_ns())

    def _take(self) -> None:
        goes_on = True
        while goes_on:
            goes_on = self._recorder.has_cut
            if (push := self._recorder.take()) is not None:
                processes = family()
                push.counters.append(_sample(CPU, cpu_us_of(processes) / 1e6))
                push.gauges.append(_sample(MEMORY, memory_bytes_of(processes)))
                push.clock_error_us, push.clock_synchronised = read_clock_error()
                push.host = host_id()
                self.delivery.keep(push)


def _sample(metric: Metric, value: float) -> Sample:
    return Sample(key=SeriesKey(name=metric.name), value=value)
