"""A run as one file: the same figures from disk, without a server, and dropped back on the page."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.page_fixtures import blank_canvases, key_figures, table
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import SyntheticRun


@pytest.fixture
def exported(site: Site, watched: Open, tmp_path: Path) -> Path:
    page = watched(accept_downloads=True).open(site.url)
    with page.expect_download() as download:
        page.get_by_role("link", name="export").click()
    path = tmp_path / "run.html"
    download.value.save_as(path)
    return path


def test_file_shows_the_same_figures_and_asks_for_nothing(exported: Path, site: Site, watched: Open) -> None:
    served = watched().open(site.url)
    watching = watched()

    page = watching.open(exported.as_uri())

    assert key_figures(page) == key_figures(served)
    assert table(page, "The triple of latencies") == table(served, "The triple of latencies")
    assert blank_canvases(page) == []
    assert watching.complaints == []
    assert {address for address in watching.requests if not address.startswith(("file:", "data:", "blob:"))} == set()
    expect(page.locator(".state")).to_contain_text("from a file")
    page.keyboard.press("g")
    page.keyboard.press("p")
    expect(page.locator(".waterfall .whole")).to_be_visible()
    assert watching.complaints == []


def test_file_that_is_chosen_is_opened(exported: Path, watched: Open) -> None:
    other = SyntheticRun(run_id="another", seconds=40)
    with Site(other) as site:
        page = watched().open(f"{site.url}#/runs", "main table tbody tr")

        page.set_input_files("#run-file", exported)

        expect(page.locator(".figures")).to_contain_text("of 12,000 samples")
        expect(page.locator(".runid")).to_have_text("20251124-160000-quick")
        page.locator("nav >> text=Runs").click()
        assert set(table(page, "Runs, newest first")) == {"20251124-160000-quick", "another"}
        page.get_by_role("link", name="another").click()
        expect(page.locator(".figures")).to_contain_text("of 3,000 samples")


def test_file_that_is_dropped_is_opened(exported: Path, watched: Open) -> None:
    with Site(None) as site:
        page = watched().open(site.url, ".notice")

        page.evaluate(
            """(text) => {
              const data = new DataTransfer();
              data.items.add(new File([text], 'run.html', {type: 'text/html'}));
              const drop = new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true});
              document.body.dispatchEvent(drop); }""",
            exported.read_text(),
        )

        expect(page.locator(".figures")).to_contain_text("of 12,000 samples")


def test_file_that_is_no_run_is_said(site: Site, watched: Open, tmp_path: Path) -> None:
    other = tmp_path / "other.html"
    other.write_text("<html><script>window.ran = 1</script></html>")
    page = watched().open(f"{site.url}#/runs", "main table tbody tr")

    page.set_input_files("#run-file", other)

    expect(page.locator(".toast")).to_have_text("The file holds no run. Drop an HTML file that was exported here.")
    assert page.evaluate("window.ran === undefined")
