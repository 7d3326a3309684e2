"""The thread that carries a process's measurements to the metrics-aggregator."""

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import cast

import grpc

from market_spread.common.clock import Clock
from market_spread.common.clock_error import read_clock_error
from market_spread.common.logs import log_event
from market_spread.common.metric_names import CPU, MEMORY, Metric
from market_spread.common.processes import cpu_us_of, family, memory_bytes_of
from market_spread.common.recording import Recorder
from market_spread.common.rpc import MESSAGE_OPTIONS
from market_spread.v1.metrics_pb2 import PushRequest, PushResponse, Sample, SeriesKey
from market_spread.v1.metrics_pb2_grpc import MetricsStub

CALL_DEADLINE_S = 1.0
STOP_S = 2.0
# A step and its last call together last no longer than a stop may.
_STEP_NS = 1_000_000_000
_RETRY_NS = 100_000_000

# The aggregator will never take such a push: sending it again would hold up those behind it.
_FINAL = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED)

# An aggregator that comes back must be found within a second, not after gRPC's two minutes.
_CHANNEL_OPTIONS = (
    *MESSAGE_OPTIONS,
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)

Call = Callable[[PushRequest, float], PushResponse]

_log = logging.getLogger(__name__)


class Pusher:
    """Pushes what the recorder took, every interval, in a thread of its own: `start`, then `stop`.

    Pushes that were not acknowledged are kept, at most `pending_max`, and sent again in order; beyond that the oldest
    is dropped and counted. A push that the aggregator refuses is logged, counted and not sent again. Neither reaches
    the process's work.
    """

    def __init__(
        self,
        recorder: Recorder,
        address: str,
        *,
        clock: Clock,
        interval_s: float = 1.0,
        pending_max: int = 600,
        call: Call | None = None,
    ) -> None:
        """`call` sends one push within so many seconds or raises grpc.RpcError; by default by gRPC to the address."""
        self._recorder = recorder
        self._clock = clock
        self._interval_ns = round(interval_s * 1e9)
        self._pending: deque[PushRequest] = deque()
        self._pending_max = pending_max
        self._dropped: Counter[int] = Counter()
        self.refused = 0
        self._channel: grpc.Channel | None = None
        if call is None:
            self._channel = grpc.insecure_channel(address, options=_CHANNEL_OPTIONS)
            call = _call_on(self._channel)
        self._call = call
        self._reachable = True
        self._stopping = threading.Event()
        self._stop_by_ns = 0
        self._thread = threading.Thread(target=self._run, name="push", daemon=True)

    @property
    def pending(self) -> int:
        """Pushes that are kept to be sent again."""
        return len(self._pending)

    @property
    def dropped(self) -> int:
        """Pushes dropped because too many were kept."""
        return sum(self._dropped.values())

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
        if self._channel is not None:
            self._channel.close()

    def step(self) -> None:
        """Take the interval and send what is pending, beginning no call after 1 s. The thread calls this."""
        self._take()
        self._send_until(self._clock.monotonic_ns() + min(self._interval_ns, _STEP_NS))

    def finish(self) -> None:
        """Take the rest and send until all is delivered or the time for stopping is over."""
        self._take()
        self._send_until(self._stop_by_ns)
        while self._pending and self._clock.monotonic_ns() < self._stop_by_ns:
            self._clock.sleep_ns(_RETRY_NS)
            self._send_until(self._stop_by_ns)
        if self._pending:
            log_event(_log, "push.gave_up", logging.WARNING, pushes=len(self._pending))

    def _run(self) -> None:
        due_ns = self._clock.monotonic_ns() + self._interval_ns
        while not self._stopping.wait(max(0.0, (due_ns - self._clock.monotonic_ns()) / 1e9)):
            try:
                self.step()
            except Exception:  # the process's work goes on without its metrics
                _log.exception("push.failed")
            due_ns = max(due_ns + self._interval_ns, self._clock.monotonic_ns())

    def _take(self) -> None:
        push = self._recorder.take()
        while push is not None:
            self._complete(push)
            self._keep(push)
            push = self._recorder.take() if push.run_id != self._recorder.run_id else None

    def _complete(self, push: PushRequest) -> None:
        processes = family()
        push.counters.append(_sample(CPU, cpu_us_of(processes) / 1e6))
        push.gauges.append(_sample(MEMORY, memory_bytes_of(processes)))
        clock_error = read_clock_error()
        push.clock_error_us = clock_error.bound_us
        push.clock_synchronised = clock_error.synchronised

    def _keep(self, push: PushRequest) -> None:
        self._pending.append(push)
        if len(self._pending) > self._pending_max:
            dropped = self._pending.popleft()
            self._dropped[dropped.epoch_unix_ns] += 1

    def _send_until(self, end_ns: int) -> None:
        while self._pending:
            now_ns = self._clock.monotonic_ns()
            timeout_s = min(CALL_DEADLINE_S, (self._stop_by_ns - now_ns) / 1e9) if self._stop_by_ns else CALL_DEADLINE_S
            if now_ns >= end_ns or timeout_s <= 0 or not self._send(self._pending[0], timeout_s):
                return
            self._pending.popleft()

    def _send(self, push: PushRequest, timeout_s: float) -> bool:
        """Whether the push is dealt with: taken, or refused for good."""
        push.pushes_dropped = self._dropped[push.epoch_unix_ns]
        try:
            self._call(push, timeout_s)
        except grpc.RpcError as error:
            code, details = _code_of(error)
            if code in _FINAL:
                self.refused += 1
                log_event(_log, "push.refused", logging.ERROR, sequence=push.sequence, reason=details)
                return True
            if self._reachable:
                log_event(_log, "push.unreachable", logging.WARNING, reason=details)
            self._reachable = False
            return False
        if not self._reachable:
            log_event(_log, "push.reachable", pending=len(self._pending))
        self._reachable = True
        return True


def _call_on(channel: grpc.Channel) -> Call:
    stub = MetricsStub(channel)

    def call(push: PushRequest, timeout_s: float) -> PushResponse:
        response: PushResponse = stub.Push(push, timeout=timeout_s)
        return response

    return call


def _code_of(error: grpc.RpcError) -> tuple[grpc.StatusCode, str]:
    # Every error of a call is a grpc.Call too; the stubs do not say so.
    call = cast(grpc.Call, error)
    return call.code(), call.details() or ""


def _sample(metric: Metric, value: float) -> Sample:
    return Sample(key=SeriesKey(name=metric.name), value=value)
