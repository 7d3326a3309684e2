"""What the receiver's service takes, and what it refuses."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import grpc
import pytest

from market_spread.common.errors import UsageError, WrongStateError
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.kafka.client import KafkaBroker, Partition, Record
from market_spread.common.telemetry.recorder import Recorder
from market_spread.receiver.service import ReceiverService
from market_spread.v1.control_pb2 import (
    DrainReceiverRequest,
    Phase,
    ReadLedgerRequest,
    ReceiverStatusRequest,
    StartReceivingRequest,
    StopReceivingRequest,
)
from tests.support.clock import ManualClock

CONTEXT = Mock(spec=grpc.ServicerContext)
CONTEXT.time_remaining.return_value = None
REQUEST = StartReceivingRequest(
    run_id="run-1", alerts_topic="alerts", invalid_topic="invalid", warm_up_order_id_min=9_000_000_000
)


class EmptyBroker:
    """Topics of one partition without a record."""

    def partition_counts(self, topics: list[str]) -> dict[str, int]:
        return dict.fromkeys(topics, 1)

    def consumer(self) -> "EmptyBroker":
        return self

    def assign(self, positions: Mapping[Partition, int]) -> None:
        pass

    def poll(self, timeout_s: float) -> dict[Partition, list[Record]]:
        return {}

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(partitions, 0)

    def close(self) -> None:
        pass


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ReceiverService]:
    clock = ManualClock()
    recorder = Recorder(source="receiver", clock=clock)
    service = ReceiverService(broker=cast(KafkaBroker, EmptyBroker()), folder=tmp_path, recorder=recorder, clock=clock)
    yield service
    service.close()


def test_new_receiver_is_idle(service: ReceiverService) -> None:
    status = service.Status(ReceiverStatusRequest(), CONTEXT)

    assert status.phase == Phase.PHASE_IDLE
    assert HdrCounts.of_status(status.latency_histogram).count == 0


def test_start_runs_and_stop_finishes(service: ReceiverService) -> None:
    recovered = service.Start(REQUEST, CONTEXT).records_recovered
    running = service.Status(ReceiverStatusRequest(), CONTEXT)
    service.Stop(StopReceivingRequest(), CONTEXT)
    service.Stop(StopReceivingRequest(), CONTEXT)

    assert recovered == 0
    assert (running.phase, running.run_id) == (Phase.PHASE_RUNNING, "run-1")
    assert service.Status(ReceiverStatusRequest(), CONTEXT).phase == Phase.PHASE_FINISHED


def test_start_while_a_run_is_on_is_refused(service: ReceiverService) -> None:
    service.Start(REQUEST, CONTEXT)

    with pytest.raises(WrongStateError, match="run 'run-1' is being received; stop it first"):
        service.Start(REQUEST, CONTEXT)


def test_drain_answers_with_the_positions(service: ReceiverService) -> None:
    service.Start(REQUEST, CONTEXT)

    positions = service.Drain(DrainReceiverRequest(), CONTEXT).positions

    assert [(each.topic, each.partition, each.offset) for each in positions] == [("alerts", 0, 0), ("invalid", 0, 0)]


def test_drain_of_nothing_is_refused(service: ReceiverService) -> None:
    with pytest.raises(WrongStateError, match="nothing is being received; start a run first"):
        service.Drain(DrainReceiverRequest(), CONTEXT)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            StartReceivingRequest(),
            "alerts_topic is empty; give one; invalid_topic is empty; give one; "
            "warm_up_order_id_min=0; give the first order id of the warm-up; "
            "run_id='' cannot name a folder; "
            "use letters, digits, '.', '_' and '-', a letter or digit first, at most 100",
        ),
        (
            StartReceivingRequest(run_id="../up", alerts_topic="a", invalid_topic="a", warm_up_order_id_min=1),
            "alerts_topic and invalid_topic are both 'a'; use two topics; "
            "run_id='../up' cannot name a folder; "
            "use letters, digits, '.', '_' and '-', a letter or digit first, at most 100",
        ),
        (
            StartReceivingRequest(
                run_id="r", alerts_topic="a", invalid_topic="b", decisions_topic="a", warm_up_order_id_min=1
            ),
            "alerts_topic and decisions_topic are both 'a'; use two topics",
        ),
    ],
)
def test_wrong_request_is_refused_in_words(
    service: ReceiverService, request_: StartReceivingRequest, message: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        service.Start(request_, CONTEXT)

    assert str(refusal.value) == message


def test_ledger_of_a_path_outside_is_refused(service: ReceiverService) -> None:
    with pytest.raises(UsageError, match="cannot name a folder"):
        list(service.ReadLedger(ReadLedgerRequest(run_id="..", name="alerts"), CONTEXT))


def test_unknown_ledger_is_refused(service: ReceiverService) -> None:
    with pytest.raises(UsageError, match="name='orders' is not a ledger; use one of alerts, decisions, invalid"):
        list(service.ReadLedger(ReadLedgerRequest(run_id="run-1", name="orders"), CONTEXT))
