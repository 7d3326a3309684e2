"""One client's stream of server-sent events: what it has missed, then what is new, and a reset when it is too slow."""

import asyncio
import json
from abc import ABC, abstractmethod
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.types import Receive, Scope, Send

from market_spread.metrics_aggregator.http.updates import Feed, Feeds, sse
from market_spread.metrics_aggregator.self_metrics import Own

PING_S = 15.0
BEHIND_MAX = 10
# A client that takes nothing for so long is disconnected; it may come back.
_SEND_S = 30.0
_PING = b": ping\n\n"
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class _Stream(ABC):
    """An ASGI response that lasts until the client goes or takes nothing any more."""

    def __init__(self, own: Own, *, ping_s: float) -> None:
        self._own = own
        self._ping_s = ping_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body"})
            return
        self._own.clients += 1
        gone = asyncio.create_task(_until_gone(receive))
        try:
            with suppress(TimeoutError):
                await _write(send, b": market-spread\n\n")
                await self._stream(send, gone)
                if not gone.done():
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._own.clients -= 1
            gone.cancel()

    @abstractmethod
    async def _stream(self, send: Send, gone: "asyncio.Task[None]") -> None:
        """Send what there is until the stream ends; TimeoutError if the client does not take it."""


class EventStream(_Stream):
    """What is new in a run, until the client goes, is stuck, or the feed ends.

    There is no queue of its own: the client has a place in the feed's ring. One that is BEHIND_MAX ticks behind, or
    whose place has left the ring, gets `event: reset` and goes on with the newest tick: it must get the data again.
    """

    def __init__(self, feed: Feed, feeds: Feeds, own: Own, *, seen: int | None, ping_s: float = PING_S) -> None:
        """`seen`: the last tick that the client has; None if it wants only new ones."""
        super().__init__(own, ping_s=ping_s)
        self._feed = feed
        self._feeds = feeds
        self._seen = feed.number if seen is None else seen
        self._caught_up = False

    async def _stream(self, send: Send, gone: "asyncio.Task[None]") -> None:
        signal = self._feed.watch()
        gone.add_done_callback(lambda _: signal.set())
        try:
            await self._until_it_ends(send, signal, gone)
        finally:
            self._feed.unwatch(signal)

    async def _until_it_ends(self, send: Send, signal: asyncio.Event, gone: "asyncio.Task[None]") -> None:
        while not gone.done():
            signal.clear()
            if not self._feeds.is_current(self._feed):
                await _write(send, _reset("the run has left memory", None))
                break
            part = self._next()
            if part is not None:
                await _write(send, part)
                continue
            try:
                async with asyncio.timeout(self._ping_s):
                    await signal.wait()
            except TimeoutError:
                await _write(send, _PING)

    def _next(self) -> bytes | None:
        """What the client is to get next; None if it has all."""
        newest = self._feed.number
        if self._caught_up and newest - self._seen > BEHIND_MAX:
            self._seen = newest
            return _reset(f"you are more than {BEHIND_MAX} events behind", newest)
        try:
            event = self._feed.next_after(self._seen)
        except LookupError:
            self._seen = newest
            return _reset("what was new since your last event is not kept any more", newest)
        if event is None:
            self._caught_up = True
        else:
            self._seen += 1
        return event


class FinishedStream(_Stream):
    """Nothing is new in a run that is read from its log, until that changes: then a reset ends the stream."""

    def __init__(
        self, changed: Callable[[], Awaitable[bool]], feeds: Feeds, own: Own, *, ping_s: float = PING_S
    ) -> None:
        """`changed`: whether the run has to be read again; asked before each ping. It ends when the feeds do."""
        super().__init__(own, ping_s=ping_s)
        self._changed = changed
        self._feeds = feeds

    async def _stream(self, send: Send, gone: "asyncio.Task[None]") -> None:
        closed = asyncio.create_task(self._feeds.closed.wait())
        try:
            while True:
                ended, _ = await asyncio.wait({gone, closed}, timeout=self._ping_s, return_when=FIRST_COMPLETED)
                if ended:
                    return
                if await self._changed():
                    await _write(send, _reset("the run goes on", None))
                    return
                await _write(send, _PING)
        finally:
            closed.cancel()


async def _write(send: Send, part: bytes) -> None:
    """TimeoutError if the client does not take it."""
    async with asyncio.timeout(_SEND_S):
        await send({"type": "http.response.body", "body": part, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _reset(reason: str, number: int | None) -> bytes:
    return sse("reset", json.dumps({"reason": reason}), number)
