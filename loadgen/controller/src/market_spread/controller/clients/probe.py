"""Whether services and a broker do their work, asked from outside: what `helm test` runs."""

import secrets
from collections.abc import Sequence
from contextlib import closing

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from market_spread.common.errors import RunFailedError, UsageError
from market_spread.common.grpc.calls import DEADLINE_S, REASON_KEY, channel_to
from market_spread.common.kafka.client import KafkaBroker

PROBE_TOPIC = "market-spread-probe"
_ROUND_TRIP_S = 20.0
_POLL_S = 0.5


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
            return f"{error.code().name}: {error.details()}"
    if answer.status == health_pb2.HealthCheckResponse.SERVING:
        return None
    reasons = [str(value) for key, value in call.trailing_metadata() or () if key == REASON_KEY]
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return ": ".join([status, *reasons])


def kafka_round_trip(broker: KafkaBroker) -> int:
    """Write a record into a topic of its own and read it back; its offset. RunFailedError if it does not come back."""
    broker.create_topics({PROBE_TOPIC: 1})
    value = secrets.token_bytes(16)
    (begin,) = broker.end_offsets([PROBE_TOPIC]).values()
    broker.write({PROBE_TOPIC: [value]}, within_s=_ROUND_TRIP_S)
    with closing(broker.consumer()) as consumer:
        consumer.assign({(PROBE_TOPIC, 0): begin})
        for _ in range(round(_ROUND_TRIP_S / _POLL_S)):
            for record in consumer.poll(_POLL_S).get((PROBE_TOPIC, 0), []):
                if record.value == value:
                    return record.offset
    raise RunFailedError(f"a record written to {PROBE_TOPIC} did not come back within {_ROUND_TRIP_S:g} s")
