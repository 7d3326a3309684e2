"""A run that is pinned: the others' overview says how far their figures are from its, and draws its curve."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.judged_run import JudgedRun
from tests.browser.page_fixtures import blank_canvases
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import SyntheticRun

OPEN, SLOW, UNJUDGED = "20251124-161500-quick", "20251124-140000-quick", "20251124-150000-quick"


@dataclass
class SlowRun(JudgedRun):
    """The same with twice the p50, the same p99, and no figure of CPU."""

    run_id: str = SLOW

    def notes(self, from_s: int, to_s: int) -> list[dict[str, Any]]:
        found = super().notes(from_s, to_s)
        for note in found:
            if note["kind"] == "result":
                result = json.loads(note["text"])
                latencies = {**result["latency_ns"], "p50": 8_840_000}
                note["text"] = json.dumps({**result, "latency_ns": latencies, "cpu_us_per_message": None})
        return found


@pytest.fixture(scope="module")
def several() -> Iterator[Site]:
    with Site(JudgedRun(), finished=[(SlowRun(), {}), (SyntheticRun(run_id=UNJUDGED, seconds=60), {})]) as site:
        yield site


def deltas(page: Page) -> dict[str, str]:
    """What the tiles say of the pinned run, of those that say something."""
    found: dict[str, str] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.figures > div')]
          .map((each) => [each.querySelector('dt').textContent, each.querySelector('.delta').textContent])
          .filter(([, delta]) => delta))"""
    )
    return found


def pinned(watched: Open, site: Site, run: str, **options: Any) -> Page:
    return watched(**options).open(f"{site.url}#/overview?pin={run}", ".figures .delta:not(:empty)")


def test_tiles_say_how_far_they_are_from_the_pinned_run(several: Site, watched: Open) -> None:
    page = pinned(watched, several, SLOW)

    found = deltas(page)
    assert found["latency p50"] == "−50.0% vs pinned"
    assert found["p99"] == "0.0% vs pinned"
    assert "CPU a message" not in found, "the pinned run has none"
    assert "p99.9" not in found, "neither run has one"
    expect(page.locator(".pinned")).to_have_text(
        f"Compared with what was judged of the pinned run {SLOW}. Two single runs give no verdict. unpin"
    )


def test_another_range_is_compared_with_what_was_judged(several: Site, watched: Open) -> None:
    page = pinned(watched, several, SLOW)
    judged = deltas(page)

    page.get_by_role("button", name="whole run").click()
    expect(page.locator(".figures .sub").first).to_have_text("of this range")

    assert deltas(page)["latency p50"].endswith("% vs pinned")
    assert deltas(page)["latency p50"] != judged["latency p50"]


def test_the_curve_of_the_pinned_run_is_drawn(several: Site, watched: Open) -> None:
    page = pinned(watched, several, SLOW)

    legends = page.locator(".curve figure").inner_text()

    assert f"pinned: {SLOW}" in legends
    assert blank_canvases(page) == []


def test_a_run_is_pinned_in_the_list_and_stays_so(several: Site, watched: Open) -> None:
    watching = watched()
    page = watching.open(f"{several.url}#/runs", f".runs tbody >> text={SLOW}")

    page.get_by_role("button", name=f"Pin {SLOW}").click()
    expect(page.get_by_role("button", name=f"Pin {SLOW}")).to_have_attribute("aria-pressed", "true")
    assert f"pin={SLOW}" in page.url
    page.get_by_role("link", name=OPEN, exact=True).click()
    expect(page.locator(".figures .delta").first).to_have_text("−50.0% vs pinned", timeout=30_000)
    page.goto("about:blank")
    watching.open(several.url, ".figures .delta:not(:empty)")

    assert f"pin={SLOW}" in page.url, "the address can be shared"
    page.get_by_role("button", name="unpin").click()
    expect(page.locator(".pinned")).to_be_hidden()
    assert deltas(page) == {}
    assert "pin=" not in page.url
    watching.open(f"{several.url}?again")
    expect(page.locator(".pinned")).to_be_hidden()
    assert watching.complaints == []


def test_the_address_has_the_word_before_what_was_pinned_last(several: Site, watched: Open) -> None:
    watching = watched()
    page = watching.open(f"{several.url}#/runs", f".runs tbody >> text={SLOW}")
    page.get_by_role("button", name=f"Pin {UNJUDGED}").click()

    page.goto(f"{several.url}#/overview?run={OPEN}&pin={SLOW}")

    expect(page.locator(".pinned a")).to_have_text(SLOW, timeout=30_000)
    expect(page.locator(".figures .delta").first).to_have_text("−50.0% vs pinned", timeout=30_000)


def test_the_pinned_run_is_not_compared_with_itself(several: Site, watched: Open) -> None:
    page = watched().open(f"{several.url}#/overview?run={SLOW}&pin={SLOW}", ".pinned:not([hidden])")

    expect(page.locator(".pinned")).to_contain_text("This is the pinned run")
    assert deltas(page) == {}


def test_a_pinned_run_that_is_gone_is_told(several: Site, watched: Open) -> None:
    page = watched().open(f"{several.url}#/overview?pin=gone", ".pinned:not([hidden])")

    expect(page.locator(".pinned")).to_contain_text("The pinned run gone is not known here.")
    assert deltas(page) == {}


def test_a_file_knows_no_pinned_run(several: Site, watched: Open, tmp_path: Path) -> None:
    watching = watched()
    path = tmp_path / "run.html"
    path.write_text(watching.page.request.get(f"{several.url}api/v1/runs/{OPEN}/export").text())

    page = watching.open(f"{path.as_uri()}#/overview?pin={SLOW}")

    expect(page.locator(".pinned")).to_be_hidden()
    assert watching.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_nothing_is_wider_than_the_screen(several: Site, watched: Open, width: int, theme: str) -> None:
    page = pinned(watched, several, SLOW, width=width, color_scheme=theme)

    page.wait_for_timeout(200)

    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert blank_canvases(page) == []
