"""One client's stream of server-sent events: what it has missed, then what is new, and a reset when it is too slow."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from market_spread.metrics_aggregator.http.updates import Feed, Feeds, sse
from market_spread.metrics_aggregator.model.store import Own

PING_S = 15.0
BEHIND_MAX = 10
# A client that takes nothing for so long is disconnected; it may come back.
_SEND_S = 30.0
_BEGIN = b": market-spread\n\n"
_PING = b": ping\n\n"

Parts = AsyncGenerator[bytes, None]


class EventResponse(StreamingResponse):
    """Lasts until there are no more parts, or until the client goes or takes nothing any more."""

    def __init__(self, parts: Parts, own: Own) -> None:
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(parts, headers=headers, media_type="text/event-stream")
        self._parts = parts
        self._own = own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body"})
            return
        self._own.clients += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._own.clients -= 1

    async def stream_response(self, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(_SEND_S):
                await send(message)

        with suppress(TimeoutError):
            async with aclosing(self._parts):
                await super().stream_response(send_in_time)


async def news(feed: Feed, feeds: Feeds, *, seen: int, ping_s: float) -> Parts:
    """What is new in a run after the tick that the client has seen, until the feed ends.

    There is no queue of its own: the client has a place in the feed's ring. One that is BEHIND_MAX ticks behind, or
    whose place has left the ring, gets `event: reset` and goes on with the newest tick: it must get the data again.
    """
    caught_up = False
    with feed.reader():
        yield _BEGIN
        while feeds.is_current(feed):
            changed, newest = feed.changed, feed.number
            if caught_up and newest - seen > BEHIND_MAX:
                seen = newest
                yield _reset(f"you are more than {BEHIND_MAX} events behind", newest)
                continue
            try:
                event = feed.next_after(seen)
            except LookupError:
                seen = newest
                yield _reset("what was new since your last event is not kept any more", newest)
                continue
            if event is not None:
                seen += 1
                yield event
                continue
            caught_up = True
            try:
                async with asyncio.timeout(ping_s):
                    await changed.wait()
            except TimeoutError:
                yield _PING
        yield _reset("the run has left memory", None)


async def nothing_new(changed: Callable[[], Awaitable[bool]], feeds: Feeds, *, ping_s: float) -> Parts:
    """Pings for a run that is read from its log, until that changes: then a reset ends the stream.

    `changed`: whether the run has to be read again; asked before each ping. It ends when the feeds do.
    """
    yield _BEGIN
    while not feeds.closed.is_set():
        try:
            async with asyncio.timeout(ping_s):
                await feeds.closed.wait()
        except TimeoutError:
            if await changed():
                yield _reset("the run goes on", None)
                return
            yield _PING


def _reset(reason: str, number: int | None) -> bytes:
    return sse("reset", json.dumps({"reason": reason}), number)
