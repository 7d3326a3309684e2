"""Targets behind the metrics page: its routes, and the folders of runs that it shows."""

import asyncio
import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

from market_spread.metrics_aggregator.http.app import web_app
from market_spread.metrics_aggregator.http.archive import Archive
from market_spread.metrics_aggregator.http.security import Hosts
from market_spread.metrics_aggregator.model.store import Store
from tests.fuzz.decoders import START, log, mutated_log, notes, pushes
from tests.fuzz.documents import mutated_json
from tests.fuzz.engine import Target, WrongError, loop
from tests.fuzz.mutation import mutated_bytes
from tests.support.clock import ManualClock
from tests.unit.controller.compare.run_fixtures import write_run

GOOD, BAD = "20260101-000001-quick", "20260101-000000-quick"
_SEPARATOR = b"\x1e"


def targets(scratch: Path) -> list[Target]:
    """All of them."""
    of_log, of_result = Page(scratch / "log", "metrics.hlog"), Page(scratch / "result", "result.json")
    requests = Page(scratch / "requests", "metrics.hlog")
    paths = (
        "/",
        "/metrics",
        "/healthz",
        "/static/main.js",
        "/api/v1/runs",
        "/api/v1/runs/r1/data",
        f"/api/v1/runs/{GOOD}/data",
    )
    seeds = [
        _SEPARATOR.join([b"GET", path.encode(), query, b"host", b"localhost", b"accept-encoding", b"gzip"])
        for path in (*paths, f"/api/v1/runs/{GOOD}/export", f"/api/v1/runs/{GOOD}/documents", "/api/v1/runs/r1/events")
        for query in (b"", b"points=20&from_unix_ms=0&to_unix_ms=1800000000000")
    ]
    return [
        Target("page-log", 4_000, of_log.attempt, [log()], mutated_log, ()),
        Target("page-result", 4_000, of_result.attempt, [of_result.path.read_bytes()], mutated_json, ()),
        Target("page-requests", 8_000, requests.request, seeds, _mutated_request, ()),
    ]  # fmt: skip


class Page:
    """The application in process, over a live run, a good one on disk, and one with a file of a stranger."""

    def __init__(self, folder: Path, name: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        for number in range(2):
            run = write_run(folder, number)
            (run / "metrics.hlog").write_bytes(log())
            (run / "manifest.json").write_text("{}")
        self.path = folder / BAD / name
        clock = ManualClock(START + 10**9)
        store = Store(clock=clock, history_bytes_max=10**7)
        for push in pushes():
            store.push(push)
        for note in notes():
            store.note(note)
        archive = Archive(folder, clock=clock, history_bytes_max=10**7)
        self.app = web_app(store, clock, archive=archive, hosts=Hosts("127.0.0.1"), ping_s=0.01)

    def attempt(self, data: bytes) -> None:
        self.path.write_bytes(data)
        listed = json.loads(self.get("/api/v1/runs"))["runs"]
        if {GOOD, BAD, "r1"} != {each["run_id"] for each in listed}:
            raise WrongError(f"the runs are {listed}")
        for part in ("data", "documents", "export"):
            self.get(f"/api/v1/runs/{BAD}/{part}")

    def get(self, path: str) -> bytes:
        status, body = self.asked("GET", path.encode(), b"", [(b"host", b"localhost")])
        if status != 200:
            raise WrongError(f"{path} is answered with {status}: {body[:200]!r}")
        return body

    def request(self, data: bytes) -> None:
        method, path, query, *headers = (data.split(_SEPARATOR) + [b""] * 3)[: max(3, data.count(_SEPARATOR) + 1)]
        pairs = list(zip(headers[::2], headers[1::2], strict=False))
        status, body = self.asked(method.decode("latin-1"), path, query, [(n.lower(), v) for n, v in pairs])
        if status >= 500 or status < 200:
            raise WrongError(f"{method!r} {path!r} is answered with {status}: {body[:200]!r}")

    def asked(self, method: str, path: bytes, query: bytes, headers: list[tuple[bytes, bytes]]) -> tuple[int, bytes]:
        return loop().run_until_complete(self._ask(method, path, query, headers))

    async def _ask(
        self, method: str, path: bytes, query: bytes, headers: list[tuple[bytes, bytes]]
    ) -> tuple[int, bytes]:
        status, body = 0, b""
        gone = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            nonlocal status, body
            status = message.get("status", status)
            body += message.get("body", b"")
            if b"ping" in body[-20:] or len(body) > 50_000_000:  # of a stream that lasts
                gone.set()

        scope = {
            "type": "http", "method": method, "path": path.decode("utf-8", "replace"), "raw_path": path,
            "root_path": "", "query_string": query, "headers": headers, "scheme": "http", "server": ("localhost", 80),
            "client": ("127.0.0.1", 9), "http_version": "1.1", "asgi": {"version": "3.0"},
        }  # fmt: skip
        await self.app(scope, receive, send)
        return status, body


def _mutated_request(random: Random, data: bytes) -> bytes:
    parts = data.split(_SEPARATOR)
    at = random.randrange(len(parts))
    odd = random.choice(_PARTS) if random.random() < 0.4 else mutated_bytes(random, parts[at])
    match random.randrange(3):
        case 0 if parts[1].count(b"/") > 1:
            steps = parts[1].split(b"/")
            steps[random.randrange(1, len(steps))] = odd.replace(_SEPARATOR, b"")
            parts[1] = b"/".join(steps)
        case 1:
            parts += [random.choice((b"last-event-id", b"range", b"if-none-match", b"host", b"if-modified-since")), odd]
        case _:
            parts[at] = odd
    return _SEPARATOR.join(parts)


_PARTS: tuple[bytes, ...] = (
    b"..", b".", b"", b"%2e%2e", b"-", b"r1", b"\x00", b"x" * 5_000, b"POST", b"HEAD", b"points=1e400", b"points=nan",
    b"from_unix_ms=-1e14&to_unix_ms=1e14", b"after=99999999999999999999", b"after=\xd9\xa3", b"bytes=0-", b"bytes=-1",
    b"bytes=5-1,0-0,9999999-", b"Mon, 99 Foo", b"\xff\xfe", b"points=10.5", b"events", b"export", b"documents",
)  # fmt: skip
