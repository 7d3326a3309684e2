"""What is new in a run, once a second, for those who watch it: encoded once for all of them."""

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from market_spread.common.clock import Clock
from market_spread.metrics_aggregator.http.run_json import as_json, notes_of, series_of, sources_of, total_of
from market_spread.metrics_aggregator.model.run import News, RunState
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.prometheus_view import aggregator_view

_log = logging.getLogger(__name__)

RING_TICKS = 120
RING_BYTES_MAX = 16 * 1024 * 1024
# How long news are collected after the last client has gone, who may come back: as long as the ring lasts.
_WATCHED_NS = 150_000_000_000


class Feed:
    """The ticks of one run: what was new at a moment, as a server-sent event.

    A reader keeps the number of the last tick that it has seen. Numbers grow by one; the first is the Unix time in
    milliseconds, so that no other process's number is taken for one of these.
    """

    def __init__(self, run: RunState, store: Store, clock: Clock) -> None:
        self.run = run
        self._store = store
        self._clock = clock
        self.number = clock.unix_ns() // 1_000_000
        self._ring: deque[bytes] = deque()
        self._ring_bytes = 0
        self.changed = asyncio.Event()  # set by the next tick, which makes another one
        self._watchers = 0
        self._state = (run.is_live(clock.unix_ns()), run.phase)
        self._watched_ns = clock.monotonic_ns()
        run.news = News()

    @property
    def watched(self) -> bool:
        """Whether someone reads, or may come back."""
        return self._watchers > 0 or self._clock.monotonic_ns() - self._watched_ns < _WATCHED_NS

    @contextmanager
    def reader(self) -> Iterator[None]:
        """Someone reads while the body runs."""
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1
            self._watched_ns = self._clock.monotonic_ns()

    def tick(self) -> None:
        """Encode what is new, if anything is, and wake the readers."""
        run, news = self.run, self.run.news
        self._watched_ns = self._clock.monotonic_ns() if self._watchers else self._watched_ns
        state = (run.is_live(self._clock.unix_ns()), run.phase)
        if not news and state == self._state:
            return
        self._state, run.news = state, News()
        self.number += 1
        event = sse("data", as_json(self._view(news or News())), self.number)
        self._ring.append(event)
        self._ring_bytes += len(event)
        while len(self._ring) > RING_TICKS or (self._ring_bytes > RING_BYTES_MAX and len(self._ring) > 1):
            self._ring_bytes -= len(self._ring.popleft())
        self._wake()

    def next_after(self, seen: int) -> bytes | None:
        """The tick after the one seen; None if there is none yet. LookupError if the reader has missed some."""
        if seen == self.number:
            return None
        missed = self.number - seen
        if not 0 < missed <= len(self._ring):
            raise LookupError("the ticks since your last one are gone")
        return self._ring[-missed]

    def close(self) -> None:
        """Collect no more news."""
        self.run.news = None
        self._wake()

    def _wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def _view(self, news: News) -> dict[str, Any]:
        run = self.run
        live, phase = self._state
        return {
            "tick": self.number,
            "now_unix_ms": self._clock.unix_ns() / 1_000_000,
            "live": live,
            "phase": phase,
            "verdict": run.verdict,
            "title": run.title,
            "series": [
                series_of(series_id, total_of(series), news.intervals[series_id])
                for series_id, series in run.sorted_series()
                if series_id in news.intervals
            ],
            "notes": notes_of(sorted(news.notes)),
            "sources": sources_of(news.epochs.values()),
            "aggregator": aggregator_view(self._store),
        }


class Feeds:
    """The feeds of the runs that are watched."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
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

    def is_current(self, feed: Feed) -> bool:
        """Whether the feed goes on: its run is in memory, and nobody has ended the feeds."""
        return not self.closed.is_set() and self._feeds.get(feed.run.run_id) is feed and self._holds(feed)

    def tick(self) -> None:
        """A tick of every feed; those that nobody watches end, and those whose runs were forgotten."""
        for run_id, feed in list(self._feeds.items()):
            goes_on = feed.watched and self._holds(feed)
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
        """End all event streams."""
        self.closed.set()
        for feed in self._feeds.values():
            feed.close()

    def _holds(self, feed: Feed) -> bool:
        return self._store.run(feed.run.run_id) is feed.run


def sse(event: str, data: str, number: int | None = None) -> bytes:
    """A server-sent event. The data have no line break."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {event}\ndata: {data}\n\n".encode()
