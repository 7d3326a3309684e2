"""The web side: the page and its API, and what Prometheus scrapes."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
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
from market_spread.metrics_aggregator.http.runs_api import NoSuchRunError, RunsApi
from market_spread.metrics_aggregator.http.security import Guard, Hosts
from market_spread.metrics_aggregator.http.updates import PING_S, Feeds
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.page import STATIC
from market_spread.metrics_aggregator.prometheus_view import exposed_series


def web_app(
    store: Store,
    clock: Clock,
    *,
    feeds: Feeds | None = None,
    archive: Archive | None = None,
    hosts: Hosts | None = None,
    ping_s: float = PING_S,
) -> ASGIApp:
    """The application. It reads the store in the loop that the store belongs to.

    feeds: what event streams are fed from, ticked by who passes them in; archive: finished runs; hosts: those that
    requests may name, any if absent.
    """

    async def page(_request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def metrics(_request: Request) -> Response:
        return Response(exposition(exposed_series(store, clock.unix_ns())), headers={"content-type": CONTENT_TYPE})

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    runs = RunsApi(store, clock, feeds or Feeds(store, clock), archive, ping_s=ping_s)
    app = Starlette(
        routes=[
            Route("/", page),
            Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
            Route("/metrics", metrics),
            Route("/healthz", healthz),
            *runs.routes(),
        ],
        exception_handlers={
            NoSuchRunError: _answer(404),
            UsageError: _answer(400),
            HTTPException: _http_error,
            Exception: _answer(
                500, lambda error: f"the request failed with {type(error).__name__}; the aggregator's log says why"
            ),
        },
    )
    return Guard(app, hosts=hosts or Hosts("0.0.0.0"))


def _answer(status: int, say: Callable[[Exception], str] = str) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(_request: Request, error: Exception) -> Response:
        return JSONResponse({"error": say(error)}, status_code=status)

    return answer


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    reasons = {404: f"there is nothing at {request.url.path}", 405: f"{request.url.path} answers GET only"}
    return JSONResponse({"error": reasons.get(status, str(error))}, status_code=status)
