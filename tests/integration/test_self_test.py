"""The rig looks at a system of which everything is known, and must read back what was done to it."""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.kafka import create_topics
from market_spread.common.layout import WARM_UP_ORDER_ID_MIN
from market_spread.common.ledger import decode_ledger
from market_spread.common.schedule import Constant
from market_spread.receiver.__main__ import ReceiverConfig
from market_spread.runs.analysis.latency import judged_alerts
from market_spread.runs.analysis.verdict import result_of
from market_spread.runs.broker import Broker
from market_spread.runs.clients import Clients
from market_spread.runs.environment import TOPICS, Addresses
from market_spread.runs.jars import JarCache
from market_spread.runs.java import find_java
from market_spread.runs.plan import RunPlan, plan_of_workload
from market_spread.runs.result import Result, Verdict
from market_spread.runs.run import Observed, alerts_of, judge
from market_spread.runs.services import Services
from market_spread.runs.workload import read_workload
from market_spread.sender.__main__ import SenderConfig
from market_spread.v1.control_pb2 import JobStatusResponse, Phase
from tests.integration.null_system import Fault, NullSystem, OneIn, Truth

SMALL = Path(__file__).parent / "workloads" / "small.yaml"
CLOCK = SystemClock()
DELAY_US = 10_000
STALL_S = 0.8
# What docs/measurement.md aims at.
ERROR_US = 100

pytestmark = pytest.mark.alone


@dataclass
class Read:
    """What was done, and what the rig made of it."""

    truth: Truth
    observed: Observed
    result: Result


@pytest.fixture(scope="module")
def plan() -> RunPlan:
    # What two processors do with time to spare: the rig is judged, not how it does without.
    load = Constant(200, 15)
    workload = dataclasses.replace(
        read_workload(SMALL), profile=load, warm_up_s=10, settle_s=0, probes_per_s=80, linger_ms=2
    )
    made = plan_of_workload(workload)
    # Verdicts that do not change: what was done to an order is then known, whatever quote it raced with.
    return dataclasses.replace(made, measured=made.measured.with_parameters(tight_share=0))


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(folder=tmp_path / "broker", java=find_java(), jars=JarCache().paths("broker"), clock=CLOCK)
    broker.start()
    yield broker
    broker.stop()


def rig(plan: RunPlan, broker: Broker, folder: Path, fault: Fault) -> Read:
    """Offer the plan's loads to a null system, and judge what comes."""
    servers, partitions = broker.bootstrap_servers, plan.workload.partitions
    counts = {TOPICS.nbbo: partitions, TOPICS.orders: partitions, TOPICS.alerts: 1, TOPICS.invalid: 1}
    create_topics(servers, counts)
    services = Services(folder, clock=CLOCK, on_started=lambda name, pid: None)
    system = NullSystem(servers, partitions, fault)
    system.start()
    try:
        files = {name: services.ports_file(name) for name in ("sender", "receiver")}
        receiver = ReceiverConfig(
            bootstrap_servers=servers, ports_file=files["receiver"], data_folder=folder / "receiver"
        )
        services.start("receiver", "market_spread.receiver", receiver)
        sender = SenderConfig(bootstrap_servers=servers, ports_file=files["sender"])
        services.start("sender", "market_spread.sender", sender)
        at = {name: f"127.0.0.1:{services.ports(name)['grpc']}" for name in files}
        clients = Clients(Addresses(servers, at["sender"], at["receiver"], at["sender"], "", ""))
        observed = offered(plan, clients, system)
        clients.close()
    finally:
        truth = system.stop()
        services.stop(("sender", "receiver"))
    judge(plan, observed)
    return Read(truth, observed, result_of(plan, observed, "null"))


def offered(plan: RunPlan, clients: Clients, system: NullSystem) -> Observed:
    observed = Observed(started=datetime.now(UTC))
    clients.start_receiving("null", WARM_UP_ORDER_ID_MIN)
    for phase in ("initial", "warm_up", "measured"):
        observed.starts_unix_ns[phase] = clients.start_sending(
            getattr(plan, phase),
            run_id="null",
            linger_us=2_000,
            frame_messages=200,
            start_unix_ns=CLOCK.unix_ns() + 300_000_000,
        )
        while (status := clients.sender_status()).phase != Phase.PHASE_FINISHED:
            assert status.phase != Phase.PHASE_FAILED, status.detail
            CLOCK.sleep_ns(100_000_000)
        observed.sent_before, observed.sent = observed.sent_before + observed.sent.messages_sent, status
        deadline_ns = CLOCK.monotonic_ns() + 30_000_000_000
        while system.messages < observed.sent_before + observed.sent.messages_sent:
            assert CLOCK.monotonic_ns() < deadline_ns, system.messages
            CLOCK.sleep_ns(50_000_000)
    CLOCK.sleep_ns(round((STALL_S + 0.5) * 1e9))  # what is held back is emitted by then
    clients.drain_receiver(30)
    observed.received = clients.receiver_status()
    observed.job = JobStatusResponse(messages_committed=system.messages)
    observed.ledger = clients.ledger("null", "alerts")
    observed.alerts = alerts_of(decode_ledger(observed.ledger))
    observed.drained = True
    return observed


def latencies_us(read: Read) -> dict[int, int]:
    """As the receiver saw them, of the first alert of each order."""
    assert read.observed.alerts is not None
    alerts = judged_alerts(read.observed.alerts, from_us=0)
    return dict(zip(alerts.order_id.tolist(), (alerts.received_us - alerts.intended_us).tolist(), strict=True))


def median_us(values: dict[int, int], *, odd: bool) -> float:
    return float(np.median([value for order_id, value in values.items() if order_id % 2 == odd]))


def test_a_delay_is_read_back_within_the_stated_error(plan: RunPlan, broker: Broker, tmp_path: Path) -> None:
    read = rig(plan, broker, tmp_path, Fault(delay_us=DELAY_US, delayed=OneIn(2, 1)))

    seen, true, held = latencies_us(read), read.truth.latency_us, read.truth.held_us
    # What the rig adds to the truth, the way back to the receiver included, for delayed orders and for the others.
    added_us = {order_id: seen[order_id] - true[order_id] for order_id in seen}
    error_us = median_us(added_us, odd=True) - median_us(added_us, odd=False)
    delivery_us = float(np.median(list(added_us.values())))
    injected_us = median_us(held, odd=True) - median_us(held, odd=False)
    print(json.dumps({"injected_us": injected_us, "error_us": error_us, "delivery_us": delivery_us}))
    assert read.result.verdict is Verdict.PASSED, read.result.faults
    assert read.result.latency_samples == len(true) > 1_000
    assert min(value for order_id, value in held.items() if order_id % 2) >= DELAY_US
    # What a busy machine adds to one alert's delivery it adds to another's: only its noise is left.
    assert abs(error_us) <= ERROR_US + delivery_us / 5
    compute_ns = read.result.stages_ns["compute"]["p50"]
    assert compute_ns is not None  # what the system held back is where the report puts it, to its 3 digits
    assert compute_ns / 1000 == pytest.approx(float(np.median(list(held.values()))), rel=0.002, abs=2)


def test_a_stall_is_charged_to_every_order_that_it_met(plan: RunPlan, broker: Broker, tmp_path: Path) -> None:
    read = rig(plan, broker, tmp_path, Fault(stall_s=STALL_S, stall_after_alerts=800))

    seen, true = latencies_us(read), read.truth.latency_us
    late_us = read.truth.stalled_us / 2
    truly_late = sum(value > late_us for value in true.values())
    assert set(seen) == set(true)
    assert all(seen[order_id] >= true[order_id] for order_id in seen)
    # Of those that were due in the stall, half waited for more than half of it, though none was sent late.
    assert truly_late >= 0.35 * plan.workload.probes_per_s * STALL_S
    assert sum(value > late_us for value in seen.values()) >= truly_late
    longest_ns = read.result.latency_ns["max"]
    assert longest_ns is not None
    assert longest_ns / 1000 >= max(true.values()) >= read.truth.stalled_us


def test_loss_duplication_and_reordering_are_counted_to_the_alert(
    plan: RunPlan, broker: Broker, tmp_path: Path
) -> None:
    fault = Fault(
        delay_us=50_000,
        delayed=OneIn(50, 7),
        lost=OneIn(100, 13),
        doubled=OneIn(100, 29),
    )

    read = rig(plan, broker, tmp_path, fault)

    held_back = sum(order_id % 50 == 7 for order_id in read.truth.held_us)
    assert read.truth.lost > 10
    assert read.truth.doubled > 10
    assert read.result.alerts_missing == read.truth.lost
    assert read.result.alerts_duplicated == read.truth.doubled
    assert read.result.alerts_wrong == 0
    assert held_back > 10
    assert read.result.alerts_reordered >= 0.9 * held_back
    assert read.result.verdict is Verdict.FAILED
    assert read.result.reasons == (
        f"{read.truth.lost} alerts are missing",
        f"{read.truth.doubled} alerts came twice without a restart",
    )
