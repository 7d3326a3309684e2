"""The gRPC service Receiver: one run at a time, from its ledger's recovery to its counts."""

import itertools
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import grpc

from market_spread.common.clock import Clock
from market_spread.common.documents import json_object
from market_spread.common.errors import UsageError, WrongStateError
from market_spread.common.grpc.calls import partition_offsets, time_to_answer_s
from market_spread.common.job_contract import RUN_ID, RUN_ID_REMEDY
from market_spread.common.kafka.access import FINDS
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.logs import log_event
from market_spread.common.process.service import ServiceConfig
from market_spread.common.processes import cpu_us
from market_spread.common.telemetry.recorder import Recorder
from market_spread.receiver.ledger import NAMES, Ledger, ledger_path, read_ledger
from market_spread.receiver.matching import Matcher
from market_spread.receiver.receiving import Receiving
from market_spread.v1 import control_pb2 as pb
from market_spread.v1.control_pb2_grpc import ReceiverServicer

PIECE_BYTES = 1024 * 1024
DRAIN_TIMEOUT_S = 60.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverConfig(ServiceConfig):
    """Environment of the receiver."""

    data_folder: Annotated[Path, "Where the ledgers of the runs are."]
    source: Annotated[str, "Its name in metrics."] = "receiver"


class ReceiverService(ReceiverServicer):
    """Receives runs into ledgers below a folder. Thread-safe."""

    def __init__(self, *, broker: KafkaBroker, folder: Path, recorder: Recorder, clock: Clock) -> None:
        self._broker, self._folder = broker, folder
        self._recorder, self._clock = recorder, clock
        self._changing = threading.Lock()
        self._receiving: Receiving | None = None
        self._run_id = ""

    def Start(self, request: pb.StartReceivingRequest, context: grpc.ServicerContext) -> pb.StartReceivingResponse:
        _check(request)
        with self._changing:
            if self._receiving is not None and self._receiving.phase == pb.Phase.PHASE_RUNNING:
                raise WrongStateError(f"run {self._run_id!r} is being received; stop it first")
            recovered = self._start(request)
        log_event(_log, "receiving.started", run_id=request.run_id, records_recovered=recovered)
        return pb.StartReceivingResponse(records_recovered=recovered)

    def Status(self, request: pb.ReceiverStatusRequest, context: grpc.ServicerContext) -> pb.ReceiverStatusResponse:
        receiving = self._receiving
        response = receiving.status() if receiving else pb.ReceiverStatusResponse(phase=pb.Phase.PHASE_IDLE)
        response.run_id, response.cpu_us, response.unix_ns = self._run_id, cpu_us(), self._clock.unix_ns()
        return response

    def Drain(self, request: pb.DrainReceiverRequest, context: grpc.ServicerContext) -> pb.DrainReceiverResponse:
        receiving = self._receiving
        if receiving is None or receiving.phase != pb.Phase.PHASE_RUNNING:
            raise WrongStateError("nothing is being received; start a run first")
        positions = receiving.drain(time_to_answer_s(context, DRAIN_TIMEOUT_S))
        return pb.DrainReceiverResponse(positions=partition_offsets(positions))

    def Stop(self, request: pb.StopReceivingRequest, context: grpc.ServicerContext) -> pb.StopReceivingResponse:
        self.close()
        return pb.StopReceivingResponse()

    def ReadLedger(
        self, request: pb.ReadLedgerRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ReadLedgerResponse]:
        errors = _wrong_run_id(request.run_id)
        if request.name not in NAMES:
            errors.append(f"name={request.name!r} is not a ledger; use one of {', '.join(NAMES)}")
        if errors:
            raise UsageError("; ".join(errors))
        for piece in read_ledger(ledger_path(self._folder, request.run_id, request.name), piece_bytes=PIECE_BYTES):
            yield pb.ReadLedgerResponse(data=piece)

    def close(self) -> None:
        with self._changing:
            if self._receiving is not None:
                self._receiving.stop()

    def _start(self, request: pb.StartReceivingRequest) -> int:
        matched = [each.topic for each in (*request.inputs, *request.outputs)]
        topics = [request.alerts_topic, request.invalid_topic, request.decisions_topic, *matched]
        partitions = self._broker.partition_counts([topic for topic in topics if topic])
        matcher = _matcher(request, self._clock)
        ledger = Ledger(self._folder, request.run_id)
        recovered = ledger.open()
        try:
            self._recorder.run_id = request.run_id
            receiving = Receiving(
                request, partitions=partitions, consumer=self._broker.consumer(), ledger=ledger, recovered=recovered,
                recorder=self._recorder, clock=self._clock, matcher=matcher,
            )  # fmt: skip
        except BaseException:
            ledger.close()
            raise
        self._receiving, self._run_id = receiving, request.run_id
        receiving.start()
        return recovered.records


def _check(request: pb.StartReceivingRequest) -> None:
    """UsageError naming everything that is wrong with the request."""
    required = ("outputs",) if request.inputs else ("alerts_topic", "invalid_topic")
    errors = [f"{name} is empty; give one" for name in required if not getattr(request, name)]
    errors += [
        f"{one} and {other} are both {getattr(request, one)!r}; use two topics"
        for one, other in itertools.combinations(("alerts_topic", "invalid_topic", "decisions_topic"), 2)
        if getattr(request, one) and getattr(request, one) == getattr(request, other)
    ]
    if not request.warm_up_order_id_min:
        errors.append("warm_up_order_id_min=0; give the first order id of the warm-up")
    errors += _wrong_run_id(request.run_id)
    if errors:
        raise UsageError("; ".join(errors))


def _matcher(request: pb.StartReceivingRequest, clock: Clock) -> Matcher | None:
    """UsageError for what cannot find an id."""
    if not request.inputs:
        return None
    inputs, outputs = (
        {each.topic: FINDS.read(json_object(each.finds_json)) for each in of}
        for of in (request.inputs, request.outputs)
    )
    # An output that a function cannot read names no message, and is counted so; the run controller says why.
    found = {topic: finds.finder(raised=lambda error: None) for topic, finds in outputs.items()}
    return Matcher({topic: finds.finder() for topic, finds in inputs.items()}, found, clock)


def _wrong_run_id(run_id: str) -> list[str]:
    return [] if RUN_ID.fullmatch(run_id) else [f"run_id={run_id!r} cannot name a folder; {RUN_ID_REMEDY}"]
