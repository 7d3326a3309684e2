"""The web side: page, API (the runs, a run's data, what is new in it, a run as one file), what Prometheus scrapes."""

import asyncio
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from math import inf
from operator import itemgetter

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from market_spread.common.clock import Clock
from market_spread.common.errors import UsageError
from market_spread.common.telemetry.exposition import exposition
from market_spread.common.telemetry.families import CONTENT_TYPE
from market_spread.metrics_aggregator.http.archive import Archive
from market_spread.metrics_aggregator.http.run_json import NO_RUN, Range, RunCopy, copy_of, data_json, head_of
from market_spread.metrics_aggregator.http.security import Hosts, guarded
from market_spread.metrics_aggregator.http.updates import PING_S, EventResponse, Feeds, news, nothing_new
from market_spread.metrics_aggregator.model.run import RunState
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.page import STATIC, one_file
from market_spread.metrics_aggregator.prometheus_view import aggregator_view, exposed_series

CLIENTS_MAX = 100
POINTS, POINTS_MIN, POINTS_MAX = 600, 10, 3_000


def web_app(
    store: Store, clock: Clock, *, feeds: Feeds | None = None, archive: Archive | None = None,
    hosts: Hosts | None = None, ping_s: float = PING_S,
) -> ASGIApp:  # fmt: skip
    """The application. It reads the store in the loop that the store belongs to.

    feeds: what event streams are fed from, ticked by who passes them in; archive: finished runs; hosts: those that
    requests may name, any if absent.
    """

    async def page(_request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def metrics(_request: Request) -> Response:
        return Response(exposition(exposed_series(store, clock.unix_ns())), headers={"content-type": CONTENT_TYPE})

    api = _RunsApi(store, clock, feeds or Feeds(store, clock), archive, ping_s)
    app = Starlette(
        routes=[
            Route("/", page),
            Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
            Route("/metrics", metrics),
            Route("/healthz", PlainTextResponse("ok\n")),
            Route("/api/v1/runs", api.runs),
            Route("/api/v1/runs/{run_id}/data", api.data),
            Route("/api/v1/runs/{run_id}/documents", api.documents),
            Route("/api/v1/runs/{run_id}/events", api.events),
            Route("/api/v1/runs/{run_id}/export", api.export),
        ],
        exception_handlers=dict.fromkeys((UsageError, HTTPException, Exception), _error),
    )
    return guarded(GZipMiddleware(app, compresslevel=5), hosts or Hosts("0.0.0.0"))  # event streams stay as they are


@dataclass(frozen=True, slots=True)
class _RunsApi:
    """Answers from the store's runs, and from the archive's where there is one."""

    store: Store
    clock: Clock
    feeds: Feeds
    archive: Archive | None
    ping_s: float

    async def runs(self, _request: Request) -> Response:
        archived = await asyncio.to_thread(self.archive.heads) if self.archive is not None else []
        now = self.clock.unix_ns()
        heads = {head["run_id"]: head for head in (*archived, *(head_of(run, now) for run in self.store.runs()))}
        newest_first = sorted(heads.values(), key=itemgetter("begin_unix_ms", "run_id"), reverse=True)
        return JSONResponse({"runs": newest_first})

    async def data(self, request: Request) -> Response:
        within, points = _asked(request)
        copied = self._copy(await self._run(request))
        named = {name: request.query_params.get(name, "") for name in ("fine", "only")}
        text = await asyncio.to_thread(data_json, copied, within, points=points, **named)
        return Response(text, media_type="application/json")

    async def documents(self, request: Request) -> Response:
        run_id = request.path_params["run_id"]
        return JSONResponse(await asyncio.to_thread(self.archive.documents, run_id) if self.archive else {})

    async def export(self, request: Request) -> Response:
        run = await self._run(request)
        copied = self._copy(run)
        page = await asyncio.to_thread(lambda: one_file(data_json(copied, Range(), points=POINTS_MAX)))
        name = f"{run.run_id or 'metrics'}.html"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(page, media_type="text/html", headers=headers)

    async def events(self, request: Request) -> Response:
        seen = _seen(request)
        run = await self._run(request)
        if self.store.clients >= CLIENTS_MAX:
            sentence = f"{CLIENTS_MAX} pages are watching already; close one of them"
            return JSONResponse({"error": sentence}, 503, headers={"retry-after": "10"})
        if self.store.run(run.run_id) is not run:
            parts = nothing_new(partial(self._goes_on, run.run_id), self.feeds, ping_s=self.ping_s)
        else:
            feed = self.feeds.of(run)
            parts = news(feed, seen=feed.number if seen is None else seen, ping_s=self.ping_s)
        return EventResponse(parts, self.store)

    async def _goes_on(self, run_id: str) -> bool:
        """Whether a run that was read from its log is pushed for, here or where another process writes the log."""
        if self.store.run(run_id) is not None:
            return True
        return self.archive is not None and await asyncio.to_thread(self.archive.has_changed, run_id)

    def _copy(self, run: RunState) -> RunCopy:
        """The run as of a tick: what its event streams tell later is not in it, and all that they have told is."""
        tick = 0
        if self.store.run(run.run_id) is run:
            feed = self.feeds.of(run)
            feed.tick()
            tick = feed.number
        return copy_of(run, now_unix_ns=self.clock.unix_ns(), tick=tick, aggregator=aggregator_view(self.store))

    async def _run(self, request: Request) -> RunState:
        run_id = request.path_params["run_id"]
        run = self.store.run("" if run_id == NO_RUN else run_id)
        if run is None and self.archive is not None:
            run = await asyncio.to_thread(self.archive.open, run_id)
        if run is None:
            raise HTTPException(404, f"there is no run {run_id!r}; /api/v1/runs lists those that there are")
        return run


def _asked(request: Request) -> tuple[Range, int]:
    """Of when the intervals are asked for, and how many of each series at most."""
    points = _number(request, "points", POINTS)
    if not POINTS_MIN <= points <= POINTS_MAX:
        raise UsageError(f"points={points:g}; use {POINTS_MIN} to {POINTS_MAX}")
    begin, end = _number(request, "from_unix_ms", -inf), _number(request, "to_unix_ms", inf)
    if begin >= end:
        raise UsageError(f"from_unix_ms={begin:g} is not before to_unix_ms={end:g}")
    return Range(begin * 1e6, end * 1e6), int(points)


def _number(request: Request, name: str, default: float) -> float:
    text = request.query_params.get(name)
    if not text:
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


async def _error(request: Request, error: Exception) -> Response:
    status, text = 500, f"the request failed with {type(error).__name__}; the aggregator's log says why"
    if isinstance(error, UsageError):
        status, text = 400, str(error)
    elif isinstance(error, HTTPException):  # Starlette's own says "Not Found" of a path
        unknown = error.detail == HTTPStatus.NOT_FOUND.phrase
        status, text = error.status_code, f"there is nothing at {request.url.path}" if unknown else error.detail
    return JSONResponse({"error": text}, status_code=status)
