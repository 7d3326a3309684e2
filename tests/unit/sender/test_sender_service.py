"""What the sender's service takes, and what it refuses."""

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any, cast
from unittest.mock import Mock

import grpc
import numpy as np
import pytest

from market_spread.common.errors import UsageError, WrongStateError
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.kafka.client import Done, Headers, KafkaBroker
from market_spread.common.load.source import Block, LoadSource, MessageStream
from market_spread.common.telemetry.metrics import FRAME_DELAY
from market_spread.common.telemetry.recorder import Recorder
from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.sender import service as service_module
from market_spread.sender.publisher import Publisher
from market_spread.sender.service import SenderService
from market_spread.v1.control_pb2 import (
    Phase,
    SenderStatusRequest,
    SenderStatusResponse,
    StartSendingRequest,
    StopSendingRequest,
)
from market_spread.v1.limits_pb2 import RunLimits
from tests.support.clock import ManualClock

CONTEXT = Mock(spec=grpc.ServicerContext)
REQUEST = StartSendingRequest(
    run_id="run-1",
    source="two",
    parameters_json="{}",
    linger_us=2000,
    frame_messages=200,
    nbbo_topic="nbbo",
    orders_topic="orders",
)


class TwoMessages:
    """A quote and an order, at the start."""

    messages = 2

    def __init__(self, parameters: Mapping[str, object], start_unix_ns: int) -> None:
        if parameters:
            raise UsageError(f"{', '.join(parameters)}: no such parameter")
        self._start_unix_ns = start_unix_ns

    def messages_due(self, unix_ns: int) -> int:
        return 2 if unix_ns > self._start_unix_ns else 0

    def blocks(self) -> Iterator[Block]:
        def one(width: int) -> MessageStream:
            return MessageStream(np.array([self._start_unix_ns]), np.array([0]), np.zeros((1, width), np.uint8))

        yield Block(self._start_unix_ns + 1, one(NBBO.width), one(ORDER.width))


class FakeBroker:
    """Two topics; acknowledges everything once it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.released.set()
        self.counts = {"nbbo": 2, "orders": 2}

    def partition_counts(self, topics: list[str]) -> dict[str, int]:
        return self.counts

    def producer(self, topics: list[str]) -> "FakeBroker":
        return self

    def send(
        self, topic: str, partition: int, value: bytes, headers: Headers, done: Done, key: bytes | None = None
    ) -> None:
        self.released.wait(5)
        done(0, None)

    def close(self, timeout_s: float = 0.0) -> None:
        pass


def find_source(name: str) -> LoadSource:
    if name != "two":
        raise UsageError(f"no load source {name!r}")
    return TwoMessages


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


@pytest.fixture
def service(broker: FakeBroker) -> SenderService:
    clock = ManualClock()
    recorder = Recorder(source="sender-0", clock=clock)
    return SenderService(broker=cast(KafkaBroker, broker), recorder=recorder, clock=clock, find_source=find_source)


def status(service: SenderService) -> SenderStatusResponse:
    return service.Status(SenderStatusRequest(), CONTEXT)


def changed(**fields: object) -> StartSendingRequest:
    request = StartSendingRequest()
    request.CopyFrom(REQUEST)
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def test_late_is_what_the_request_says_and_ten_milliseconds_without(
    service: SenderService, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits_ns: list[int] = []

    class Told(Publisher):
        def __init__(self, *arguments: Any, late_ns: int, **more: Any) -> None:
            limits_ns.append(late_ns)
            super().__init__(*arguments, late_ns=late_ns, **more)

    monkeypatch.setattr(service_module, "Publisher", Told)
    for limits in (RunLimits(late_us=250_000), RunLimits(stall_us=1), None):
        request = StartSendingRequest(limits=limits)
        request.MergeFrom(REQUEST)
        service.Start(request, CONTEXT)
        service.Stop(StopSendingRequest(), CONTEXT)

    assert limits_ns == [250_000_000, 10_000_000, 10_000_000]


def finished(service: SenderService) -> SenderStatusResponse:
    pause = threading.Event()
    for _ in range(500):
        response = status(service)
        if response.phase in (Phase.PHASE_FINISHED, Phase.PHASE_FAILED):
            return response
        pause.wait(0.01)
    raise AssertionError("the load did not end")


def test_new_sender_is_idle(service: SenderService) -> None:
    response = status(service)

    assert response.phase == Phase.PHASE_IDLE
    assert response.messages_sent == 0


def test_start_without_a_time_begins_half_a_second_from_now(service: SenderService) -> None:
    response = service.Start(REQUEST, CONTEXT)

    assert response.start_unix_ns == 1_700_000_000_500_000_000


def test_finished_load_has_its_counts(service: SenderService) -> None:
    service.Start(REQUEST, CONTEXT)

    response = finished(service)

    assert response.phase == Phase.PHASE_FINISHED
    assert (response.messages_sent, response.quotes_sent, response.orders_sent) == (2, 1, 1)
    assert (response.messages_due, response.frames_sent, response.unacknowledged_bytes) == (2, 2, 0)
    assert [(sent.topic, sent.partition, sent.frames_acknowledged) for sent in response.partitions] == [
        ("nbbo", 0, 1),
        ("orders", 0, 1),
    ]
    assert HdrCounts.decode(response.send_lag_histogram).count == 2
    assert HdrCounts.decode(response.frame_delay_histogram).count == 2


def test_start_while_a_load_runs_is_refused(service: SenderService, broker: FakeBroker) -> None:
    broker.released.clear()
    service.Start(REQUEST, CONTEXT)

    with pytest.raises(WrongStateError, match="a load of run 'run-1' is running"):
        service.Start(REQUEST, CONTEXT)

    broker.released.set()
    finished(service)


def test_start_after_the_end_of_a_load_begins_the_next(service: SenderService) -> None:
    service.Start(REQUEST, CONTEXT)
    finished(service)

    service.Start(changed(run_id="run-2"), CONTEXT)

    assert finished(service).run_id == "run-2"


def test_stop_is_idempotent(service: SenderService) -> None:
    service.Stop(StopSendingRequest(), CONTEXT)
    service.Start(REQUEST, CONTEXT)

    service.Stop(StopSendingRequest(), CONTEXT)
    service.Stop(StopSendingRequest(), CONTEXT)

    assert status(service).phase == Phase.PHASE_FINISHED


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("frame_messages", 0, "frame_messages=0; use 1 to 142162"),
        ("frame_messages", 200_000, "frame_messages=200000; use 1 to 142162"),
        ("linger_us", 60_000_001, "linger_us=60000001; use at most 60000000"),
        ("run_id", "", "run_id is empty; give one"),
        ("source", "three", "no load source 'three'"),
        ("orders_topic", "nbbo", "nbbo_topic and orders_topic are both 'nbbo'; use two topics"),
        ("parameters_json", "[1]", "parameters_json='[1]' cannot be read (it is no JSON object); give an object"),
        ("parameters_json", json.dumps({"rate": 1}), "rate: no such parameter"),
    ],
)
def test_wrong_request_is_refused_in_words(service: SenderService, field: str, value: object, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        service.Start(changed(**{field: value}), CONTEXT)

    assert str(refusal.value) == message
    assert status(service).phase == Phase.PHASE_IDLE


def test_all_errors_of_a_request_come_at_once(service: SenderService) -> None:
    with pytest.raises(UsageError) as refusal:
        service.Start(changed(frame_messages=0, run_id="", parameters_json="{"), CONTEXT)

    assert str(refusal.value).count(";") == 5
    assert "parameters_json='{' cannot be read" in str(refusal.value)


def test_topics_with_different_partitions_are_refused(service: SenderService, broker: FakeBroker) -> None:
    broker.counts = {"nbbo": 2, "orders": 3}

    with pytest.raises(UsageError, match="nbbo has 2 partitions and orders 3; make both with the same number"):
        service.Start(REQUEST, CONTEXT)


def test_a_load_begins_an_interval_of_the_metrics(broker: FakeBroker) -> None:
    """Of two loads of one run with no push between them, each has histograms of its own."""
    clock = ManualClock()
    recorder = Recorder(source="sender-0", clock=clock)
    service = SenderService(broker=cast(KafkaBroker, broker), recorder=recorder, clock=clock, find_source=find_source)
    for _ in range(2):
        service.Start(REQUEST, CONTEXT)
        finished(service)

    counts = [{item.key.name: item.count for item in push.histograms} for push in recorder.take()]

    assert [each[FRAME_DELAY.name] for each in counts] == [2, 2]


def test_status_tells_acknowledgements_and_the_time(service: SenderService) -> None:
    assert status(service).unix_ns >= 1_700_000_000_000_000_000
    service.Start(REQUEST, CONTEXT)

    response = finished(service)

    assert HdrCounts.decode(response.acknowledge_histogram).count == 2
    assert response.unix_ns > response.start_unix_ns
