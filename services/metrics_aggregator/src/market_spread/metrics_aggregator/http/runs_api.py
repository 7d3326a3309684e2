"""The web page's side of the HTTP API: the runs, a run's data, what is new in it, and a run as one file."""

import asyncio
from dataclasses import asdict
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from market_spread.common.clock import Clock
from market_spread.common.errors import UsageError
from market_spread.metrics_aggregator.http.archive import Archive, RunHead
from market_spread.metrics_aggregator.http.run_json import NO_RUN, Range, RunCopy, copy_of, data_json
from market_spread.metrics_aggregator.http.updates import PING_S, EventResponse, Feeds, news, nothing_new
from market_spread.metrics_aggregator.model.run import RunState
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.page import one_file
from market_spread.metrics_aggregator.prometheus_view import aggregator_view

CLIENTS_MAX = 100
POINTS = 600
POINTS_MIN = 10
POINTS_MAX = 3_000


class NoSuchRunError(UsageError):
    """There is no such run, neither in memory nor on disk."""


class RunsApi:
    """Answers from the store's runs, and from the archive's where there is one."""

    def __init__(
        self, store: Store, clock: Clock, feeds: Feeds, archive: Archive | None, *, ping_s: float = PING_S
    ) -> None:
        self._store = store
        self._clock = clock
        self._feeds = feeds
        self._archive = archive
        self._ping_s = ping_s

    def routes(self) -> list[Route]:
        """Where it answers."""
        return [
            Route("/api/v1/runs", self._runs),
            Route("/api/v1/runs/{run_id}/data", self._data),
            Route("/api/v1/runs/{run_id}/events", self._events),
            Route("/api/v1/runs/{run_id}/export", self._export),
        ]

    async def _runs(self, _request: Request) -> Response:
        archived = await asyncio.to_thread(self._archive.heads) if self._archive is not None else []
        now = self._clock.unix_ns()
        heads = {head.run_id: head for head in archived}
        heads |= {run.run_id: RunHead.of(run, now) for run in self._store.runs()}
        newest_first = sorted(heads.values(), key=lambda head: (head.begin_unix_ns, head.run_id), reverse=True)
        return JSONResponse({"runs": [_head_view(head) for head in newest_first]})

    async def _data(self, request: Request) -> Response:
        within, points = _asked(request)
        copied = self._copy(await self._run(request))
        text = await asyncio.to_thread(data_json, copied, within, points=points)
        return Response(text, media_type="application/json")

    async def _export(self, request: Request) -> Response:
        run = await self._run(request)
        copied = self._copy(run)

        def page() -> str:
            return one_file(data_json(copied, Range(), points=POINTS_MAX))

        name = f"{run.run_id or 'metrics'}.html"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(await asyncio.to_thread(page), media_type="text/html", headers=headers)

    async def _events(self, request: Request) -> Response:
        seen = _seen(request)
        run = await self._run(request)
        if self._store.own.clients >= CLIENTS_MAX:
            sentence = f"{CLIENTS_MAX} pages are watching already; close one of them"
            return JSONResponse({"error": sentence}, 503, headers={"retry-after": "10"})
        if self._store.run(run.run_id) is not run:
            parts = nothing_new(partial(self._goes_on, run.run_id), self._feeds, ping_s=self._ping_s)
        else:
            feed = self._feeds.of(run)
            parts = news(feed, self._feeds, seen=feed.number if seen is None else seen, ping_s=self._ping_s)
        return EventResponse(parts, self._store.own)

    async def _goes_on(self, run_id: str) -> bool:
        """Whether a run that was read from its log is pushed for, here or where another process writes the log."""
        if self._store.run(run_id) is not None:
            return True
        return self._archive is not None and await asyncio.to_thread(self._archive.has_changed, run_id)

    def _copy(self, run: RunState) -> RunCopy:
        """The run as of a tick: what its event streams tell later is not in it, and all that they have told is."""
        tick = 0
        if self._store.run(run.run_id) is run:
            feed = self._feeds.of(run)
            feed.tick()
            tick = feed.number
        return copy_of(run, now_unix_ns=self._clock.unix_ns(), tick=tick, aggregator=aggregator_view(self._store))

    async def _run(self, request: Request) -> RunState:
        run_id = request.path_params["run_id"]
        run = self._store.run("" if run_id == NO_RUN else run_id)
        if run is None and self._archive is not None:
            run = await asyncio.to_thread(self._archive.open, run_id)
        if run is None:
            raise NoSuchRunError(f"there is no run {run_id!r}; /api/v1/runs lists those that there are")
        return run


def _head_view(head: RunHead) -> dict[str, Any]:
    view = asdict(head)
    begin, end = view.pop("begin_unix_ns"), view.pop("end_unix_ns")
    return {**view, "run_id": head.run_id or NO_RUN, "begin_unix_ms": begin / 1e6, "end_unix_ms": end / 1e6}


def _asked(request: Request) -> tuple[Range, int]:
    """Of when the intervals are asked for, and how many of each series at most."""
    points = _number(request, "points", POINTS)
    if not POINTS_MIN <= points <= POINTS_MAX:
        raise UsageError(f"points={points:g}; use {POINTS_MIN} to {POINTS_MAX}")
    begin, end = _number(request, "from_unix_ms"), _number(request, "to_unix_ms")
    if begin is not None and end is not None and begin >= end:
        raise UsageError(f"from_unix_ms={begin:g} is not before to_unix_ms={end:g}")
    return Range(_ns(begin), _ns(end)), int(points)


def _number(request: Request, name: str, default: Any = None) -> Any:
    text = request.query_params.get(name)
    if text is None or text == "":
        return default
    try:
        number = float(text)
    except ValueError as error:
        raise UsageError(f"{name}={text!r} is no number") from error
    if not abs(number) < 1e15:
        raise UsageError(f"{name}={text!r} is no time in milliseconds, nor a number of points")
    return number


def _seen(request: Request) -> int | None:
    """The last tick that the client has: its header, or `after` in the query, since a page cannot set the header."""
    text = request.headers.get("last-event-id") or request.query_params.get("after")
    if not text:
        return None
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _ns(unix_ms: float | None) -> int | None:
    return None if unix_ms is None else round(unix_ms * 1e6)
