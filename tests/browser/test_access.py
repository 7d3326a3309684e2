"""Accessibility by axe-core's rules: no serious finding on any page, in either theme, wide or narrow."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from market_spread.metrics_aggregator.http.run_json import as_json
from market_spread.metrics_aggregator.page import report_file
from tests.browser.conftest import Open
from tests.browser.judged_run import JudgedRun
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import SyntheticRun
from tests.browser.test_compare_page import AFTER_BOTH, several
from tests.browser.test_comparison import comparison, history, sweep
from tests.browser.test_report import facts

__all__ = ["comparison", "history", "several", "sweep"]  # fixtures

AXE = Path(__file__).parents[2] / "services" / "metrics_ui" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = ("overview", "pipeline", "workers/job", "computations/ingest", "runs", "aggregator")
WIDE = [("light", 1280), ("dark", 390), ("dark", 1920)]


@pytest.fixture(scope="module")
def judged() -> Iterator[Site]:
    with Site(JudgedRun()) as site:
        yield site


def serious(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())  # past the page's policy, which lets in no script but its own
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:240]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]


@pytest.mark.parametrize("fragment", PAGES)
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_no_page_has_a_serious_finding(judged: Site, watched: Open, fragment: str, theme: str, width: int) -> None:
    page = watched(width=width, color_scheme=theme).open(f"{judged.url}#/{fragment}", "main table tbody tr")

    assert serious(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_report_has_no_serious_finding(run: SyntheticRun, tmp_path: Path, watched: Open, theme: str) -> None:
    path = tmp_path / "report.html"
    path.write_text(report_file(as_json(facts(run)), json.dumps(run.data())))

    page = watched(color_scheme=theme).open(path.as_uri(), until="canvas")

    assert serious(page) == []


@pytest.mark.parametrize("fragment", ["workers", "computations"])
def test_no_list_of_parts_has_a_serious_finding(judged: Site, watched: Open, fragment: str) -> None:
    page = watched(color_scheme="dark").open(f"{judged.url}#/{fragment}", "main table tbody tr")

    assert serious(page) == []


@pytest.mark.parametrize(("theme", "width"), WIDE)
def test_a_live_run_has_no_serious_finding(watched: Open, theme: str, width: int) -> None:
    with Site(SyntheticRun(live=True), now_s=60) as site:
        page = watched(width=width, color_scheme=theme).open(site.url)

        assert serious(page) == []


@pytest.mark.parametrize(("theme", "width"), WIDE)
def test_runs_beside_each_other_have_no_serious_finding(several: Site, watched: Open, theme: str, width: int) -> None:
    page = watched(width=width, color_scheme=theme).open(several.url + AFTER_BOTH, ".compare canvas")

    assert serious(page) == []


@pytest.mark.parametrize(("theme", "width"), WIDE)
@pytest.mark.parametrize("name", ["comparison", "sweep", "history"])
def test_no_page_of_several_runs_has_a_serious_finding(
    request: pytest.FixtureRequest, watched: Open, name: str, theme: str, width: int
) -> None:
    address = request.getfixturevalue(name)

    page = watched(width=width, color_scheme=theme).open(address, ".points .point")

    assert serious(page) == []


@pytest.mark.parametrize("key", ["?", "t"])
def test_help_and_tables_have_no_serious_finding(judged: Site, watched: Open, key: str) -> None:
    page = watched(color_scheme="dark").open(judged.url, ".worst button")
    page.keyboard.press(key)
    page.locator("dialog, figure .twin").locator("visible=true").first.wait_for()

    assert serious(page) == []


def test_what_is_wrong_is_found(judged: Site, watched: Open) -> None:
    page = watched().open(judged.url)
    page.evaluate("document.querySelector('.why').insertAdjacentHTML('beforeend', '<input><p id=pale>pale</p>')")
    page.evaluate("document.getElementById('pale').style.color = '#ddd'")

    found = serious(page)

    assert any(each.startswith("label: ") for each in found)
    assert any(each.startswith("color-contrast: ") and "pale" in each for each in found)
