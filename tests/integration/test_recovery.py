"""The job among noise and kills, on real processes: malformed messages do not stop it, a kill loses nothing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.errors import MarketSpreadError
from market_spread.common.job_contract import MICRO_BATCH, REAL_TIME
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.wire.codec import decode_ledger
from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.controller.clients.services import Addresses, Clients, sent_ends
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.plan.plan import PlannedLoad, RunPlan, orders_of, plan_of_workload, quotes_of
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.controller.plan.workload import Workload
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.oracle import WHOLE_RUN, Judgement, Oracle
from market_spread.v1.control_pb2 import JobStatusResponse, Phase, SenderStatusResponse, StartSendingRequest
from tests.support.jobs import Jobs
from tests.support.judging import is_right
from tests.support.sending import sent
from tests.support.waiting import eventually

SMALL = Path(__file__).parent / "workloads" / "small.yaml"

pytestmark = pytest.mark.timeout(300)


class Rig:
    """Running processes, and the loads that went through them."""

    def __init__(self, folder: Path, workload: Workload) -> None:
        plan = plan_of_workload(workload)
        # Verdicts that do not change are certain however long a job was away: nothing at all may be missing.
        self.plan: RunPlan = replace(plan, measured=plan.measured.with_parameters(tight_share=0))
        self.mode = workload.job.mode
        self.stack = LocalStack(
            folder=folder, java=find_java(), jars=JarCache(), workload=workload, clock=SystemClock()
        )
        self.sent: list[SenderStatusResponse] = []
        self.starts_unix_ns: list[tuple[PlannedLoad, int]] = []

    def start(self) -> None:
        self.addresses: Addresses = self.stack.start()
        self.clients = Clients(self.addresses)
        self.wait_for_running_job()
        self.clients.start_receiving("recovery")

    def stop(self) -> None:
        if hasattr(self, "clients"):
            self.clients.close()
        self.stack.stop()

    def wait_for_running_job(self) -> None:
        running = Phase.PHASE_RUNNING
        eventually("the job runs", lambda: self.clients.job_status().phase == running, within_s=120)

    def begin(self, load: PlannedLoad) -> None:
        start = self.clients.start_sending(
            load, StartSendingRequest(run_id="recovery", linger_us=10_000, frame_messages=200)
        )
        self.starts_unix_ns.append((load, start))

    def finish(self) -> None:
        self.sent.append(sent(self.clients, within_s=120))

    def send(self, load: PlannedLoad) -> None:
        self.begin(load)
        self.finish()

    def wait_for_alerts(self) -> None:
        eventually("alerts come", lambda: self.clients.receiver_status().alerts, within_s=60)

    def wait_for_commit(self) -> JobStatusResponse:
        """Everything that was sent so far is committed."""
        self.clients.drain_job(sent_ends(self.sent), 120)
        return self.clients.job_status()

    def restart_job(self) -> None:
        self.clients.close()
        self.stack.restart_job()
        self.clients = Clients(self.addresses)
        self.wait_for_running_job()

    def judge(self, *, duplicates_allowed: bool) -> Judgement:
        self.clients.drain_receiver(60)
        ledger = decode_ledger(self.clients.ledger("recovery", "alerts"))
        alerts = Alerts.from_rows(ledger.rows, ledger.received_us)
        oracle = Oracle(alerts, replayed=WHOLE_RUN if duplicates_allowed else ())
        for load, start in self.starts_unix_ns:
            for quotes in quotes_of(load.open(start)):
                oracle.add_quotes(quotes)
        for load, start in self.starts_unix_ns:
            for orders in orders_of(load.open(start)):
                oracle.add_orders(orders)
        return oracle.judgement()


@pytest.fixture
def rig(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Rig]:
    rig = Rig(tmp_path, read_workload(SMALL, Overrides(mode=request.param)))
    try:
        rig.start()
        yield rig
    finally:
        rig.stop()


def put_noise(rig: Rig) -> list[tuple[str, str]]:
    """Records with malformed messages in them, and two good quotes; topic and reason of each that must be reported."""
    good_quote = b"Q" + b"AAPL  " + b"0000100000" + b"0000100010" + b"1700000000000000" + b"000000000001"
    bad_number = good_quote.replace(b"0000100010", b"00001O0010")
    noise = bytes(range(256)) * 8192  # 2 MiB: no whole number of messages
    reasons: list[tuple[str, str]] = []
    producer = KafkaBroker(rig.addresses.bootstrap_servers, "noise").producer()

    def put(topic: str, value: bytes, reason: str, version: bytes = b"1") -> None:
        problems: list[Exception] = []
        headers = [("format", version), ("sent_us", b"1700000000000000")]
        producer.send(topic, 0, value, headers, lambda _, error: problems.append(error) if error else None)
        reasons.append((topic, reason))
        assert not problems

    put("nbbo", b"", "wrong_length")
    put("nbbo", b"short", "wrong_length")
    put("nbbo", good_quote + bad_number + good_quote, "unreadable_field")
    put("nbbo", b"X" + good_quote[1:], "unknown_kind")
    put("nbbo", good_quote, "unknown_format", version=b"2")
    put("orders", noise, "wrong_length")
    put("orders", good_quote + b"    ", "unknown_kind")
    assert (NBBO.width, ORDER.width) == (55, 59)
    producer.close(10)
    return reasons


@pytest.mark.parametrize("rig", [REAL_TIME, pytest.param(MICRO_BATCH, marks=pytest.mark.full)], indirect=True)
def test_malformed_messages_are_counted_and_a_killed_job_goes_on_and_loses_nothing(
    rig: Rig,
) -> None:
    """One job of each mode for all of it, since each start takes a dozen seconds."""
    rig.send(rig.plan.initial)
    rig.wait_for_commit()

    reasons = put_noise(rig)
    rig.clients.drain_job(KafkaBroker(rig.addresses.bootstrap_servers).end_offsets(["nbbo", "orders"]), 120)

    job = rig.clients.job_status()
    assert job.restarts == 0
    assert job.messages_committed == rig.sent[0].messages_sent + 7 + 2

    rig.begin(rig.plan.measured)
    rig.wait_for_alerts()  # so the query goes on after the noise
    if rig.mode == REAL_TIME:
        wait_for_live_counts(rig)
    driver = psutil.Process(rig.stack.children["job"].pid)
    family = [driver, *driver.children(recursive=True)]
    for process in family:
        process.kill()
    psutil.wait_procs(family, timeout=10)
    rig.restart_job()
    rig.finish()
    rig.wait_for_commit()
    judgement = rig.judge(duplicates_allowed=True)

    assert is_right(judgement), judgement
    assert judgement.received == judgement.expected > 1_300
    status = rig.clients.receiver_status()
    assert status.invalid_records == len(reasons) == 7
    lines = rig.clients.ledger("recovery", "invalid").splitlines()
    reports = [json.loads(line)["invalid"] for line in lines]
    assert sorted((report["topic"], report["reason"]) for report in reports) == sorted(reasons)
    (unreadable,) = [report for report in reports if report["reason"] == "unreadable_field"]
    assert unreadable["position"] == 1


def wait_for_live_counts(rig: Rig) -> None:
    """Real-Time Mode reports progress only when a batch ends; the aggregator is to know more often."""
    counts_of_batch: dict[int, set[int]] = {}

    def three_of_one_batch() -> bool:
        status = rig.clients.job_status()
        counts = counts_of_batch.setdefault(status.batch_id, set())
        counts.add(status.messages_processed)
        return len(counts) == 3

    eventually("three counts of one batch", three_of_one_batch, within_s=60, detail=lambda: counts_of_batch)


def test_a_checkpoint_of_a_build_that_packed_prices_otherwise_is_refused(broker: Broker, tmp_path: Path) -> None:
    """Of such a build there are batches, but no note of the form: it would be read as other prices."""
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_text('v1\n{"batchWatermarkMs":0,"conf":{}}\n{"nbbo":{"0":0}}\n{"orders":{"0":0}}')
    jobs = Jobs(tmp_path, broker)
    jobs.create_topics("nbbo", "orders", "alerts", "invalid")

    try:
        with pytest.raises(MarketSpreadError, match=r"state in another form .*give the job an empty checkpoint"):
            jobs.wait_for_commit(jobs.start_job("market_spread", tmp_path / "checkpoint", mode=REAL_TIME), "nbbo")
    finally:
        jobs.stop()
