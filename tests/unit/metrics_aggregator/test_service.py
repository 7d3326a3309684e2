"""How the streams of pushes end when the aggregator stops."""

import asyncio

import grpc.aio
import pytest

from market_spread.common.errors import UnavailableError
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.service import MetricsService
from market_spread.v1.metrics_pb2 import PushRequest, PushResponse
from tests.support.clock import ManualClock


class Context:
    """A stream whose pushes come, and whose answers leave, when the test says so."""

    def __init__(self) -> None:
        self.push: asyncio.Future[object] = asyncio.Future()
        self.left: asyncio.Future[None] = asyncio.Future()
        self.answers: list[PushResponse] = []

    async def read(self) -> object:
        push = await self.push
        self.push = asyncio.Future()
        return push

    async def write(self, answer: PushResponse) -> None:
        await self.left
        self.answers.append(answer)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def service_of() -> MetricsService:
    return MetricsService(Store(history_bytes_max=1_000_000, clock=ManualClock()))


def test_a_stream_that_waits_for_a_push_is_ended_at_once() -> None:
    async def run() -> None:
        service, context = service_of(), Context()
        stream = asyncio.create_task(service.Push(None, context))
        await settle()

        service.end_streams()

        with pytest.raises(UnavailableError, match="the metrics-aggregator stops; keep what is not answered"):
            await stream

    asyncio.run(run())


def test_a_stream_that_writes_an_answer_is_ended_after_it() -> None:
    async def run() -> None:
        service, context = service_of(), Context()
        stream = asyncio.create_task(service.Push(None, context))
        context.push.set_result(PushRequest(source="sender-0", sequence=7))
        await settle()

        service.end_streams()
        await settle()
        ended_meanwhile = stream.done()
        context.left.set_result(None)

        with pytest.raises(UnavailableError, match="the metrics-aggregator stops"):
            await stream
        assert not ended_meanwhile
        assert [answer.sequence for answer in context.answers] == [7]

    asyncio.run(run())


def test_a_stream_that_its_process_ends_ends_quietly() -> None:
    async def run() -> None:
        service, context = service_of(), Context()
        stream = asyncio.create_task(service.Push(None, context))
        context.push.set_result(grpc.aio.EOF)

        await stream
        service.end_streams()

    asyncio.run(run())
