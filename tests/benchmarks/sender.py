"""How punctually one sender process offers a high rate: 99.9% of frames are to leave within 10 ms of their plan.

Run it alone: `make bench BENCH='--only sender'`. Whatever else wants the CPU that the sender is on makes it
late, the broker included; so its CPU time is told beside its punctuality.
"""

import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from figure import Figure, Figures

from market_spread.common.clock import SystemClock
from market_spread.common.config import inherited_environment, to_environment
from market_spread.common.errors import RunVoidError
from market_spread.common.grpc.calls import channel_to
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.services import Child
from market_spread.sender.service import SenderConfig
from market_spread.v1.control_pb2 import Phase, SenderStatusRequest, SenderStatusResponse, StartSendingRequest
from market_spread.v1.control_pb2_grpc import SenderStub

PARTITIONS = 2
FRAME_MESSAGES = 200
# Long enough that frames close by their size.
LINGER_US = 50_000
WARM_UP_S = 3
_START_TIMEOUT_S = 30
_GRACE_S = 60


def figures(_runs: Path) -> Figures:
    """The benchmark's figures."""
    measured = measure_sender()
    return [
        Figure("rate offered", measured["rate_per_s"], "messages/s"),
        Figure("frames within 10 ms of plan", 100 * (1 - measured["frames_late_share"]), "%"),
        Figure("delay of frames p50", measured["frame_delay_p50_us"] / 1000, "ms"),
        Figure("delay of frames p99.9", measured["frame_delay_p99_9_us"] / 1000, "ms"),
        Figure("CPU of the sender", measured["cpu_us_per_message"], "us/message"),
    ]


def measure_sender(rate_per_s: int = 300_000, duration_s: int = 20) -> dict[str, float]:
    """Offer the rate to a broker that nobody reads from, after a short warm-up; figures by name, the unit last."""
    clock = SystemClock()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker = Broker(folder=folder / "broker", java=find_java(), jars=JarCache().paths("broker"), clock=clock)
        stack.callback(broker.stop)
        broker.launch()
        broker.wait()
        KafkaBroker(broker.bootstrap_servers).create_topics({"nbbo": PARTITIONS, "orders": PARTITIONS})
        sender = _sender(stack, folder, broker.bootstrap_servers, clock)
        _offer(sender, clock, rate_per_s=rate_per_s, duration_s=WARM_UP_S)
        cpu_us_before = sender.Status(SenderStatusRequest(), timeout=5).cpu_us
        status = _offer(sender, clock, rate_per_s=rate_per_s, duration_s=duration_s)
    return _figures(status, cpu_us=status.cpu_us - cpu_us_before, duration_s=duration_s)


def _sender(stack: ExitStack, folder: Path, bootstrap_servers: str, clock: SystemClock) -> SenderStub:
    config = SenderConfig(bootstrap_servers=bootstrap_servers, ports_file=folder / "sender.json")
    child = Child.start(
        "sender",
        [sys.executable, "-m", "market_spread.sender"],
        environment=inherited_environment() | to_environment(config),
        log=folder / "sender.log",
    )
    stack.callback(child.stop)
    ports_file = folder / "sender.json"
    deadline_ns = clock.monotonic_ns() + _START_TIMEOUT_S * 10**9
    while not ports_file.exists():
        if not child.running or clock.monotonic_ns() > deadline_ns:
            raise RunVoidError(f"the sender did not start: {' '.join(child.last_lines(2))}")
        clock.sleep_ns(50_000_000)
    channel = channel_to(f"127.0.0.1:{json.loads(ports_file.read_text())['grpc']}")
    stack.callback(channel.close)
    return SenderStub(channel)


def _offer(sender: SenderStub, clock: SystemClock, *, rate_per_s: int, duration_s: int) -> SenderStatusResponse:
    """One load, to its end."""
    profile = {"profile": "constant", "messages_per_s": rate_per_s, "duration_s": duration_s}
    request = StartSendingRequest(
        run_id="bench",
        source="market",
        parameters_json=json.dumps({"seed": 1, "buckets": PARTITIONS, "profile": profile}),
        linger_us=LINGER_US,
        frame_messages=FRAME_MESSAGES,
        nbbo_topic="nbbo",
        orders_topic="orders",
    )
    sender.Start(request, timeout=20)
    deadline_ns = clock.monotonic_ns() + (duration_s + _GRACE_S) * 10**9
    while clock.monotonic_ns() < deadline_ns:
        clock.sleep_ns(500_000_000)
        status = sender.Status(SenderStatusRequest(), timeout=20)
        if status.phase in (Phase.PHASE_FINISHED, Phase.PHASE_FAILED):
            if status.messages_sent != rate_per_s * duration_s or status.messages_failed:
                raise RunVoidError(f"the sender sent {status.messages_sent} messages; {status.detail}")
            return status
    raise RunVoidError(f"the sender has not ended within {duration_s + _GRACE_S} s")


def _figures(status: SenderStatusResponse, *, cpu_us: int, duration_s: int) -> dict[str, float]:
    delay = HdrCounts.decode(status.frame_delay_histogram)
    return {
        "rate_per_s": status.messages_sent / duration_s,
        "frames": status.frames_sent,
        "frames_late_share": status.frames_late / status.frames_sent,
        "frame_delay_p50_us": delay.percentile(50),
        "frame_delay_p99_us": delay.percentile(99),
        "frame_delay_p99_9_us": delay.percentile(99.9),
        "frame_delay_max_us": status.frame_delay_ns_max / 1000,
        "cpu_us_per_message": cpu_us / status.messages_sent,
        "cpu_cores": cpu_us / (duration_s * 1e6),
    }
