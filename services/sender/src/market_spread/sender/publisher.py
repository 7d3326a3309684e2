"""Sends frames at their planned times: open loop, so a late frame goes out at once and the plan stays as it is."""

import logging
import threading
from collections.abc import Callable
from functools import partial

from market_spread.common.clock import AnchoredClock, Clock
from market_spread.common.errors import MarketSpreadError
from market_spread.common.kafka.client import Producer
from market_spread.common.load.source import AnyLoad
from market_spread.common.logs import log_event
from market_spread.common.telemetry.recorder import Recorder
from market_spread.common.wire.layout import FORMAT_HEADER, FORMAT_VERSION, SENT_HEADER
from market_spread.sender.counts import LATE_NS_DEFAULT, SendCounts
from market_spread.sender.framing import Frame, FramePlan, frames_of
from market_spread.v1.control_pb2 import Phase, SenderStatusResponse

# What the broker has not acknowledged is held in memory; beyond this the sender waits, which shows as lag.
UNACKNOWLEDGED_BYTES_MAX = 64 * 1024 * 1024
STOP_WITHIN_S = 3.0
_FLUSH_NS = 50_000_000
_WAIT_S = 0.05
_FORMAT = (FORMAT_HEADER, FORMAT_VERSION.encode())

_log = logging.getLogger(__name__)


class Publisher:
    """Offers one load. `start`; it ends by itself, or early by `stop`. Owns the producer from then on.

    It paces by monotonic time from when it was made, and stamps by the same: a step of the host's clock neither holds
    the load back nor hurries it, and is told in the totals.

    phase: RUNNING, DRAINING, FINISHED or FAILED; detail: why it failed, empty otherwise.
    """

    def __init__(
        self, load: AnyLoad, plan: FramePlan, *, producer: Producer, recorder: Recorder, clock: Clock,
        unacknowledged_bytes_max: int, late_ns: int = LATE_NS_DEFAULT,
    ) -> None:  # fmt: skip
        self._load, self._nbbo_topic = load, plan.nbbo_topic
        self._producer, self._clock = producer, AnchoredClock(clock)
        self._unacknowledged_bytes_max = unacknowledged_bytes_max
        self.counts = SendCounts(recorder, late_ns=late_ns)
        self._frames = frames_of(load, plan)
        self._thread = threading.Thread(target=self.run, name="publisher", daemon=True)
        self._stopping = threading.Event()
        self._ended_unix_ns: int | None = None
        self._flushed_ns = 0
        self.phase: Phase.ValueType = Phase.PHASE_RUNNING
        self.detail = ""

    @property
    def running(self) -> bool:
        """Whether it has something to send or to wait for."""
        return self.phase in (Phase.PHASE_RUNNING, Phase.PHASE_DRAINING)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Send what is due by now, await acknowledgements for STOP_WITHIN_S, end; False if that takes longer."""
        self._stopping.set()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def messages_due(self) -> int:
        """Messages that the schedule has called for until now, or until it was stopped."""
        until_ns = self._ended_unix_ns
        return self._load.messages_due(self._clock.unix_ns() if until_ns is None else until_ns)

    def status(self) -> SenderStatusResponse:
        """What was sent so far, with the final counts if it has ended."""
        phase, detail = self.phase, self.detail  # read first: what is FINISHED has its final counts
        status = self.counts.status()
        status.phase, status.detail, status.messages_due = phase, detail, self.messages_due()
        status.quotes_sent = sum(sent.messages for sent in status.partitions if sent.topic == self._nbbo_topic)
        status.orders_sent = status.messages_sent - status.quotes_sent
        return status

    def run(self) -> None:
        try:
            for frame in self._frames:
                room = partial(self.counts.wait_for_room, len(frame.payload), self._unacknowledged_bytes_max, _WAIT_S)
                if not self._wait_until(frame.planned_ns) or not self._wait_for_broker(room):
                    break
                self._send(frame)
        except Exception as error:  # an error of the load or the client ends this load, not the process
            self.detail = str(error) if isinstance(error, MarketSpreadError) else f"{type(error).__name__}: {error}"
            if not isinstance(error, MarketSpreadError):
                _log.exception("load.failed")
        finally:
            self._finish()

    def _send(self, frame: Frame) -> None:
        sent_ns = self._clock.unix_ns()
        where, messages, payload_bytes = (frame.topic, frame.partition), frame.messages, len(frame.payload)

        def done(offset: int, error: Exception | None) -> None:
            if error is None:
                self.counts.acknowledged(where, payload_bytes, offset, sent_ns, self._clock.unix_ns())
            else:
                reason = f"{type(error).__name__}: {error}"
                self.counts.failed(messages, payload_bytes, reason, sent_ns, self._clock.unix_ns())

        self.counts.sent(frame, sent_ns)
        headers = (*(frame.headers or (_FORMAT,)), (SENT_HEADER, b"%d" % (sent_ns // 1000)))
        self._producer.send(frame.topic, frame.partition, frame.payload, headers, done, frame.key)

    def _wait_until(self, planned_ns: int) -> bool:
        """Wait for the moment; False if the load was stopped before it."""
        self._flush_if_time()
        while (left_ns := planned_ns - self._clock.unix_ns()) > 0:
            if self._stopping.is_set():
                return False
            self._clock.sleep_ns(min(left_ns, round(_WAIT_S * 1e9)))
            self._flush_if_time()
        return True

    def _wait_for_broker(self, happened: Callable[[], bool]) -> bool:
        """Wait until it has happened, or the client gives its frames up; after a stop, for STOP_WITHIN_S at most."""
        give_up_ns: int | None = None
        while not happened():
            self._flush_if_time()
            now_ns = self._clock.monotonic_ns()
            if self._stopping.is_set() and give_up_ns is None:
                give_up_ns = now_ns + round(STOP_WITHIN_S * 1e9)
            if give_up_ns is not None and now_ns >= give_up_ns:
                return False
        return True

    def _flush_if_time(self) -> None:
        now_ns = self._clock.monotonic_ns()
        if now_ns - self._flushed_ns >= _FLUSH_NS:
            self._flushed_ns = now_ns
            self._flush()

    def _flush(self) -> None:
        clock = self._clock
        self.counts.flush(self.messages_due(), now_ns=clock.unix_ns(), clock_deviation_ns=clock.deviation_ns())

    def _finish(self) -> None:
        if self._stopping.is_set() or self.detail:
            self._ended_unix_ns = self._clock.unix_ns()
        self.phase = Phase.PHASE_DRAINING
        self._frames.close()
        self._wait_for_broker(lambda: self.counts.wait_until_closed(_WAIT_S))
        self._producer.close()
        self._flush()
        totals = self.counts.status()
        if totals.frames_failed and not self.detail:
            self.detail = (
                f"{totals.frames_failed} frames with {totals.messages_failed} messages are lost; "
                f"the first one by {self.counts.first_failure}"
            )
        self.phase = Phase.PHASE_FAILED if self.detail else Phase.PHASE_FINISHED
        log_event(
            _log, "load.ended", messages_sent=totals.messages_sent, frames_late=totals.frames_late, detail=self.detail
        )
