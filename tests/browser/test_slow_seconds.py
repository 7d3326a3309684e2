"""From a slow second to its orders to its cause: what the overview says of the slowest, and how one gets there."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.judged_run import ADVICE, SATURATION, JudgedRun
from tests.browser.page_fixtures import blank_canvases, key_figures
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import BEGIN_MS, SyntheticRun

RANGE_AROUND_FIRST = f"range={BEGIN_MS + 32_000}-{BEGIN_MS + 37_000}"
RANGE_AROUND_SECOND = f"range={BEGIN_MS + 42_000}-{BEGIN_MS + 47_000}"


@pytest.fixture(scope="module")
def judged() -> Iterator[Site]:
    with Site(JudgedRun()) as site:
        yield site


def sentence(page: Page) -> str:
    return page.locator(".why .sentence").inner_text()


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(judged: Site, watched: Open, width: int, theme: str) -> None:
    page = watched(width=width, color_scheme=theme).open(judged.url)
    page.wait_for_timeout(200)

    assert page.evaluate("document.documentElement.scrollWidth") == width
    lefts = [
        box["x"]
        for name in (".map", ".worst", ".curve")
        if (box := page.locator(name).bounding_box())  # the map, beside it the worst seconds, beside these the curve
    ]
    assert len(set(map(round, lefts))) == {390: 1, 1280: 2, 1920: 3}[width]


def test_the_cause_is_said_with_shares_advice_and_what_remains(judged: Site, watched: Open) -> None:
    watching = watched()
    page = watching.open(judged.url)

    assert sentence(page).startswith("The slowest 1% (110 orders) met 6 batch boundaries (92% of them)")
    found, left, saturated = page.locator(".causes li").all_inner_texts()
    assert found.startswith("92.0% met 6 batch boundaries; of their time broker and read 79.0%, computation 20.0%")
    assert found.endswith(f"Try first: {ADVICE}")
    assert left == "8.0% met nothing that is known"
    assert saturated == f"T{SATURATION[1:]}."
    assert page.locator(".why .about").inner_text() == (
        "The slowest: 110 orders of 214.0 ms or more; p99 of the others 31.0 ms."
    )
    assert blank_canvases(page) == []
    assert watching.complaints == []


def test_figures_are_those_of_the_result_and_of_a_range_those_of_the_range(judged: Site, watched: Open) -> None:
    page = watched().open(judged.url)
    figures = page.locator(".figures > div:visible")

    assert key_figures(page) == {
        "latency p50": "4.42 ms", "p95": "45.4 ms", "p99": "316.2 ms", "p99 between boundaries": "31.1 ms",
        "p99.9": "n too small", "p99.99": "n too small", "max": "860.0 ms", "messages offered": "20,001 /s",
        "processed": "19,946 /s", "CPU a message": "26.74 µs", "lag": "",
    }  # fmt: skip
    assert [figures.nth(at).inner_text().split("\n")[-1] for at in (0, 3, 7, 9)] == ["result"] * 4
    assert "lag" not in " ".join(figures.all_inner_texts())

    page.evaluate("(range) => { location.hash = `#/overview?${range}`; }", RANGE_AROUND_FIRST)

    expect(figures.first).to_contain_text("of this range")
    assert "between boundaries" not in " ".join(figures.all_inner_texts())
    assert "result" not in " ".join(figures.all_inner_texts())


def test_a_p99_between_boundaries_of_few_clusters_is_no_number(watched: Open) -> None:
    with Site(JudgedRun(between="– (2 clusters)")) as site:
        assert key_figures(watched().open(site.url))["p99 between boundaries"] == "– (2 clusters)"


def test_a_click_on_a_worst_second_shows_it_and_its_orders(judged: Site, watched: Open) -> None:
    page = watched().open(judged.url)
    orders = page.locator(".orders tbody tr")
    assert orders.count() == 7

    page.locator(".worst tbody tr", has_text="boundary of batch 4").get_by_text("boundary").click()

    expect(page.locator(".worst tr.chosen")).to_contain_text("0:44")
    assert RANGE_AROUND_SECOND in page.evaluate("location.hash")
    assert [row.split()[0] for row in orders.all_inner_texts()] == ["4044", "5000"]
    assert orders.first.locator(".bar").count() == 4
    assert orders.nth(1).locator(".bar").count() == 3, "two stages without the stamp between them are one"
    cells = orders.first.locator("td.number").all_inner_texts()
    assert cells == ["0:43.890", "846.0 ms", "1.50 ms", "669.9 ms", "169.6 ms", "5.00 ms"]
    assert orders.nth(1).locator("td.number").all_inner_texts()[3:5] == ["–", "–"]
    assert page.locator(".orders caption").inner_text() == "The slowest 2 orders of this range"


def test_keys_go_from_one_worst_second_to_the_next(judged: Site, watched: Open) -> None:
    page = watched().open(judged.url)
    chosen = page.locator(".worst tr.chosen th")

    page.locator(".worst button").first.focus()
    page.keyboard.press("Enter")
    expect(chosen).to_have_text("0:34")
    page.keyboard.press("ArrowDown")
    expect(chosen).to_have_text("0:44")
    expect(page.locator(".worst button").nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(chosen).to_have_text("0:34")
    page.keyboard.press("ArrowUp")
    expect(chosen).to_have_text("0:34")

    page.locator("main").focus()
    page.keyboard.press("n")
    expect(chosen).to_have_text("0:44")
    page.keyboard.press("p")
    expect(chosen).to_have_text("0:34")


def test_a_click_on_the_map_or_a_lane_looks_at_that_second(judged: Site, watched: Open) -> None:
    page = watched().open(judged.url)
    for title in ("Latency over time", "Events of the run"):
        page.keyboard.press("0")
        expect(page.locator("input[type=text]")).to_have_value("0:00–1:31")
        chart = page.locator("figure", has_text=title).locator(".u-over")
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        assert box

        page.mouse.click(box["x"] + box["width"] * 34.5 / 90.73, box["y"] + 12)

        page.wait_for_function("(range) => location.hash.includes(range)", arg=RANGE_AROUND_FIRST)


def test_lanes_have_each_kind_with_its_length_and_say_what_is_at_the_cursor(judged: Site, watched: Open) -> None:
    page = watched().open(judged.url)
    lanes = page.locator("figure", has_text="Events of the run")

    assert lanes.locator(".summary").inner_text() == (
        "boundaries: 6 events, at most 860 ms; GC: 9 events, at most 48 ms; sender late: 1 event, at most 120 ms"
    )
    over = page.locator("figure", has_text="Latency over time").locator(".u-over")
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 4.5 / 55, box["y"] + 40)
    expect(lanes.locator(".said b")).to_contain_text("boundary of batch 3")

    lanes.get_by_role("button", name="Events of the run as a table").click()
    assert lanes.locator("tbody tr").first.inner_text().split("\t") == [
        "0:31.1", "8.0 ms", "the job's JVM collected, 8 ms",
    ]  # fmt: skip
    assert lanes.locator("tbody tr").count() == 16


def test_trace_of_a_second_opens_in_perfetto(judged: Site, watched: Open) -> None:
    page = watched().open(f"{judged.url}#/overview?{RANGE_AROUND_FIRST}")

    with page.expect_download() as download:
        page.get_by_role("button", name="Perfetto trace").click()
    trace = json.loads(Path(download.value.path()).read_text())

    assert download.value.suggested_filename == "20251124-161500-quick-trace.json"
    complete = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    assert [(each["name"], each["ts"], each["dur"]) for each in complete if each["cat"] == "stage"] == [
        ("Send lag", 34_010_000 - 120_000, 1_500),
        ("Broker and read", 34_011_500 - 120_000, 679_400),
        ("Computation", 34_690_900 - 120_000, 172_000),
        ("Sink and delivery", 34_862_900 - 120_000, 5_000),
    ]
    assert {each["args"]["name"] for each in trace["traceEvents"] if each["ph"] == "M" and "name" in each["args"]} == {
        "slowest orders", "order 4034 AAPL", "events", "boundaries",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (JudgedRun(has_causes=False), "No alert was timed, so there is nothing to explain."),
        (JudgedRun(is_older=True), "The version that judged this run did not look for causes."),
        (SyntheticRun(live=True), "What the slowest orders met is worked out when the run has ended."),
    ],
    ids=["nothing timed", "older", "live"],
)
def test_a_run_without_causes_says_why(watched: Open, run: SyntheticRun, said: str) -> None:
    with Site(run, now_s=80 if run.live else None) as site:
        page = watched().open(site.url)

        assert sentence(page) == said
        assert page.locator(".causes").is_hidden()
        assert page.locator(".worst").is_hidden()
        assert page.locator(".orders").is_hidden()
        assert page.locator("figure", has_text="Latency over time").is_visible()


def test_of_a_finished_run_nothing_grows_that_has_ended_and_no_zero_stands_for_another(
    judged: Site, watched: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = watched().open(f"{judged.url}#/aggregator", "main table tbody tr")
    assert "ago" not in page.locator("main").inner_text()
    assert page.locator("tbody tr", has_text="receiver").first.inner_text().split("\t")[5] == "at 1:30"
    assert "pushes merged" in page.locator(".figures").inner_text()

    monkeypatch.setattr(judged.run, "aggregator", lambda _end_s: {"pushes": 0, "memory_bytes": 70_000_000})
    page = watched().open(f"{judged.url}#/aggregator", "main table tbody tr")

    assert page.get_by_text("This aggregator only reads the run's log").is_visible()
    assert "pushes merged" not in page.locator(".figures").inner_text()
    assert not page.get_by_text("What a push takes").is_visible()
