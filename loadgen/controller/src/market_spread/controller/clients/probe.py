"""Whether services and a broker do their work, asked from outside: once, as `helm test` does, or all through a load.

Of the latter come the silences of the parts of the rig: a stall is to be laid to whom it belongs.
"""

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from market_spread.common.clock import Clock
from market_spread.common.errors import MarketSpreadError, RunFailedError, RunVoidError, UsageError
from market_spread.common.grpc.calls import DEADLINE_S, REASON_KEY, channel_to
from market_spread.common.grpc.identity import OPEN, Identity
from market_spread.common.kafka.client import KafkaBroker

PROBE_TOPIC = "market-spread-probe"
_ROUND_TRIP_S = 20.0
# A busy machine answers late; what is shorter explains no stall that matters.
SILENCE_NS_MIN = 500_000_000
_KEPT_MAX = 1_000
_EVERY_S, _BROKER_EVERY_S = 0.1, 2.0
_ANSWER_S = 300.0
# What was not looked at for longer is not known.
_LOOKS_APART_NS_MAX = 1_000_000_000

Check = Callable[[], object]


def named_addresses(texts: Sequence[str]) -> dict[str, str]:
    """Of `NAME=HOST:PORT`, the addresses by name. UsageError naming all that are written in another way."""
    wrong = [text for text in texts if not all(text.partition("=")) or ":" not in text.partition("=")[2]]
    if wrong:
        raise UsageError(f"{', '.join(wrong)}; write NAME=HOST:PORT")
    return dict(text.split("=", 1) for text in texts)


def service_problem(address: str, identity: Identity = OPEN) -> str | None:
    """Why the gRPC service there is not well, a sentence; None if it says SERVING."""
    with channel_to(address, identity) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined]
        try:
            answer, call = check.with_call(health_pb2.HealthCheckRequest(), timeout=DEADLINE_S, wait_for_ready=True)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                return f"nothing answers at {address} within {DEADLINE_S:g} s; is the address right, and does it run?"
            return f"{error.code().name}: {error.details()}"
    if answer.status == health_pb2.HealthCheckResponse.SERVING:
        return None
    reasons = [str(value) for key, value in call.trailing_metadata() or () if key == REASON_KEY]
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return ": ".join([status, *reasons])


def kafka_round_trip(broker: KafkaBroker, topic: str = PROBE_TOPIC) -> int:
    """Write a record into a topic of its own and read it back; its offset. RunFailedError if it does not come back."""
    value = secrets.token_bytes(16)
    try:
        broker.create_topics({topic: 1})
        begin = broker.end_offsets([topic])
        broker.write({topic: [value]}, within_s=_ROUND_TRIP_S)
        for _, record in broker.records(broker.end_offsets([topic]), begin):
            if record.value == value:
                return record.offset
    except RunVoidError as error:  # here it is no run that this spoils: the broker is not well
        raise RunFailedError(str(error)) from error
    raise RunFailedError(f"a record written to {topic} did not come back")


@dataclass(frozen=True, slots=True)
class Silence:
    """A time in which a part of the rig gave no sign of life, as the run controller saw it. Unix microseconds."""

    component: str
    begin_us: int
    end_us: int

    @property
    def duration_us(self) -> int:
        return self.end_us - self.begin_us


class Watch:
    """Collects silences of the machine, of processes and of the broker. `start`, then `close`. Thread-safe.

    The machine is silent while this process does not get to run, a process while it leaves a health check unanswered,
    and the broker while it acknowledges nothing of what it was sent.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._silences: list[Silence] = []
        self._asked_ns: dict[str, int] = {}
        self._acknowledged = -1
        self._unacknowledged_ns: int | None = None
        self._still_ns: int | None = None
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._channels: list[grpc.Channel] = []

    def start(self, addresses: Mapping[str, str], identity: Identity = OPEN) -> None:
        """Watch the machine, and the processes at these addresses by their health checks."""
        self._thread("machine", self._watch_machine)
        for component, address in addresses.items():
            channel = channel_to(address, identity)
            self._channels.append(channel)
            ask = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined]
            check = partial(ask, health_pb2.HealthCheckRequest(), timeout=_ANSWER_S)
            self._thread(component, partial(self._ask, component, check, _EVERY_S))

    def ask_broker(self, look: Check) -> None:
        """Watch the broker from now on by what needs an answer of it: nothing is sent that it could acknowledge."""
        self._thread("broker", partial(self._ask, "broker", look, _BROKER_EVERY_S))

    def acknowledged(self, sent: int, acknowledged: int) -> None:
        """So many of the frames that were sent are acknowledged now; to be called some times a second."""
        now_ns = self._clock.monotonic_ns()
        with self._lock:
            if acknowledged == self._acknowledged and sent > acknowledged:
                self._still_ns = now_ns
                self._unacknowledged_ns = self._unacknowledged_ns or now_ns
                return
            self._keep_broker(now_ns)
            self._still_ns, self._acknowledged = None, acknowledged
            self._unacknowledged_ns = now_ns if sent > acknowledged else None

    def silences(self) -> tuple[Silence, ...]:
        """Those so far, by their begin; what is silent still is silent until now."""
        now_ns = self._clock.monotonic_ns()
        with self._lock:
            for component, since_ns in self._asked_ns.items():
                self._keep(component, since_ns, now_ns)
            self._keep_broker(now_ns)
            return tuple(sorted(self._silences, key=lambda silence: silence.begin_us))

    def close(self) -> None:
        """End all threads. Idempotent."""
        self._closing.set()
        for channel in self._channels:
            channel.close()
        for thread in self._threads:
            thread.join()

    def _thread(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=f"watch-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _watch_machine(self) -> None:
        before_ns = self._clock.monotonic_ns()
        while not self._closing.wait(_EVERY_S):
            now_ns = self._clock.monotonic_ns()
            with self._lock:
                self._keep("machine", before_ns, now_ns)
            before_ns = now_ns

    def _ask(self, component: str, check: Check, every_s: float) -> None:
        """Ask again and again; a call that fails is asked again, and the silence goes on."""
        while not self._closing.wait(every_s):
            with self._lock:
                begun_ns = self._asked_ns.setdefault(component, self._clock.monotonic_ns())
            try:
                check()
            except (grpc.RpcError, MarketSpreadError, ValueError):  # ValueError: the channel was closed
                continue
            with self._lock:
                del self._asked_ns[component]
                self._keep(component, begun_ns, self._clock.monotonic_ns())

    def _keep_broker(self, now_ns: int) -> None:
        """Its silence, not beyond the last look at it: this process may have waited for another one since."""
        if self._still_ns is not None and self._unacknowledged_ns is not None:
            until_ns = now_ns if now_ns - self._still_ns <= _LOOKS_APART_NS_MAX else self._still_ns
            self._keep("broker", self._unacknowledged_ns, until_ns)

    def _keep(self, component: str, begin_ns: int, end_ns: int) -> None:
        """By monotonic time, since a step of the clock is no silence."""
        if end_ns - begin_ns >= SILENCE_NS_MIN and len(self._silences) < _KEPT_MAX:
            to_unix_ns = self._clock.unix_ns() - self._clock.monotonic_ns()
            self._silences.append(Silence(component, (begin_ns + to_unix_ns) // 1000, (end_ns + to_unix_ns) // 1000))
