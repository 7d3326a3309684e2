"""Keyboard, colours, small screens: the page is usable by everyone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.judged_run import JudgedRun
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import SyntheticRun
from tests.browser.test_figures import PAGES


def press(page: Page, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def test_keys_go_to_pages_and_move_the_range(site: Site, watched: Open) -> None:
    page = watched().open(site.url)

    for key, name in (
        ("p", "pipeline"),
        ("w", "workers"),
        ("c", "computations"),
        ("r", "runs"),
        ("a", "aggregator"),
        ("o", "overview"),
    ):
        press(page, f"g {key}")
        page.wait_for_function("(name) => location.hash.startsWith(`#/${name}`)", arg=name)
        expect(page.locator("header nav a[aria-current]")).to_have_attribute("href", page.evaluate("location.hash"))

    field = page.locator("input[type=text]")
    field.fill("0:30-0:40")
    press(page, "Enter [")
    expect(field).to_have_value("0:25–0:35")
    press(page, "] ]")
    expect(field).to_have_value("0:35–0:45")
    press(page, "l")
    expect(field).to_have_value("1:21–1:31")
    press(page, "0")
    expect(field).to_have_value("0:00–1:31")
    press(page, "+")
    expect(page.locator(".range")).to_contain_text("bins of 2 s")


def test_keys_that_come_faster_than_the_page_is_drawn_all_count(site: Site, watched: Open) -> None:
    page = watched().open(site.url)
    field = page.locator("input[type=text]")
    field.fill("0:30-0:40")
    press(page, "Enter")
    expect(field).to_have_value("0:30–0:40")

    page.evaluate(
        """(keys) => {
          for (const key of keys) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        }""",
        ["]", "]", "]", "[", "+", "+"],
    )

    expect(field).to_have_value("0:40–0:50")
    expect(page.locator(".range")).to_contain_text("bins of 5 s")


def test_help_opens_and_closes_by_key(site: Site, watched: Open) -> None:
    page = watched().open(site.url)

    press(page, "?")
    expect(page.locator("dialog")).to_be_visible()
    press(page, "Escape")
    expect(page.locator("dialog")).to_be_hidden()


def test_the_address_names_the_run_and_the_range_that_are_shown(site: Site, run: SyntheticRun, watched: Open) -> None:
    page = watched().open(site.url)
    assert page.evaluate("location.hash") == f"#/overview?run={run.run_id}"

    page.locator("input[type=text]").fill("0:30-0:40")
    press(page, "Enter")
    expect(page.locator("input[type=text]")).to_have_value("0:30–0:40")
    shared = page.evaluate("location.href")

    again = watched().open(shared)
    expect(again.locator("input[type=text]")).to_have_value("0:30–0:40")
    assert again.evaluate("location.href") == shared
    assert again.locator(".toast").is_hidden()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("range=1000-2000", "The range of the address lies outside of this run; the whole run is shown."),
        ("range=noon", "The range “noon” of the address cannot be read; the whole run is shown."),
    ],
)
def test_a_range_that_does_not_fit_is_told(site: Site, watched: Open, asked: str, said: str) -> None:
    page = watched().open(f"{site.url}#/overview?{asked}")

    expect(page.locator(".toast")).to_have_text(said)
    assert "range=" not in page.evaluate("location.hash")


def test_first_tab_leads_to_the_figures(site: Site, watched: Open) -> None:
    page = watched().open(site.url)
    address = page.evaluate("location.hash")

    press(page, "Tab")
    expect(page.locator(".skip")).to_be_focused()
    press(page, "Enter")
    expect(page.locator("main")).to_be_focused()
    assert page.evaluate("location.hash") == address


def test_what_has_focus_is_seen(site: Site, watched: Open) -> None:
    page = watched().open(site.url)

    for _ in range(12):
        press(page, "Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", page.evaluate("document.activeElement.outerHTML")


def test_a_range_is_picked_on_a_chart_by_keys_alone(site: Site, watched: Open) -> None:
    page = watched().open(site.url)
    field = page.locator("input[type=text]")
    press(page, "0")
    expect(field).to_have_value("0:00–1:31")
    plot = page.locator("figure", has_text="Throughput").locator(".plot")

    plot.focus()
    for key, times in (("Home", 1), ("ArrowRight", 20), ("Shift+ArrowRight", 10)):
        for _ in range(times):
            press(page, key)
    expect(page.locator("figure", has_text="Throughput").locator(".legend b").first).to_have_text("0:28")
    expect(page.locator("figure", has_text="Percentile curves").locator(".u-select")).to_have_css("width", "0px")
    press(page, "Enter")

    expect(field).to_have_value("0:18–0:27")
    press(page, "Shift+ArrowLeft Escape Enter")
    expect(field).to_have_value("0:18–0:27")


def test_the_wheel_zooms_with_ctrl_moves_with_shift_and_else_scrolls(site: Site, watched: Open) -> None:
    page = watched().open(site.url)
    field = page.locator("input[type=text]")
    field.fill("0:30-0:50")
    press(page, "Enter")
    chart = page.locator("figure", has_text="Latency over time").locator(".u-over")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 50)

    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    expect(field).to_have_value("0:32–0:48")
    page.keyboard.down("Shift")
    page.mouse.wheel(0, 100)
    page.keyboard.up("Shift")
    expect(field).to_have_value("0:34–0:50")
    page.mouse.wheel(0, 100)
    page.wait_for_function("() => window.scrollY > 0")
    expect(field).to_have_value("0:34–0:50")


def test_all_charts_become_tables_and_charts_again(site: Site, watched: Open) -> None:
    page = watched().open(site.url)
    charts = page.locator("figure.chart").count()

    press(page, "t")
    expect(page.locator("figure.chart .twin:visible")).to_have_count(charts)
    press(page, "t")
    expect(page.locator("figure.chart .plot:visible")).to_have_count(charts)


def test_theme_follows_the_system_until_another_is_chosen(site: Site, watched: Open) -> None:
    page = watched(color_scheme="dark").open(site.url)
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(paper) == "rgb(16, 19, 22)"

    press(page, "d")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.reload()
    page.locator(".figures b").first.wait_for()

    assert page.evaluate(paper) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("fragment", PAGES)
def test_nothing_is_wider_than_a_small_screen(fragment: str, site: Site, watched: Open) -> None:
    page = watched(width=400, height=800).open(f"{site.url}#/{fragment}", "main table tbody tr")
    page.wait_for_timeout(300)

    assert page.evaluate("document.documentElement.scrollWidth") == 400
    page.evaluate("window.scrollTo(50, 0)")
    assert page.evaluate("window.scrollX") == 0


@pytest.fixture(scope="module")
def judged() -> Iterator[Site]:
    with Site(JudgedRun()) as site:
        yield site


def test_two_keys_lead_from_a_spike_to_its_orders_and_to_its_cause(judged: Site, watched: Open) -> None:
    page = watched(height=600).open(judged.url, ".worst button")
    press(page, "n")
    expect(page.locator(".worst tr.chosen th")).to_have_text("0:34")

    press(page, "s")
    orders = page.get_by_role("region", name="Slowest orders")
    expect(orders).to_be_focused()
    expect(orders).to_be_in_viewport()
    press(page, "w")

    chosen = page.locator(".worst tr.chosen")
    expect(chosen.locator("button")).to_be_focused()
    expect(chosen).to_be_in_viewport(ratio=1)
    expect(chosen).to_contain_text("boundary of batch 3")


def test_what_has_focus_is_not_below_the_range_bar(judged: Site, watched: Open) -> None:
    page = watched().open(judged.url, ".worst button")
    page.locator("figure", has_text="Events of the run").locator(".plot").focus()

    for _ in range(8):
        press(page, "Tab")
        below = page.locator(".range").evaluate("(range) => range.getBoundingClientRect().bottom")
        assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= below


def test_keys_act_when_a_box_is_ticked_but_not_behind_the_help(judged: Site, watched: Open) -> None:
    page = watched().open(f"{judged.url}#/runs", ".runs tbody input")

    page.locator(".runs tbody input").first.focus()
    press(page, "Space g o")
    expect(page.locator("h1")).to_have_text("Overview")

    press(page, "? g r")
    page.wait_for_timeout(200)
    assert page.evaluate("location.hash").startswith("#/overview")
    press(page, "Escape g r")
    expect(page.locator("h1")).to_have_text("Runs")


def test_a_run_that_is_pinned_by_key_keeps_the_focus(judged: Site, watched: Open) -> None:
    page = watched().open(f"{judged.url}#/runs", ".runs tbody button")

    page.locator(".runs tbody button").first.focus()
    press(page, "Enter")

    expect(page.locator(".runs tbody button")).to_have_text("pinned")
    expect(page.locator(".runs tbody button")).to_be_focused()


def test_a_page_that_a_key_opens_begins_at_its_figures(judged: Site, watched: Open) -> None:
    page = watched().open(judged.url, ".worst button")
    page.locator(".worst button").first.focus()

    press(page, "g w")
    expect(page.locator("h1")).to_have_text("Workers")

    expect(page.locator("main")).to_be_focused()


def test_choosing_a_file_shows_where_the_focus_is(judged: Site, watched: Open) -> None:
    page = watched().open(f"{judged.url}#/runs", ".runs tbody input")

    page.locator(".runs tbody a").last.focus()
    press(page, "Tab")

    expect(page.locator("#run-file")).to_be_focused()
    assert page.locator("label[for=run-file]").evaluate("(label) => getComputedStyle(label).outlineStyle") == "solid"


def test_a_long_name_without_blanks_does_not_widen_a_small_screen(watched: Open) -> None:
    with Site(SyntheticRun(title=f"a_{'workload_of_ours_' * 6}: 20,000 messages/s")) as site:
        page = watched(width=390).open(site.url)

        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_typed_range_that_is_none_is_said_with_how_to_write_one(site: Site, watched: Open) -> None:
    page = watched().open(site.url)
    field = page.get_by_label("Range, as 0:30-1:15 or last 90")

    field.fill("1:15-0:30")
    field.press("Enter")

    said = "“1:15-0:30” is no range; one is written from the earlier to the later, as 0:30-1:15 or last 90."
    expect(page.locator(".toast")).to_have_text(said)

    field.fill("last 1 min")
    field.press("Enter")

    expect(page.get_by_role("button", name="last 1 min")).to_have_attribute("aria-pressed", "true")
