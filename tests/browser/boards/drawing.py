"""A board in a page of Grafana's packages, in a real Chromium, over a recorded run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Route, ViewportSize

from tests.browser.boards.recording import Recorded
from tests.support.waiting import eventually

_WIDTH = 1440
# Where a Grafana has what its packages ask for.
_FONTS = {"Inter-Regular.woff2": "inter-latin-400-normal.woff2", "Inter-Medium.woff2": "inter-latin-500-normal.woff2"}
_WITHIN_S = 90.0
_SETTLE_MS = 700


@dataclass(frozen=True)
class Drawn:
    """What became of a board. looks: of each panel, in its order; complaints: errors that the page said."""

    looks: list[dict[str, Any]]
    complaints: list[str]
    picture: bytes


def draw(browser: Browser, page_folder: Path, recorded: Recorded, board: Mapping[str, Any]) -> Drawn:
    """Draw all of a board, with every row unfolded."""
    context = browser.new_context(viewport=ViewportSize(width=_WIDTH, height=900), timezone_id="UTC", locale="en-US")
    complaints: list[str] = []
    # A page of Prometheus's own address may ask it.
    address = f"{recorded.url}/board/"
    try:
        context.route(f"{address}**", lambda route: _serve(route, page_folder, address))
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(f"{error.name}: {error.message}"))
        page.goto(address)
        page.wait_for_function("() => Boolean(window.show)")
        values = {"run": recorded.run}
        asked = {"url": recorded.url, "from": _iso(recorded.begin), "to": _iso(recorded.end), "values": values}
        page.evaluate("([board, asked]) => window.show(board, asked)", [board, asked])
        looks = _settled(page)
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size(ViewportSize(width=_WIDTH, height=height))
        page.wait_for_timeout(_SETTLE_MS)
        return Drawn(looks, complaints, page.screenshot())
    finally:
        context.close()


def _settled(page: Page) -> list[dict[str, Any]]:
    """What became of each panel, once nothing changes any more."""
    seen: list[list[dict[str, Any]]] = [[], []]

    def is_settled() -> bool:
        page.wait_for_timeout(_SETTLE_MS)
        seen[:] = [seen[1], page.evaluate("window.outcomes()")]
        waits = [look for look in seen[1] if look["state"] not in ("Done", "Error") and not look["errors"]]
        return bool(seen[1]) and seen[0] == seen[1] and not waits

    eventually("every panel is drawn", is_settled, within_s=_WITHIN_S, detail=lambda: json.dumps(seen[1])[-4000:])
    return seen[1]


def _serve(route: Route, page_folder: Path, address: str) -> None:
    asked = route.request.url.removeprefix(address).partition("?")[0]
    modules = page_folder / "node_modules"
    if asked.startswith("public/fonts/inter/"):
        path = modules / "@fontsource" / "inter" / "files" / _FONTS.get(Path(asked).name, "")
    elif asked.startswith("public/build/"):
        path = modules / "@grafana" / "ui" / "dist" / "public" / asked.removeprefix("public/build/")
    else:
        path = page_folder / "page" / (asked or "index.html")
    if path.is_file():
        route.fulfill(path=path)
    else:
        route.fulfill(status=404)


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
