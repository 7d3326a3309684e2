"""A browser for the session, and pages that remember what went wrong on them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tests.browser.site_fixtures import Site
from tests.browser.synthetic import SyntheticRun

CHROMIUM = Path("/usr/bin/chromium-headless-shell")


@dataclass
class Watched:
    """A page, what it said on its console as warning or error, and every address that it asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda said: self._note(said.type, said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(f"{error.name}: {error.message}"))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def open(self, url: str, until: str = ".figures b") -> Page:
        """Go there, and wait until that is on the page."""
        self.page.goto(url)
        self.page.locator(until).first.wait_for()
        return self.page


Open = Callable[..., Watched]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    assert CHROMIUM.exists(), "install Chromium, on Debian: apt-get install chromium-headless-shell fonts-dejavu-core"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def watched(browser: Browser) -> Iterator[Open]:
    """Makes pages, each with a storage of its own; closes them."""
    contexts = []

    def make(width: int = 1280, height: int = 860, **options: Any) -> Watched:
        context = browser.new_context(viewport=ViewportSize(width=width, height=height), **options)
        contexts.append(context)
        return Watched(context.new_page())

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def run() -> SyntheticRun:
    return SyntheticRun()


@pytest.fixture(scope="session")
def site(run: SyntheticRun) -> Iterator[Site]:
    """A finished run, served."""
    with Site(run) as site:
        yield site


@pytest.fixture(scope="session")
def module_page(browser: Browser, site: Site) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    page.goto(site.url + "#/runs")
    yield page
    context.close()


@pytest.fixture
def call(module_page: Page) -> Callable[..., Any]:
    """Calls JavaScript with a module of the page: call("hdr.js", "(hdr, value) => hdr.rowOf(value)", 17)."""

    def call(module: str, function: str, argument: object = None) -> Any:
        script = f"async ([path, argument]) => ({function})(await import(path), argument)"
        return module_page.evaluate(script, [f"/src/{module}", argument])

    return call
