"""Planned faults as bands in heat map, lanes and charts over time, of page and report, with their figures."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from market_spread.metrics_aggregator.http.run_json import as_json
from market_spread.metrics_aggregator.page import report_file
from tests.browser.conftest import Open
from tests.browser.judged_run import FAULT_TEXT, JudgedRun, with_fault
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import BEGIN_MS, SyntheticRun
from tests.browser.test_report import facts

AROUND = f"range={BEGIN_MS + 55_000}-{BEGIN_MS + 71_250}"


@pytest.fixture(scope="module")
def struck() -> Iterator[Site]:
    with Site(JudgedRun(has_fault=True)) as site:
        yield site


def bands(page: Page, selector: str = ".map figure") -> dict[str, list[float]]:
    """By chart, where in its plot the top edges of bands begin and end, as shares of its width."""
    found: dict[str, list[float]] = page.evaluate(
        """(selector) => Object.fromEntries([...document.querySelectorAll(selector)].map((figure) => {
            const canvas = figure.querySelector('canvas');
            const over = figure.querySelector('.u-over');
            const ratio = canvas.width / canvas.clientWidth;
            const shown = document.createElement('canvas').getContext('2d');
            shown.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--bad');
            const bad = shown.fillStyle.match(/[0-9a-f]{2}/g).map((hex) => parseInt(hex, 16));
            const left = over.offsetLeft * ratio;
            const width = Math.round(over.clientWidth * ratio);
            const row = canvas.getContext('2d').getImageData(left, (over.offsetTop + 1) * ratio, width, 1).data;
            const at = [...Array(width).keys()].filter((x) => bad.every((value, of) => row[4 * x + of] === value));
            const title = figure.querySelector('h3').firstChild.textContent.trim();
            return [title, at.length ? [at[0] / width, at.at(-1) / width] : []];
          }))""",
        selector,
    )
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_fault_is_a_band_from_its_begin_until_the_output_has_recovered(
    struck: Site, watched: Open, theme: str
) -> None:
    watching = watched(color_scheme=theme)
    page = watching.open(f"{struck.url}#/overview?range={BEGIN_MS + 50_000}-{BEGIN_MS + 75_000}")
    page.wait_for_timeout(300)

    found = bands(page)

    assert list(found) == ["Latency over time", "Events of the run"]
    for begin, end in found.values():
        assert (begin, end) == (pytest.approx(10 / 25, abs=0.01), pytest.approx(16.25 / 25, abs=0.01))
    assert bands(page, ".over figure")["Latency, intended send to receipt"], "charts over time have it, too"
    assert watching.complaints == []


def test_without_a_fault_there_is_no_band_and_no_list(watched: Open) -> None:
    with Site(JudgedRun()) as site:
        page = watched().open(site.url)
        page.wait_for_timeout(300)

        assert bands(page) == {"Latency over time": [], "Events of the run": []}
        expect(page.locator(".faults")).to_be_hidden()


def test_its_figures_are_said_and_a_click_or_key_looks_at_it(struck: Site, watched: Open) -> None:
    page = watched().open(struck.url)
    fault = page.locator(".faults li")
    expect(fault).to_have_text(f"1:00 kill of the job for 2 s {FAULT_TEXT}")

    fault.locator("button").focus()
    page.keyboard.press("Enter")

    expect(page.locator(".faults li.chosen")).to_have_count(1)
    assert AROUND in page.evaluate("location.hash")


def test_a_click_on_the_band_looks_at_the_fault_and_then_at_its_seconds(struck: Site, watched: Open) -> None:
    page = watched(height=1400).open(f"{struck.url}#/overview?range={BEGIN_MS + 50_000}-{BEGIN_MS + 75_000}")
    page.wait_for_timeout(300)
    over = page.locator(".map figure").first.locator(".u-over")
    box = over.bounding_box()
    assert box is not None

    over.click(position={"x": box["width"] * 13 / 25, "y": box["height"] / 2})

    expect(page.locator(".faults li.chosen")).to_have_count(1)
    assert AROUND in page.evaluate("location.hash")
    page.wait_for_timeout(400)
    over.click(position={"x": box["width"] / 2, "y": box["height"] / 2})  # 1:03 of 0:55 to 1:11

    expect(page.locator(".faults li.chosen")).to_have_count(0)
    assert f"range={BEGIN_MS + 61_000}-{BEGIN_MS + 66_000}" in page.evaluate("location.hash")


def test_the_cursor_says_what_became_of_the_output(struck: Site, watched: Open) -> None:
    page = watched(height=1400).open(f"{struck.url}#/overview?range={BEGIN_MS + 50_000}-{BEGIN_MS + 75_000}")
    page.wait_for_timeout(300)
    over = page.locator(".map figure").first.locator(".u-over")
    box = over.bounding_box()
    assert box is not None

    over.hover(position={"x": box["width"] * 13 / 25, "y": box["height"] / 2})

    expect(page.locator(".map .said b")).to_contain_text(f"kill of the job for 2 s: {FAULT_TEXT}")


def test_the_report_has_the_same_bands_and_figures(run: SyntheticRun, tmp_path: Path, watched: Open) -> None:
    told = facts(run)
    told["result"] = with_fault(told["result"])
    path = tmp_path / "report.html"
    path.write_text(report_file(as_json(told), json.dumps(run.data())))

    page = watched().open(path.as_uri(), until="canvas")
    page.wait_for_timeout(300)

    for begin, end in bands(page).values():
        assert 0 < begin < end < 1
    assert set(bands(page)) == {"Latency over time", "Events of the run"}
    page.locator(".faults button").click()
    expect(page.locator(".faults li.chosen")).to_contain_text(FAULT_TEXT)
