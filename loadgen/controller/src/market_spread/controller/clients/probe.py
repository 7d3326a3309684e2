"""Whether services and a broker do their work, asked from outside: what `helm test` runs."""

import secrets
from collections.abc import Sequence

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from market_spread.common.errors import RunFailedError, RunVoidError, UsageError
from market_spread.common.grpc.calls import DEADLINE_S, REASON_KEY, channel_to
from market_spread.common.kafka.client import KafkaBroker

PROBE_TOPIC = "market-spread-probe"
_ROUND_TRIP_S = 20.0


def named_addresses(texts: Sequence[str]) -> dict[str, str]:
    """Of `NAME=HOST:PORT`, the addresses by name. UsageError naming all that are written in another way."""
    wrong = [text for text in texts if not all(text.partition("=")) or ":" not in text.partition("=")[2]]
    if wrong:
        raise UsageError(f"{', '.join(wrong)}; write NAME=HOST:PORT")
    return dict(text.split("=", 1) for text in texts)


def service_problem(address: str) -> str | None:
    """Why the gRPC service there is not well, a sentence; None if it says SERVING."""
    with channel_to(address) as channel:
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
