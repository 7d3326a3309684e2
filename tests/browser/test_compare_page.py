"""The page of runs, from which two or more are compared, and the page that compares them."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.page_fixtures import blank_canvases, table
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import SyntheticRun

FAST, SLOW, OPEN = "20251124-150000-quick", "20251124-140000-quick", "20251124-160000-quick"
AFTER_BOTH = f"#/compare/{FAST}%2C{SLOW}"


def documents(p50_ms: float, p99_ms: float | None, **facts: Any) -> dict[str, Any]:
    p99_ns = None if p99_ms is None else p99_ms * 1e6
    return {
        "result": {
            "latency_ns": {"p50": p50_ms * 1e6, "p99": p99_ns},
            "achieved_rate_per_s": 20_000.4,
            "cpu_us_per_message": 26.7,
            "latency_sparkline_ns": [p50_ms * 1e6, None, *([p99_ns] if p99_ns else [])],
        },
        "manifest": {"sections": {"workload": {"seed": 7, **facts}, "cpu": {"model": "A CPU"}}},
    }


@pytest.fixture(scope="module")
def several(run: SyntheticRun) -> Iterator[Site]:
    """A run that is open, without documents, and two others with them."""
    fast = SyntheticRun(run_id=FAST, seconds=40, seed=3), documents(4, 20, linger_ms=1, kind="<b>")
    slow = SyntheticRun(run_id=SLOW, seconds=60, seed=5), documents(5, None, linger_ms=5, kind="<b>")
    with Site(run, finished=[fast, slow]) as site:
        yield site


def ids(page: Page) -> list[str]:
    return page.locator(".runs tbody th").all_inner_texts()


def runs_page(watched: Open, site: Site) -> Page:
    return watched().open(f"{site.url}#/runs", f".runs tbody >> text={FAST}")


def test_runs_have_the_figures_of_their_results(several: Site, watched: Open) -> None:
    rows = table(runs_page(watched, several), "Runs, newest first")

    shown = {run: [row.get(name) for name in ROW] for run, row in named(rows).items()}
    assert shown == {
        OPEN: ["passed", "–", "–", "–", "–", "–"],
        FAST: ["passed", "4.00 ms", "20.0 ms", "up to 20.0 ms", "20,000", "26.70"],
        SLOW: ["passed", "5.00 ms", "–", "up to 5.00 ms", "20,000", "26.70"],
    }


def test_a_narrow_screen_shows_the_verdict_and_the_median_of_each_run(several: Site, watched: Open) -> None:
    page = watched(width=390).open(f"{several.url}#/runs", f".runs tbody >> text={FAST}")

    cells = page.locator(".runs tbody td:is([data-verdict], :nth-child(3))").all()
    assert len(cells) == 2 * 3
    assert max(box["x"] + box["width"] for cell in cells if (box := cell.bounding_box())) <= 390


def test_the_sparkline_of_each_run_is_drawn_on_one_scale_and_said_in_words(several: Site, watched: Open) -> None:
    page = runs_page(watched, several)
    drawn = page.get_by_role("img", name="up to")

    assert [each.get_attribute("aria-label") for each in drawn.all()] == ["up to 20.0 ms", "up to 5.00 ms"]
    fast, slow = (each.locator("path").get_attribute("d") for each in drawn.all())
    assert fast == "M0.0 20.0h0.01M120.0 0.0h0.01", "the lowest of all runs is at the bottom, the highest at the top"
    assert slow == "M0.0 17.2h0.01"
    expect(page.get_by_text("in all runs on one scale: 4.00 ms to 20.0 ms")).to_be_visible()


ROW = ("verdict", "p50", "p99", "latency over the run", "messages/s", "CPU, µs/message")


def named(rows: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The rows with columns by number's name: titles are buttons here, which `table` has no text of."""
    return {run: dict(zip(("run", *ROW), [*row.values()][: 1 + len(ROW)], strict=True)) for run, row in rows.items()}


def test_runs_are_sorted_up_then_down_then_as_they_were(several: Site, watched: Open) -> None:
    page = runs_page(watched, several)
    before = ids(page)
    p50 = page.get_by_role("button", name="p50", exact=True)

    p50.click()
    up, said = ids(page), page.locator(".runs th[aria-sort]").get_attribute("aria-sort")
    p50.click()
    down = ids(page)
    p50.press("Enter")

    assert (up, said) == ([FAST, SLOW, OPEN], "ascending")
    assert down == [SLOW, FAST, OPEN]
    assert ids(page) == before == [OPEN, FAST, SLOW]


def test_runs_are_filtered_by_words(several: Site, watched: Open) -> None:
    page = runs_page(watched, several)

    page.get_by_label("Show only runs that have these words").fill("PASSED 1500")

    assert ids(page) == [FAST]
    expect(page.locator(".runs .controls")).to_contain_text("1 of 3 runs")


def test_two_runs_that_are_selected_are_compared(several: Site, watched: Open) -> None:
    page = runs_page(watched, several)

    assert page.get_by_text("select two or more to compare").get_attribute("href") is None
    page.get_by_label(f"Select {FAST}").check()
    page.get_by_label(f"Select {SLOW}").check()
    page.get_by_role("link", name="compare 2 runs").click()

    expect(page.locator("h1")).to_have_text("Comparison")
    assert page.url.endswith(AFTER_BOTH)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_a_comparison_opens_from_its_address(several: Site, watched: Open, theme: str, width: int) -> None:
    watching = watched(width=width, color_scheme=theme)

    page = watching.open(several.url + AFTER_BOTH, ".compare canvas")

    assert page.locator(".compare figure h3").all_inner_texts() == [
        "Percentile curves, intended send to receipt latency over 1/(1−q)",
        f"{FAST} samples",
        f"{SLOW} samples",
    ]
    page.wait_for_timeout(300)
    assert blank_canvases(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watching.complaints == []
    assert all(address.startswith(several.url) for address in watching.requests if not address.startswith("data:"))


def test_figures_stand_beside_each_other_with_their_distance(several: Site, watched: Open) -> None:
    page = watched().open(several.url + AFTER_BOTH, ".compare canvas")

    rows = table(page, "Figures, each with its distance from the first run's")
    assert rows["latency p50"] == {"figure": "latency p50", FAST: "4.00 ms", SLOW: "5.00 ms+25.0%"}
    assert rows["latency p99"] == {"figure": "latency p99", FAST: "20.0 ms", SLOW: "–"}
    assert rows["achieved, messages/s"][SLOW] == "20,0000.0%"
    assert rows["verdict"][SLOW] == "passed"
    assert table(page, "What the runs were made with, where it differs") == {
        "workload.linger_ms": {"": "workload.linger_ms", FAST: "1", SLOW: "5"}
    }


def test_a_comparison_of_single_runs_says_that_it_is_no_verdict(several: Site, watched: Open) -> None:
    page = watched().open(several.url + AFTER_BOTH, ".verdictless")

    said = page.locator(".verdictless").inner_text()
    assert said.startswith("Single runs give no verdict.")
    assert f"market-spread compare {FAST} {SLOW} --html comparison.html" in said


def test_a_run_without_a_result_has_the_percentiles_of_its_histogram(several: Site, watched: Open) -> None:
    page = watched().open(f"{several.url}#/compare/{FAST}%2C{OPEN}", ".compare canvas")

    row = table(page, "Figures, each with its distance from the first run's")["latency p50"]
    assert "ms" in row[OPEN]
    assert "%" in row[OPEN]


def test_an_address_of_more_runs_than_fit_says_which_are_compared(several: Site, watched: Open) -> None:
    page = watched().open(f"{several.url}#/compare/{FAST}%2C{SLOW}%2C{OPEN}%2Ca%2Cb%2Cc%2Cd", ".compare .notice")

    expect(page.locator(".toast")).to_have_text("The address names 7 runs; the first 6 are compared.")


def test_a_run_without_documents_is_named_and_differs_in_nothing(several: Site, watched: Open) -> None:
    page = watched().open(f"{several.url}#/compare/{FAST}%2C{OPEN}%2C{SLOW}", ".compare canvas")
    lacking = page.get_by_text(f"Nothing is known of what {OPEN} ran with.", exact=True)

    row = table(page, "What the runs were made with, where it differs")
    assert list(row) == ["workload.linger_ms"]
    assert row["workload.linger_ms"][OPEN] == "–"
    expect(lacking).to_be_visible()

    page = watched().open(f"{several.url}#/compare/{FAST}%2C{OPEN}", ".compare canvas")

    expect(page.get_by_text(f"Nothing is known of what {OPEN} ran with.", exact=True)).to_be_visible()
    assert page.get_by_text("What the runs were made with").count() == 0


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (FAST, "The address names fewer than two runs; select them on the page of runs."),
        (f"{FAST}%2Cnothing", "The runs cannot be compared: no run 'nothing' is known"),
    ],
)
def test_an_address_that_cannot_be_compared_says_why(several: Site, watched: Open, item: str, said: str) -> None:
    page = watched().open(f"{several.url}#/compare/{item}", ".compare .notice")

    expect(page.locator(".compare .notice")).to_contain_text(said)
