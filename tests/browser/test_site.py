"""The documentation's site in a real browser: built, opened from disk, searched, with nothing asked of a network."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.browser.conftest import Open
from tests.support.paths import ROOT

SITE = ROOT / "build" / "site"
LOADED = re.compile(r"""<(?:script|img|iframe)\b[^>]*\bsrc=["']?([^"'\s>]+)|<link\b[^>]*\bhref=["']?([^"'\s>]+)""")


@pytest.fixture(scope="module")
def built() -> Path:
    """`make docs`."""
    subprocess.run([ROOT / ".ci" / "docs"], check=True, timeout=280)
    return SITE


def test_home_leads_to_every_reader(built: Path, watched: Open) -> None:
    home = watched()

    page = home.open((built / "index.html").as_uri(), until="article h1")

    headings = [heading.removesuffix("¶") for heading in page.locator("article h2").all_inner_texts()]
    assert headings[:5] == ["Run it", "Write a pipeline", "Operate it", "Understand a number", "Work on it"]
    assert home.complaints == []
    assert [url for url in home.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_search_finds_a_word_of_the_glossary_without_a_server(built: Path, watched: Open) -> None:
    home = watched()
    page = home.open((built / "index.html").as_uri(), until="article h1")

    page.locator("input.md-search__input").fill("commit pause")

    page.locator(".md-search-result__item").first.wait_for()
    assert "commit pause" in page.locator(".md-search-result__list").inner_text().lower()
    assert [url for url in home.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_file_of_the_repository_that_a_page_names_is_in_the_site(built: Path, watched: Open) -> None:
    page = watched().open((built / "peers.html").as_uri(), until="article h1")

    page.locator("article a", has_text="the application").first.click()

    page.wait_for_url("**/files/spark/src/**/market_spread.py.txt")
    assert "def market_spread" in page.locator("body").inner_text()


def test_no_page_loads_anything_from_elsewhere(built: Path) -> None:
    pages = sorted(built.rglob("*.html"))
    loaded = {(page.name, a or b) for page in pages for a, b in LOADED.findall(page.read_text())}

    assert len(pages) > 35
    assert len(loaded) > 100
    assert {(page, url) for page, url in loaded if url.startswith(("http:", "https:", "//"))} == set()
