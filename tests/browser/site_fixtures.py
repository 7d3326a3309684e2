"""A web server for the page: its static files with the aggregator's headers, and a synthetic run as its API.

Below /src/ are the modules that the page is built of, for tests of a single one.
"""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from market_spread.metrics_aggregator.page import STATIC, one_file
from tests.browser.synthetic import BEGIN_MS, SyntheticRun, in_cells

MODULES = Path(__file__).parents[2] / "services" / "metrics_ui" / "src"
# How long intervals are where a number of points is asked for.
COARSE_S = 20
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


class Site:
    """The server in a thread. `now_s` is how far a live run has come; `advance` lets it go on.

    cell_s: of the whole run it gives intervals of that many seconds, of a range those of a second. finished: other
    runs, each with its documents.
    """

    def __init__(
        self,
        run: SyntheticRun | None,
        *,
        now_s: int | None = None,
        port: int = 0,
        cell_s: int = 1,
        finished: Sequence[tuple[SyntheticRun, Mapping[str, Any]]] = (),
    ) -> None:
        self.run = run
        self.finished = finished
        self.cell_s = cell_s
        self.ranges_asked: list[str] = []
        self.data_asked: list[str] = []
        self.now_s = run.seconds if run and now_s is None else now_s or 0
        self.resumed_from: list[str] = []
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self._socket.listen()  # the server does it later, in its thread: a browser may come first
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(self._app(), log_level="error", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def __enter__(self) -> "Site":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it; browsers see their connections go."""
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._socket.close()

    def advance(self, seconds: int = 1) -> None:
        """Let the run go on; the stream tells it."""
        self.now_s += seconds

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", self._index),
                Route("/static/{path:path}", self._static),
                Route("/src/{path:path}", self._module),
                Route("/api/v1/runs", self._runs),
                Route("/api/v1/runs/{run_id}/data", self._data),
                Route("/api/v1/runs/{run_id}/documents", self._documents),
                Route("/api/v1/runs/{run_id}/events", self._events),
                Route("/api/v1/runs/{run_id}/export", self._export),
            ]
        )

    async def _index(self, _request: Request) -> Response:
        return HTMLResponse((STATIC / "index.html").read_text(), headers=HEADERS)

    async def _static(self, request: Request) -> Response:
        return self._file(STATIC, request)

    async def _module(self, request: Request) -> Response:
        return self._file(MODULES, request)

    def _file(self, folder: Path, request: Request) -> Response:
        path = (folder / request.path_params["path"]).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            return JSONResponse({"error": f"there is nothing at {request.url.path}"}, status_code=404)
        return FileResponse(path, headers=HEADERS, media_type=_media_type(path))

    async def _runs(self, _request: Request) -> Response:
        if self.run is None:
            return JSONResponse({"runs": []}, headers=HEADERS)
        data = self.run.data(self.now_s)
        known = {key: data[key] for key in ("run_id", "title", "live", "phase", "verdict")}
        known["outcome"] = data["verdict"]
        times = {"begin_unix_ms": BEGIN_MS, "end_unix_ms": BEGIN_MS + self.now_s * 1000}
        heads = [{**known, **times}, *(_head(run, of.get("result", {})) for run, of in self.finished)]
        return JSONResponse({"runs": heads}, headers=HEADERS)

    async def _documents(self, request: Request) -> Response:
        found = (of for run, of in self.finished if run.run_id == request.path_params["run_id"])
        return JSONResponse(next(found, {}), headers=HEADERS)

    async def _data(self, request: Request) -> Response:
        for run, _ in self.finished:
            if run.run_id == request.path_params["run_id"]:
                return JSONResponse(run.data(run.seconds), headers=HEADERS)
        if self.run is None or request.path_params["run_id"] != self.run.run_id:
            sentence = f"no run {request.path_params['run_id']!r} is known; /api/v1/runs lists those that are"
            return JSONResponse({"error": sentence}, status_code=404, headers=HEADERS)
        data = self.run.data(self.now_s)
        self.data_asked.append(request.url.query)
        if "from_unix_ms" in request.query_params:
            self.ranges_asked.append(request.url.query)
            begin, end = (float(request.query_params[name]) for name in ("from_unix_ms", "to_unix_ms"))
            for series in data["series"]:
                series["intervals"] = [row for row in series["intervals"] if row[1] > begin and row[0] < end]
        elif self.cell_s > 1 or "points" in request.query_params:
            data = in_cells(data, self.run, self.cell_s if self.cell_s > 1 else COARSE_S)
        only = request.query_params.get("only", "")
        for series in data["series"]:
            if only not in ("", series["name"]) and series["kind"] == "histogram":
                series["intervals"] = []
        return JSONResponse(data, headers=HEADERS)

    async def _export(self, _request: Request) -> Response:
        assert self.run is not None
        page = one_file(json.dumps(self.run.data(self.now_s)))
        headers = {**HEADERS, "content-disposition": f'attachment; filename="{self.run.run_id}.html"'}
        return HTMLResponse(page, headers=headers)

    async def _events(self, request: Request) -> Response:
        last = request.headers.get("last-event-id", "")
        self.resumed_from.append(last)
        headers = {**HEADERS, "content-type": "text/event-stream"}
        return StreamingResponse(self._stream(int(last or self.now_s)), headers=headers)

    async def _stream(self, tick: int) -> AsyncIterator[str]:
        assert self.run is not None
        if tick > self.now_s:
            yield 'event: reset\ndata: {"reason": "the aggregator was started again"}\n\n'
            return
        yield ": ping\n\n"
        while not self._server.should_exit:
            while tick < self.now_s:
                event: dict[str, Any] = self.run.event(tick)
                tick = event["tick"]
                yield f"id: {tick}\nevent: data\ndata: {json.dumps(event)}\n\n"
            await asyncio.sleep(0.05)


def _head(run: SyntheticRun, result: Mapping[str, Any]) -> dict[str, Any]:
    """As the aggregator's list has a finished run."""
    names = ("achieved_rate_per_s", "cpu_us_per_message", "latency_sparkline_ns")
    figures = {f"latency_ns.{name}": result.get("latency_ns", {}).get(name) for name in ("p50", "p99")}
    data = run.data(run.seconds)
    return {
        "run_id": run.run_id,
        "title": data["title"],
        "live": False,
        "phase": "done",
        "verdict": data["verdict"],
        "outcome": data["verdict"],
        "begin_unix_ms": BEGIN_MS - 1e6,
        "end_unix_ms": BEGIN_MS - 1e6 + run.seconds * 1000,
        "figures": {**figures, **{name: result.get(name) for name in names}},
    }


def _media_type(path: Path) -> str:
    return {".js": "text/javascript", ".css": "text/css"}.get(path.suffix, "text/plain")
