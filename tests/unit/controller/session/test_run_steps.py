"""The steps of a run with processes that do what a test says: whose fault it is when one goes wrong."""

import dataclasses
import threading
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from market_spread.common.errors import DeadlineError, MarketSpreadError, RunFailedError, RunVoidError, UsageError
from market_spread.common.job_contract import TOPICS
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.clients.services import Clients
from market_spread.controller.deploy.base import Environment
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.session import run as run_module
from market_spread.controller.session.run import Run
from market_spread.v1.control_pb2 import (
    JobStatusResponse,
    PartitionOffset,
    Phase,
    ReceiverStatusResponse,
    SenderStatusResponse,
)
from tests.support.clock import ManualClock
from tests.support.paths import QUICK


class FakeEnvironment:
    """Processes that run, or of which one has died."""

    is_new = True
    job_outage_s = 0.0
    job_restarts = 0

    def __init__(self, cause: MarketSpreadError | None = None) -> None:
        self._cause = cause

    def start(self) -> object:
        return object()

    def check_alive(self) -> None:
        if self._cause is not None:
            raise self._cause


class FakeClients:
    """Clients of a job that runs, of a receiver that refuses to start, and of a sender that has failed."""

    topics = TOPICS

    def __init__(self, refusal: MarketSpreadError) -> None:
        self._refusal = refusal
        self.closed = False

    def wait_for_job(self, *_: object, **__: object) -> None:
        pass

    def drain_job(self, *_: object) -> None:
        pass

    def job_status(self) -> JobStatusResponse:
        return JobStatusResponse(phase=Phase.PHASE_RUNNING)

    def receiver_status(self) -> ReceiverStatusResponse:
        return ReceiverStatusResponse()

    def start_receiving(self, *_: object) -> None:
        raise self._refusal

    def start_sending(self, *_: object, **__: object) -> int:
        return 1_700_000_000_000_000_000

    def sender_status(self) -> SenderStatusResponse:
        return SenderStatusResponse(phase=Phase.PHASE_FAILED, detail="the topic nbbo is gone")

    def close(self) -> None:
        self.closed = True


def a_run(cause: MarketSpreadError | None = None) -> Run:
    return Run(
        plan_of_workload(read_workload(QUICK)),
        cast(Environment, FakeEnvironment(cause)),
        run_id="a-run",
        clock=ManualClock(),
        show=lambda progress: None,
        interrupted=threading.Event(),
    )


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Callable[[MarketSpreadError], FakeClients]:
    """Have the run's receiver refuse with an error."""

    def refuse(error: MarketSpreadError) -> FakeClients:
        clients = FakeClients(error)
        monkeypatch.setattr(run_module, "Clients", lambda addresses, **settings: clients)
        return clients

    return refuse


def test_what_the_user_can_mend_ends_the_run_without_a_result(refusing: Callable[[Any], FakeClients]) -> None:
    clients = refusing(UsageError("the data folder is full; make room"))

    with pytest.raises(UsageError, match="the data folder is full; make room"):
        a_run().carry_out()

    assert clients.closed


def test_what_goes_wrong_belongs_to_the_result(refusing: Callable[[Any], FakeClients]) -> None:
    error = DeadlineError("the receiver did not answer")
    refusing(error)

    assert a_run().carry_out().error is error


def test_process_that_died_is_the_better_reason(refusing: Callable[[Any], FakeClients]) -> None:
    cause = RunFailedError("the job ended with status 1; it gave no reason")
    refusing(DeadlineError("the job did not answer"))
    run = a_run(cause)

    assert run.carry_out().error is cause


def test_job_that_dies_of_what_spoiled_the_run_does_not_replace_it(refusing: Callable[[Any], FakeClients]) -> None:
    error = RunVoidError("the sender failed: the broker did not take 17 messages")
    refusing(error)

    assert a_run(RunFailedError("the job ended with status 1")).carry_out().error is error


def test_receiver_that_has_given_up_makes_the_run_void(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process lives on, so no alert would come for the probes."""
    clients = FakeClients(UsageError("not asked"))
    failed = ReceiverStatusResponse(phase=Phase.PHASE_FAILED, detail="No space left on device")
    monkeypatch.setattr(clients, "receiver_status", lambda: failed)
    observed = Observed(started=datetime(2026, 11, 21, tzinfo=UTC))

    with pytest.raises(RunVoidError, match=r"^the receiver failed: No space left on device$"):
        a_run()._wait_until_ready(cast(Clients, clients), observed, {})
    with pytest.raises(RunVoidError, match=r"^the receiver failed: No space left on device$"):
        a_run()._look(cast(Clients, clients), observed, "measuring")


@pytest.mark.parametrize(("offset", "error"), [(9, "450 messages of the warm-up were not processed"), (10, None)])
def test_what_a_killed_job_had_committed_uncounted_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, offset: int, error: str | None
) -> None:
    """Its last batch was committed between two looks, and its next driver counts from there."""
    run, clients = a_run(), FakeClients(UsageError("not asked"))
    run._ends, run.plan = {("nbbo", 0): 10}, dataclasses.replace(run.plan, probe_symbols=frozenset())
    committed = [PartitionOffset(topic="nbbo", partition=0, offset=offset)]
    job = JobStatusResponse(phase=Phase.PHASE_RUNNING, messages_processed=50, committed=committed)
    monkeypatch.setattr(clients, "job_status", lambda: job, raising=False)
    monkeypatch.setattr(clients, "drain_job", lambda *_: None, raising=False)
    observed = Observed(started=datetime(2026, 11, 21, tzinfo=UTC))
    observed.sent_before = 500

    with pytest.raises(DeadlineError, match=error) if error else nullcontext():
        run._wait_until_ready(cast(Clients, clients), observed, {})


def test_what_came_before_the_run_broke_off_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    run, clients = a_run(), FakeClients(UsageError("not asked"))
    order_ids: list[str] = []

    def ledger(run_id: str, name: str) -> bytes:
        order_ids.append(name)
        return b""

    monkeypatch.setattr(clients, "ledger", ledger, raising=False)
    observed = Observed(
        started=datetime(2026, 11, 21, tzinfo=UTC), starts_unix_ns={"measured": 1_700_000_000_000_000_000}
    )
    observed.error = RunVoidError("the broker ended with status 137; killed")

    run._salvage(cast(Clients, clients), observed)

    assert order_ids == ["alerts"]
    assert observed.alerts is not None
    assert (observed.judgement, observed.partly is None) == (None, False)


def test_sender_that_fails_makes_the_run_void() -> None:
    clients = cast(Clients, FakeClients(UsageError("not asked")))
    observed = Observed(started=datetime(2026, 11, 21, tzinfo=UTC))

    with pytest.raises(RunVoidError, match=r"^the sender failed: the topic nbbo is gone$"):
        a_run()._send("measured", clients, observed, "measuring")


def test_run_where_another_one_goes_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = FakeClients(UsageError("not asked"))
    going_on = SenderStatusResponse(phase=Phase.PHASE_RUNNING, run_id="20261122-quick")
    monkeypatch.setattr(clients, "sender_status", lambda: going_on)
    monkeypatch.setattr(run_module, "Clients", lambda addresses, **settings: clients)
    monkeypatch.setattr(FakeEnvironment, "is_new", False)

    with pytest.raises(UsageError, match="run 20261122-quick is going on here; wait for its end"):
        a_run().carry_out()
