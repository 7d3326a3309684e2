"""The page of a comparison, a sweep and a history in a real browser: from a file, offline, and with the keyboard."""

import io
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page

from market_spread.controller.compare.comparison import compare
from market_spread.controller.compare.figures import read_figures
from market_spread.controller.compare.history import history_of
from market_spread.controller.compare.page import comparison_document, comparison_page
from market_spread.controller.sweep.session import Probing, search_document, search_page
from market_spread.controller.views.output import html_view
from tests.browser.conftest import Open
from tests.browser.page_fixtures import table
from tests.browser.test_keep import rows_of
from tests.unit.controller.compare.run_fixtures import run
from tests.unit.controller.compare.test_report import made
from tests.unit.controller.sweep.test_probing import OBJECTIVES, SEARCH, FakeRuns, say_nothing

QUICK = Path(__file__).parents[2] / "loadgen" / "workloads" / "quick.yaml"


@pytest.fixture
def comparison(tmp_path: Path) -> str:
    found = compare((made("<before>", 0, 1.0, commit="aaa"), made("after", 1, 1.1, commit="bbb")), read_figures((), ()))
    return written(tmp_path, html_view(comparison_page(found), comparison_document(found)))


@pytest.fixture
def sweep(tmp_path: Path) -> str:
    (tmp_path / "quick.yaml").write_text(QUICK.read_text())
    probing = Probing.open(tmp_path / "sweep", tmp_path / "quick.yaml", SEARCH, OBJECTIVES)
    found = probing.go_on(FakeRuns(), say_nothing, runs_max=40)
    points = probing.points()
    return written(
        tmp_path, html_view(search_page("quick", found, points, OBJECTIVES), search_document(found, points, OBJECTIVES))
    )


@pytest.fixture
def history(tmp_path: Path) -> str:
    runs = [run(number, {"latency_ns.p99": (30e6 if number < 20 else 40e6) + number}) for number in range(40)]
    return written(tmp_path, html_view(*history_of(runs, read_figures((), ()))))


def written(folder: Path, text: str) -> str:
    path = folder / "page.html"
    path.write_text(text)
    return path.as_uri()


def shown(page: Page) -> str:
    """What the chart says of the point that is pointed at."""
    return page.locator(".read").first.inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("name", ["comparison", "sweep", "history"])
def test_page_is_drawn_from_its_file_alone(
    request: pytest.FixtureRequest, watched: Open, name: str, theme: str, width: int
) -> None:
    address = request.getfixturevalue(name)
    watching = watched(width=width, color_scheme=theme, offline=True)

    page = watching.open(address, ".points .point")

    assert page.locator("table").count() >= 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watching.complaints == []
    assert watching.requests == [address]


def test_comparison_says_verdict_figures_and_what_differs(watched: Open, comparison: str) -> None:
    page = watched().open(comparison, ".points .point")

    assert page.title() == "worse: after against <before>: 1 worse, 1 same, 1 undecided (8 against 8 runs)"
    assert page.locator("h1").inner_text().startswith("worse after against <before>: 1 worse")
    figures = table(page, "Figures")
    assert figures["latency p99, ms"]["after"] == "22.39 [22, 22.77]"
    assert page.locator("td", has_text="worse").get_attribute("data-tone") == "bad"
    assert table(page, "What the runs were made with, where it differs") == {
        "commit": {"": "commit", "<before>": "aaa", "after": "bbb"}
    }


def test_a_point_is_filled_where_its_figure_is_decided(watched: Open, comparison: str) -> None:
    page = watched().open(comparison, ".points .point")

    assert [page.locator(f".points .point{which}").count() for which in ("", ".filled")] == [2, 1]
    assert page.locator(".points .interval").count() == 2
    page.locator(".points .point.filled").hover()
    assert shown(page) == "latency p99: +10.0% (+8.4% to +11.6%), worse"
    page.locator("h1").hover()
    assert shown(page).startswith("Point at a mark")


def test_points_are_read_with_the_keyboard(watched: Open, comparison: str) -> None:
    page = watched().open(comparison, ".points .point")

    page.locator(".plot").focus()
    said = []
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Home", "End", "Escape"):
        page.keyboard.press(key)
        said.append(shown(page).split(":")[0])

    last = "latency p99"
    assert said == [
        "latency p50",
        last,
        last,
        "latency p50",
        last,
        "Point at a mark, or focus the chart and use the arrow keys.",
    ]


def test_the_charts_have_tables_of_the_same_figures(watched: Open, sweep: str) -> None:
    page = watched().open(sweep, ".points .point")

    page.get_by_role("button", name="charts / tables").click()

    rows = table(page, "Latency by offered rate")
    assert rows["67,300"]["p99"] == "26.73 ms"
    assert rows["73,400"]["p99"] == "900 ms"
    assert page.locator(".points").is_hidden()


def test_a_sweep_marks_objective_limit_and_interval(watched: Open, sweep: str) -> None:
    page = watched().open(sweep, ".points .point")

    assert {"p99 ≤ 50 ms", "70,300"} <= set(page.locator(".points text").all_text_contents())
    assert page.locator(".points .zone").count() == 1


def test_a_history_marks_its_change(watched: Open, history: str) -> None:
    page = watched().open(history, ".points .point")

    assert "+33.3%" in page.locator(".points text").all_text_contents()
    assert page.locator(".points .mark").count() == 1


def test_a_history_tells_the_median_at_each_run_in_its_table_and_its_file(watched: Open, history: str) -> None:
    page = watched().open(history, ".points .point")

    page.get_by_role("button", name="charts / tables").click()
    page.locator(".twin tbody tr").nth(39).wait_for()
    medians = [row.locator("td").last.inner_text() for row in page.locator(".twin tbody tr").all()]
    _, rows = rows_of(page, page.locator("figure h3").inner_text())

    assert [medians[0], medians[19], medians[20], medians[39]] == ["30", "30", "40", "40"]
    values = [list(row.values()) for row in rows]
    assert values[0][0] == "run-0"
    assert [float(values[at][1]) for at in (0, 39)] == [30.0, 40.000039]
    assert values[0][2:4] == ["", ""], "a run has no interval"


def test_a_comparison_is_kept_as_plain_numbers(watched: Open, comparison: str) -> None:
    page = watched().open(comparison, ".points .point")

    _, rows = rows_of(page, page.locator("figure h3").inner_text())

    title = "latency, shift"
    assert list(rows[0]) == ["percentile", title, "latency, low, shift", "latency, high, shift"]
    assert [row["percentile"] for row in rows] == ["p50", "p99"]
    assert float(rows[1]["latency, low, shift"]) < float(rows[1][title]) < float(rows[1]["latency, high, shift"])
    assert round(float(rows[1][title]), 3) == 0.1


def test_a_page_whose_script_may_not_run_names_the_way_to_its_tables(watched: Open, comparison: str) -> None:
    page = watched(java_script_enabled=False).open(comparison, ".notice")

    assert "--markdown FILE writes the tables as text" in " ".join(page.locator(".notice").inner_text().split())


def test_a_lone_chart_of_a_history_has_the_width_of_the_page(watched: Open, history: str) -> None:
    page = watched(width=1920).open(history, ".points .point")

    assert page.locator("figure.chart").count() == 1
    assert page.locator("figure.chart").evaluate("(chart) => chart.clientWidth") > 1800


def test_a_headline_has_the_width_of_a_small_screen(watched: Open, sweep: str) -> None:
    page = watched(width=390).open(sweep, ".points .point")

    tools, headline = (page.locator(f".report-head {part}").bounding_box() for part in (".tools", "h1"))
    assert tools
    assert headline
    assert tools["y"] + tools["height"] <= headline["y"]


def test_a_table_that_goes_on_beyond_the_edge_has_a_shadow_there(watched: Open, comparison: str) -> None:
    page = watched(width=390, color_scheme="light").open(comparison, ".points .point")
    region = page.locator(".table").first

    assert shadow(region) > 30, "there is more"
    region.evaluate("(table) => table.scrollTo(table.scrollWidth, 0)")

    assert shadow(region) < 10, "this is the end"


def shadow(region: Locator) -> int:
    """How much darker than paper the darkest pixel is at the right edge of the head, above whose text nothing is."""
    with Image.open(io.BytesIO(region.screenshot())) as picture:
        edge = picture.convert("L").crop((picture.width - 3, 0, picture.width, 3))
        return 255 - int(edge.getextrema()[0])
