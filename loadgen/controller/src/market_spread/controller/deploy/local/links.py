"""A link to the run's broker that planned faults are of: a proxy for a kind of client, aware of Kafka's frames."""

import asyncio
import random
import socket
import threading
from collections import deque
from contextlib import suppress
from math import inf

from market_spread.controller.deploy.local.broker import free_port
from market_spread.controller.plan.faults import PARTITION, Fault

_HOST = "127.0.0.1"
# A client has a few requests on their way, none larger than what the broker takes.
_FRAMES_MAX, _BUFFER_BYTES = 64, 1024 * 1024
_PRODUCE = b"\0\0"  # the key of requests that write records


class Link:
    """Carries the connections of one kind of client, on a thread of its own. `start`, then `stop`.

    A frame is Kafka's length of 4 bytes, and so many more. A request has its api_key next and its correlation id, by
    which its answer begins, 4 bytes later. ports: of the broker, and of ours, at which the clients find it.
    """

    def __init__(self, client: str, *, seed: int) -> None:
        self._listening, self._chance = socket.create_server((_HOST, 0)), random.Random(f"{seed} {client}")
        self.ports = free_port(), int(self._listening.getsockname()[1])
        self._fault: Fault | None = None
        self._resets = 0
        self._free_s = {True: 0.0, False: 0.0}  # when the way to the broker, and the one back, has room
        self._over, self._is_calm, self._is_serving = asyncio.Event(), asyncio.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name=f"link-{client}", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._is_serving.wait()

    def begin(self, fault: Fault) -> None:
        self._is_calm.clear()
        self._fault, self._resets = fault, 0

    def end(self) -> int:
        """What waits goes on at once. Returns how many connections were reset."""
        self._fault = None
        self._loop.call_soon_threadsafe(self._is_calm.set)
        return self._resets

    def stop(self) -> None:
        """End all connections. Idempotent."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join()
        self._listening.close()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await asyncio.start_server(self._connected, sock=self._listening, limit=_BUFFER_BYTES)
        self._is_serving.set()
        await self._over.wait()

    async def _connected(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """A connection, until either end closes it, or it is reset."""
        try:
            broker, to_broker = await asyncio.open_connection(_HOST, self.ports[0], limit=_BUFFER_BYTES)
        except OSError:  # it is down
            to_client.close()
            return
        writing: deque[bytes] = deque(maxlen=_FRAMES_MAX)  # requests that the broker has not acknowledged
        there = asyncio.create_task(self._carry(client, to_broker, writing, to_broker=True))
        back = asyncio.create_task(self._carry(broker, to_client, writing, to_broker=False))
        with suppress(asyncio.CancelledError):  # the run is over
            done, _ = await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
            if any(way.result() for way in done):
                self._resets += 1
                to_broker.transport.abort()
                to_client.transport.abort()
        there.cancel()
        back.cancel()
        to_broker.close()
        to_client.close()

    async def _carry(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, writing: deque[bytes], *, to_broker: bool
    ) -> bool:
        """One way of a connection, to its end; returns whether it is to be reset."""
        frames: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_FRAMES_MAX)
        delivering = asyncio.create_task(self._deliver(frames, sink))
        try:
            while frame := await _next_frame(source):
                if self._resets_at(frame, writing, to_broker=to_broker):
                    return True
                await frames.put((self._due_s(len(frame), to_broker=to_broker), frame))
            await frames.put((0.0, b""))
            await delivering
            return False
        finally:
            delivering.cancel()

    async def _deliver(self, frames: asyncio.Queue[tuple[float, bytes]], sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):  # the other way ends with it
            while frame := (taken := await frames.get())[1]:
                if (left_s := taken[0] - self._loop.time()) > 0:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._is_calm.wait(), left_s)
                sink.write(frame)
                await sink.drain()

    def _resets_at(self, frame: bytes, writing: deque[bytes], *, to_broker: bool) -> bool:
        fault = self._fault
        if to_broker:
            if frame[4:6] == _PRODUCE:
                writing.append(frame[8:12])
            return fault is not None and self._chance.random() < fault.reset_share
        if (answered := frame[4:8]) not in writing:
            return False
        writing.remove(answered)
        return fault is not None and self._chance.random() < fault.share

    def _due_s(self, size: int, *, to_broker: bool) -> float:
        """When a frame that came just now is to go on, by the loop's time."""
        if (fault := self._fault) is None:
            return 0.0
        if fault.do == PARTITION:
            return inf
        due_s = self._loop.time()
        if fault.bytes_per_s is not None:
            due_s = self._free_s[to_broker] = max(due_s, self._free_s[to_broker]) + size / fault.bytes_per_s
        return due_s + (fault.delay_ms + fault.jitter_ms * self._chance.random()) / 1000


async def _next_frame(source: asyncio.StreamReader) -> bytes:
    """It, with its length; empty at the connection's end."""
    try:
        length = await source.readexactly(4)
        return length + await source.readexactly(int.from_bytes(length, "big"))
    except (asyncio.IncompleteReadError, OSError):
        return b""
