"""The simulated network: calls between processes, and the streams of pushes."""

from collections import deque
from collections.abc import Callable
from typing import Any

import grpc

from market_spread.common.errors import MarketSpreadError, UnavailableError, UsageError
from market_spread.common.grpc.calls import status_of
from market_spread.common.telemetry.pusher import StreamEndedError
from market_spread.v1.metrics_pb2 import PushRequest, PushResponse
from tests.simulation.world import MS, Process, S, World

# What the sender of a push, its start and its number within it say: which push it is.
PushId = tuple[str, int, int]


class CallFailed(grpc.RpcError):
    """A call without an answer."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        self._code, self._details = code, details

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details


class _Context:
    """Of a call, as its handler sees it."""

    def __init__(self, world: World, deadline_ns: int) -> None:
        self._world, self._deadline_ns = world, deadline_ns

    def time_remaining(self) -> float:
        return (self._deadline_ns - self._world.now_ns) / S


class Network:
    """Between processes; messages of a connection keep their order. acknowledged: pushes whose answer has arrived."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.acknowledged: dict[PushId, None] = {}
        self.twice = 0.0
        self.swallowed: set[str] = set()
        self._random = world.random("network")
        self._cut_until_ns: dict[frozenset[str], int] = {}
        self._streams: dict[Stream, None] = {}

    def delay_ns(self) -> int:
        return int(self._random.uniform(0.1, 3.0) * MS)

    def chance(self, share: float) -> bool:
        return share > 0 and self._random.random() < share

    def cut(self, one: str, other: str, length_ns: int) -> None:
        """Nothing goes between two processes for so long."""
        self.world.note("network", f"nothing goes between {one} and {other} for {length_ns / 1e9:.3f} s")
        self._cut_until_ns[frozenset((one, other))] = self.world.now_ns + length_ns

    def is_cut(self, one: str, other: str) -> bool:
        return self._cut_until_ns.get(frozenset((one, other)), 0) > self.world.now_ns

    def reset(self, source: str) -> None:
        """The connections by which a process pushes break; what is on its way arrives, or does not."""
        for stream in [each for each in self._streams if each.source == source]:
            self.world.note("network", f"resets the pushes of the {source}")
            stream.end("connection reset")

    def open(self, source: str) -> "Stream":
        """A stream of pushes from the process that runs."""
        stream = Stream(self, source, self.world.process)
        self._streams[stream] = None
        return stream

    def closed(self, stream: "Stream") -> None:
        self._streams.pop(stream, None)


class Stub:
    """The calls to a process, in place of gRPC's stubs."""

    def __init__(self, network: Network, server: str) -> None:
        self._network, self._server = network, server

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda request, timeout: self._call(name, request, timeout)

    def _call(self, name: str, request: Any, timeout_s: float) -> Any:
        network, world = self._network, self._network.world
        deadline_ns = world.now_ns + round(timeout_s * S)
        world.sleep(network.delay_ns())
        server = world.processes[self._server]
        if not server.alive or server.service is None:
            raise CallFailed(grpc.StatusCode.UNAVAILABLE, "connection refused")
        answer: list[Any] = []

        def handle() -> None:
            try:
                found = getattr(server.service, name)(request, _Context(world, deadline_ns))
                answer.append(list(found) if name == "ReadLedger" else found)
            except MarketSpreadError as error:
                answer.append(CallFailed(*status_of(error)))

        world.spawn(server, handle)
        world.wait_until(lambda: answer or not server.alive, max(0, deadline_ns - world.now_ns))
        world.sleep(network.delay_ns())
        if not answer:
            if not server.alive:
                raise CallFailed(grpc.StatusCode.UNAVAILABLE, "connection closed")
            raise CallFailed(grpc.StatusCode.DEADLINE_EXCEEDED, "deadline exceeded")
        if isinstance(answer[0], CallFailed):
            raise answer[0]
        return answer[0]


class Stream:
    """In place of `PushStream`: to the life that the aggregator has when it is opened."""

    def __init__(self, network: Network, source: str, owner: Process) -> None:
        self.source = source
        self._network, self._world, self._owner = network, network.world, owner
        self._aggregator = self._world.processes["aggregator"]
        self._answers: deque[PushResponse] = deque()
        self._ended = ""
        self._swallows = False
        self._arrived_ns = 0
        if self._aggregator.alive:
            self._aggregator.at_death.append(lambda: self.end("connection closed"))
        else:
            self._world.after(10 * MS, lambda: self.end("connection refused"))

    def send(self, push: PushRequest) -> None:
        data = push.SerializeToString()
        self._arrived_ns = max(self._arrived_ns + 1, self._world.now_ns + self._network.delay_ns())
        self._world.at(self._arrived_ns, lambda: self._arrive(data))
        if self._network.chance(self._network.twice):  # as by a connection that was thought to be lost
            self._world.note("network", f"brings push {push.sequence} of the {self.source} twice")
            self._world.at(self._arrived_ns + 5 * MS, lambda: self._arrive(data, answered=False))

    def answer(self, timeout_s: float) -> PushResponse | None:
        self._world.wait_until(lambda: self._answers or self._ended, round(max(0.0, timeout_s) * S))
        if self._answers:
            return self._answers.popleft()
        if self._ended:
            raise StreamEndedError(self._ended)
        return None

    def close(self) -> None:
        self.end("closed")

    def end(self, reason: str) -> None:
        self._ended = self._ended or reason
        self._network.closed(self)

    def _arrive(self, data: bytes, *, answered: bool = True) -> None:
        if self._ended and self._network.chance(0.5):
            return
        if self.source in self._network.swallowed:
            self._network.swallowed.discard(self.source)
            self._swallows = True
            self._world.note("network", f"swallows the pushes of the {self.source} from now on")
        if self._network.is_cut(self.source, "aggregator"):
            self._swallows = True
        if not self._swallows and self._aggregator.alive:
            self._world.spawn(self._aggregator, lambda: self._take(data, answered=answered))

    def _take(self, data: bytes, *, answered: bool) -> None:
        push = PushRequest.FromString(data)
        response = PushResponse(sequence=push.sequence)
        try:
            self._aggregator.service.push(push)
        except UsageError as error:
            response.refusal = str(error)
        except UnavailableError as error:
            self.end(str(error))
            return
        if answered:
            self._world.after(self._network.delay_ns(), lambda: self._answer(push, response))

    def _answer(self, push: PushRequest, response: PushResponse) -> None:
        if self._ended or self._swallows:
            return
        if self._owner.alive and not response.refusal:
            self._network.acknowledged[push.source, push.epoch_unix_ns, push.sequence] = None
        self._answers.append(response)
