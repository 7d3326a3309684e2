"""A gRPC server: its port is taken, in one sentence of ours and none of gRPC's; and its health, as it is just now."""

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from market_spread.common.errors import UsageError
from market_spread.common.grpc.calls import REASON_KEY, Server, channel_to, listener, require_bindable
from market_spread.controller.clients.services import JobClient
from market_spread.v1.control_pb2 import (
    DrainReceiverRequest,
    DrainReceiverResponse,
    JobStatusResponse,
    Phase,
    ReadLedgerRequest,
    ReadLedgerResponse,
    ReceiverStatusRequest,
    ReceiverStatusResponse,
)
from market_spread.v1.control_pb2_grpc import (
    JobServicer,
    ReceiverServicer,
    ReceiverStub,
    add_JobServicer_to_server,
    add_ReceiverServicer_to_server,
)
from tests.support.waiting import eventually


def no_service(server: grpc.Server) -> str:
    return "none"


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "[::1]")])
def test_port_in_use_is_one_sentence_and_grpc_says_nothing(
    family: socket.AddressFamily, host: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(socket.create_server((host.strip("[]"), 0), family=family)) as taken:
        address = f"{host}:{taken.getsockname()[1]}"

        with pytest.raises(UsageError) as raised:
            Server(address, no_service)

    assert str(raised.value) == f"{address} cannot be bound: Address already in use; choose another port or 0"
    assert capfd.readouterr().err == ""


def test_free_port_is_bound_after_it_was_tried() -> None:
    with listener("127.0.0.1", 0) as found:
        port = found.getsockname()[1]
    require_bindable(f"127.0.0.1:{port}")

    server = Server(f"127.0.0.1:{port}", no_service)

    assert server.port == port
    server.stop()


def test_each_check_of_health_looks_anew_and_changes_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    problems = ["shared", None, None, "shared"]
    server = Server("127.0.0.1:0", no_service, lambda: problems.pop(0))
    server.start()
    answers = []

    with channel_to(f"127.0.0.1:{server.port}") as channel:
        check = health_pb2_grpc.HealthStub(channel).Check
        for _ in range(3):
            answer, call = check.with_call(health_pb2.HealthCheckRequest(), timeout=5)
            reasons = [value for key, value in call.trailing_metadata() if key == REASON_KEY]
            answers.append((health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status), reasons))
    server.stop()

    assert answers == [("SERVING", []), ("SERVING", []), ("NOT_SERVING", ["shared"])]
    told = [record.fields["reason"] for record in caplog.records if record.msg == "health.changed"]  # type: ignore[attr-defined]
    assert told == ["shared", None, "shared"]


def test_calls_that_hang_leave_threads_to_health_and_to_other_methods() -> None:
    """As many as there were threads: 8 calls of Drain that waited kept health from being answered."""
    ending = threading.Event()

    class Hanging(ReceiverServicer):
        def Drain(self, request: object, context: grpc.ServicerContext) -> DrainReceiverResponse:  # noqa: N802
            ending.wait(30)
            return DrainReceiverResponse()

        def Status(self, request: object, context: grpc.ServicerContext) -> ReceiverStatusResponse:  # noqa: N802
            return ReceiverStatusResponse(run_id="run-1")

        def ReadLedger(self, request: object, context: grpc.ServicerContext) -> Iterator[ReadLedgerResponse]:  # noqa: N802
            ending.wait(30)
            yield ReadLedgerResponse()

    def register(server: grpc.Server) -> str:
        add_ReceiverServicer_to_server(Hanging(), server)
        return "market_spread.v1.Receiver"

    server = Server("127.0.0.1:0", register)
    server.start()
    with channel_to(f"127.0.0.1:{server.port}") as channel:
        receiver, health = ReceiverStub(channel), health_pb2_grpc.HealthStub(channel)
        drains = [receiver.Drain.future(DrainReceiverRequest(), timeout=30) for _ in range(20)]
        reads = [receiver.ReadLedger(ReadLedgerRequest(), timeout=30) for _ in range(20)]
        watches = [health.Watch(health_pb2.HealthCheckRequest(), timeout=30) for _ in range(20)]
        eventually("14 of 20 calls of Drain are refused", lambda: sum(drain.done() for drain in drains) == 14)
        refused = [drain for drain in drains if drain.done()]

        status = receiver.Status(ReceiverStatusRequest(), timeout=2)
        answer = health.Check(health_pb2.HealthCheckRequest(), timeout=2)
        ending.set()
        answered = [drain.result(10) for drain in drains if drain not in refused]
        for each in (*reads, *watches):
            each.cancel()
    server.stop()

    assert (status.run_id, answer.status) == ("run-1", health_pb2.HealthCheckResponse.SERVING)
    assert len(answered) == 6
    error = refused[0].exception()
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert "6 calls of /market_spread.v1.Receiver/Drain go on already" in error.details()


def test_a_call_that_ends_with_the_jobs_server_is_no_word_of_the_job() -> None:
    """A server that ends cancels its calls; why it ends is known to who watches over the process."""

    class Ending(JobServicer):
        def Status(self, request: object, context: grpc.ServicerContext) -> JobStatusResponse:  # noqa: N802
            context.cancel()
            return JobStatusResponse()

    def register(server: grpc.Server) -> str:
        add_JobServicer_to_server(Ending(), server)
        return "market_spread.v1.Job"

    server = Server("127.0.0.1:0", register)
    server.start()
    with closing(JobClient(f"127.0.0.1:{server.port}")) as client:
        status = client.job_status()
    server.stop()

    assert (status.phase, status.detail) == (Phase.PHASE_STARTING, "the job says: CANCELLED")
