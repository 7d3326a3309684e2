"""What is new in a run, once a second, for those who watch it: encoded once for all of them.

Each client has a stream of server-sent events: what it has missed, then what is new, and a reset when it is too slow.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from market_spread.common.clock import Clock
from market_spread.metrics_aggregator.http.run_json import as_json, notes_of, series_of, sources_of, state_of, total_of
from market_spread.metrics_aggregator.model.push_validation import note_key
from market_spread.metrics_aggregator.model.run import News, RunState
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.prometheus_view import aggregator_view

_log = logging.getLogger(__name__)

RING_TICKS, RING_BYTES_MAX = 120, 16 * 1024 * 1024
# How long news are collected after the last client has gone, who may come back: as long as the ring lasts.
_WATCHED_NS = 150_000_000_000
PING_S = 15.0
BEHIND_MAX = 10
# A client that takes nothing for so long is disconnected; it may come back.
_SEND_S = 30.0
_BEGIN = b": market-spread\n\n"
_PING = b": ping\n\n"
Parts = AsyncGenerator[bytes, None]


class Feed:
    """The ticks of one run: what was new at a moment, as a server-sent event.

    A reader keeps the number of the last tick that it has seen. Numbers grow by one; the first is the Unix time in
    milliseconds, so that no other process's number is taken for one of these. ring: the last ticks that are kept.
    """

    def __init__(self, run: RunState, store: Store, clock: Clock) -> None:
        self.run, self._store, self._clock = run, store, clock
        self.number = clock.unix_ns() // 1_000_000
        self.ring: deque[bytes] = deque()
        self._ring_bytes, self.closed = 0, False
        self.changed = asyncio.Event()  # set by the next tick, which makes another one
        self._watchers = 0
        self._state = state_of(run, clock.unix_ns())
        self._watched_ns = clock.monotonic_ns()
        run.news = News()

    @property
    def watched(self) -> bool:
        """Whether someone reads, or may come back."""
        return self._watchers > 0 or self._clock.monotonic_ns() - self._watched_ns < _WATCHED_NS

    @contextmanager
    def reader(self) -> Iterator[None]:
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1
            self._watched_ns = self._clock.monotonic_ns()

    def tick(self) -> None:
        """Encode what is new, if anything is, and wake the readers."""
        run, news = self.run, self.run.news
        state = state_of(run, self._clock.unix_ns())
        if news in (None, News()) and state == self._state:
            return
        self._state, run.news = state, News()
        self.number += 1
        event = sse("data", as_json(self._view(news or News())), self.number)
        self.ring.append(event)
        self._ring_bytes += len(event)
        while len(self.ring) > RING_TICKS or (self._ring_bytes > RING_BYTES_MAX and len(self.ring) > 1):
            self._ring_bytes -= len(self.ring.popleft())
        self._wake()

    def close(self) -> None:
        """Collect no more news, and have the readers end."""
        self.run.news, self.closed = None, True
        self._wake()

    def _wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def _view(self, news: News) -> dict[str, Any]:
        return {
            "tick": self.number,
            "now_unix_ms": self._clock.unix_ns() / 1_000_000,
            **self._state,
            "series": [
                series_of(series_id, total_of(series), news.intervals[series_id])
                for series_id, series in self.run.sorted_series()
                if series_id in news.intervals
            ],
            "notes": notes_of(sorted(news.notes, key=note_key)),
            "sources": sources_of(news.epochs.values()),
            "aggregator": aggregator_view(self._store),
        }


class Feeds:
    """The feeds of the runs that are watched."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._feeds: dict[str, Feed] = {}
        self.closed = asyncio.Event()

    def of(self, run: RunState) -> Feed:
        """The run's feed; collecting begins if it was not watched."""
        feed = self._feeds.get(run.run_id)
        if feed is None or feed.run is not run:
            if feed is not None:
                feed.close()
            feed = self._feeds[run.run_id] = Feed(run, self._store, self._clock)
        return feed

    def tick(self) -> None:
        """A tick of every feed; those that nobody watches end, and those whose runs were forgotten."""
        for run_id, feed in list(self._feeds.items()):
            goes_on = feed.watched and self._store.run(run_id) is feed.run
            try:
                if goes_on:
                    feed.tick()
            except Exception:  # one run's fault is not to be that of the others
                _log.exception("tick.failed")
                goes_on = False
            if not goes_on:
                del self._feeds[run_id]
                feed.close()

    def close(self) -> None:
        self.closed.set()
        for feed in self._feeds.values():
            feed.close()


def sse(event: str, data: str, number: int | None = None) -> bytes:
    """A server-sent event. The data have no line break."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {event}\ndata: {data}\n\n".encode()


class EventResponse(StreamingResponse):
    """Lasts until there are no more parts, or until the client goes or takes nothing any more."""

    def __init__(self, parts: Parts, store: Store) -> None:
        super().__init__(parts, headers={"x-accel-buffering": "no"}, media_type="text/event-stream")
        self._parts, self._store = parts, store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body"})
            return
        self._store.clients += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._store.clients -= 1

    async def stream_response(self, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(_SEND_S):
                await send(message)

        with suppress(TimeoutError):
            async with aclosing(self._parts):
                await super().stream_response(send_in_time)


async def news(feed: Feed, *, seen: int, ping_s: float) -> Parts:
    """What is new in a run after the tick that the client has seen, until the feed ends.

    There is no queue of its own: the client has a place in the feed's ring. One that is BEHIND_MAX ticks behind, or
    whose place has left the ring, gets `event: reset` and goes on with the newest tick: it must get the data again.
    """
    caught_up = False
    with feed.reader():
        yield _BEGIN
        while not feed.closed:
            changed, behind = feed.changed, feed.number - seen
            if not behind:
                caught_up = True
                try:
                    async with asyncio.timeout(ping_s):
                        await changed.wait()
                except TimeoutError:
                    yield _PING
            elif caught_up and behind > BEHIND_MAX:
                seen = feed.number
                yield _reset(f"you are more than {BEHIND_MAX} events behind", seen)
            elif not 0 < behind <= len(feed.ring):
                seen = feed.number
                yield _reset("what was new since your last event is not kept any more", seen)
            else:
                seen += 1
                yield feed.ring[-behind]
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
