"""The thread that carries a process's measurements to the metrics-aggregator, and keeps them until it has answered."""

import ctypes
import logging
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import cast

import grpc

from market_spread.common.clock import Clock
from market_spread.common.grpc.calls import MESSAGE_BYTES_MAX, MESSAGE_OPTIONS
from market_spread.common.grpc.identity import OPEN, Identity
from market_spread.common.logs import log_event
from market_spread.common.processes import cpu_us_of, family, memory_bytes_of
from market_spread.common.telemetry.metrics import CPU, MEMORY
from market_spread.common.telemetry.recorder import Recorder
from market_spread.v1.metrics_pb2 import PushRequest, PushResponse, Sample, SeriesKey
from market_spread.v1.metrics_pb2_grpc import MetricsStub

_UNSYNCHRONISED = 0x40  # STA_UNSYNC
_UNKNOWN = -1, False
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
STOP_S = 2.0
# Pushes on their way; so many, sent one after the other, hide the time that an answer takes.
IN_FLIGHT_MAX = 32
# An aggregator that takes a connection and answers nothing.
SILENCE_S = 5.0
_STEP_NS, _RETRY_NS = 1_000_000_000, 100_000_000
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
        return _BOOT_ID.read_text("utf-8").strip()
    except OSError:
        return ""


class StreamEndedError(Exception):
    """The stream has ended, for the reason that the message gives. What was not answered is to be sent on another."""


class PushStream:
    """Pushes in order, and their answers in the same order; open once it is made. For one thread."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._pushes: SimpleQueue[PushRequest | None] = SimpleQueue()
        self._answers: SimpleQueue[PushResponse | None] = SimpleQueue()
        self._reason = "the aggregator has ended the stream"
        self._call = MetricsStub(channel).Push(iter(self._pushes.get, None))
        threading.Thread(target=self._read, name="push-answers", daemon=True).start()

    def send(self, push: PushRequest) -> None:
        """Send a push; does not wait, not even for a connection."""
        self._pushes.put(push)

    def answer(self, timeout_s: float) -> PushResponse | None:
        """The next answer; None if it does not come in that time. StreamEndedError if none will come any more."""
        try:
            answer = self._answers.get(timeout=max(0.0, timeout_s))
        except Empty:
            return None
        if answer is None:
            self._answers.put(None)  # for whoever asks again
            raise StreamEndedError(self._reason)
        return answer

    def close(self) -> None:
        """End the stream. What was not answered may have been taken or not. Idempotent."""
        self._call.cancel()

    def _read(self) -> None:
        try:
            for answer in self._call:
                self._answers.put(answer)
        except grpc.RpcError as error:
            # Every error of a call is a grpc.Call too; the stubs do not say so.
            self._reason = cast(grpc.Call, error).details() or str(error)
        finally:
            self._answers.put(None)
            self._pushes.put(None)  # gRPC's thread waits for the next push, and ends with this


class PushDelivery:
    """Delivers pushes in order over one stream after the other. For one thread; the counts may be read by any.

    Pushes that were not answered are kept, at most `pending_max`; when the stream ends they go over the next one.
    Beyond the bound the oldest that is not on its way is dropped and counted. A push that the aggregator refuses is
    logged, counted and not sent again.
    """

    def __init__(self, open_stream: Callable[[], PushStream], *, clock: Clock, pending_max: int) -> None:
        self._open_stream, self._clock = open_stream, clock
        self._waiting: deque[PushRequest] = deque()
        self._in_flight: deque[PushRequest] = deque()
        self._pending_max = pending_max
        self._dropped: Counter[int] = Counter()
        self.refused = 0
        self._stream: PushStream | None = None
        self._heard_ns, self._reachable = 0, True

    @property
    def pending(self) -> int:
        """Pushes that are kept until they are answered."""
        return len(self._waiting) + len(self._in_flight)

    @property
    def dropped(self) -> int:
        return sum(self._dropped.values())

    def keep(self, push: PushRequest) -> None:
        """Have it delivered after those that are kept already; one that is too large for a message is refused."""
        if push.ByteSize() > MESSAGE_BYTES_MAX:
            self._refuse(push, f"it has {push.ByteSize()} bytes and {MESSAGE_BYTES_MAX} are taken; record fewer series")
            return
        self._waiting.append(push)
        if self.pending > self._pending_max:
            self._dropped[self._waiting.popleft().epoch_unix_ns] += 1

    def deliver_until(self, end_ns: int) -> None:
        """Send and wait for answers until all are there, the time (monotonic ns) is over, or the stream ends."""
        self._hear_what_came()
        while self.pending and (left_ns := end_ns - self._clock.monotonic_ns()) > 0:
            try:
                self._answered(self._sending().answer(left_ns / 1e9))
            except StreamEndedError as error:
                self._lost(str(error))
                return

    def close(self) -> None:
        """End the stream, if there is one. Idempotent."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _hear_what_came(self) -> None:
        """Take the answers that have come since; if the stream has ended, the next push opens another."""
        try:
            while self._stream is not None and (answer := self._stream.answer(0)) is not None:
                self._answered(answer)
        except StreamEndedError as error:
            self._lost(str(error))

    def _sending(self) -> PushStream:
        """The stream, with as many pushes on their way as may be."""
        if self._stream is None:
            self._stream = self._open_stream()
        if not self._in_flight:
            self._heard_ns = self._clock.monotonic_ns()
        while self._waiting and len(self._in_flight) < IN_FLIGHT_MAX:
            push = self._waiting.popleft()
            push.pushes_dropped = self._dropped[push.epoch_unix_ns]
            self._stream.send(push)
            self._in_flight.append(push)
        return self._stream

    def _answered(self, answer: PushResponse | None) -> None:
        now_ns = self._clock.monotonic_ns()
        if answer is None:
            if now_ns - self._heard_ns >= SILENCE_S * 1e9:
                self._lost(f"no answer for {SILENCE_S:g} s")
            return
        self._heard_ns = now_ns
        push = self._in_flight.popleft()
        if answer.refusal:
            self._refuse(push, answer.refusal)
        if not self._reachable:
            log_event(_log, "push.reachable", pending=self.pending)
        self._reachable = True

    def _lost(self, reason: str) -> None:
        """Give the stream up; what was not answered is sent over the next one."""
        self.close()
        self._waiting.extendleft(reversed(self._in_flight))
        self._in_flight.clear()
        if self._reachable:
            log_event(_log, "push.unreachable", logging.WARNING, reason=reason)
        self._reachable = False

    def _refuse(self, push: PushRequest, reason: str) -> None:
        self.refused += 1
        log_event(_log, "push.refused", logging.ERROR, sequence=push.sequence, reason=reason)


class Pusher:
    """Pushes what the recorder took, every interval, in a thread of its own: `start`, then `stop`.

    delivery: keeps what was not answered, at most `pending_max` pushes. Nothing of it reaches the process's work.
    identity: what the aggregator is shown.
    """

    def __init__(
        self, recorder: Recorder, address: str, *, clock: Clock, interval_s: float = 1.0, pending_max: int = 600,
        open_stream: Callable[[], PushStream] | None = None, identity: Identity = OPEN,
    ) -> None:  # fmt: skip
        """`open_stream` opens a stream without waiting for the aggregator; by default by gRPC to the address."""
        self._recorder, self._clock = recorder, clock
        self._interval_ns = round(interval_s * 1e9)
        self._address, self._identity = address, identity
        self._channel = identity.channel(address, _CHANNEL_OPTIONS)  # connects when it is used
        open_stream = open_stream or self._open
        self.delivery = PushDelivery(open_stream, clock=clock, pending_max=pending_max)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="push", daemon=True)

    def _open(self) -> PushStream:
        """A stream; with an identity over a new channel, which shows the certificate that is there now."""
        if self._identity != OPEN:
            self._channel.close()
            self._channel = self._identity.channel(self._address, _CHANNEL_OPTIONS)
        return PushStream(self._channel)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take the last interval, try for at most 2 s to deliver all, and end. Idempotent."""
        if self._stopping.is_set():
            return
        stop_by_ns = self._clock.monotonic_ns() + round(STOP_S * 1e9)
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._take()
        self.delivery.deliver_until(stop_by_ns)
        while self.delivery.pending and self._clock.monotonic_ns() < stop_by_ns:
            self._clock.sleep_ns(_RETRY_NS)
            self.delivery.deliver_until(stop_by_ns)
        if self.delivery.pending:
            log_event(_log, "push.gave_up", logging.WARNING, pushes=self.delivery.pending)
        self.delivery.close()
        self._channel.close()

    def step(self) -> None:
        """Take the interval, send what is kept, and wait for the answers, 1 s at most. The thread calls this."""
        self._take()
        self.delivery.deliver_until(self._clock.monotonic_ns() + min(self._interval_ns, _STEP_NS))

    def _run(self) -> None:
        due_ns = self._clock.monotonic_ns() + self._interval_ns
        while not self._stopping.wait(max(0.0, (due_ns - self._clock.monotonic_ns()) / 1e9)):
            try:
                self.step()
            except Exception:  # the process's work goes on without its metrics
                _log.exception("push.failed")
            due_ns = max(due_ns + self._interval_ns, self._clock.monotonic_ns())

    def _take(self) -> None:
        for push in self._recorder.take():
            processes = family()
            push.counters.append(Sample(key=SeriesKey(name=CPU.name), value=cpu_us_of(processes) / 1e6))
            push.gauges.append(Sample(key=SeriesKey(name=MEMORY.name), value=memory_bytes_of(processes)))
            push.clock_error_us, push.clock_synchronised = read_clock_error()
            push.host = host_id()
            self.delivery.keep(push)
