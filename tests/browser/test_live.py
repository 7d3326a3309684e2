"""A live run: what comes anew is drawn, breaks are survived, and every state is said in words."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.page_fixtures import key_figures
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import SyntheticRun


@pytest.fixture(scope="module")
def live_run() -> SyntheticRun:
    return SyntheticRun(live=True)


@pytest.fixture
def live(live_run: SyntheticRun) -> Iterator[Site]:
    with Site(live_run, now_s=40) as site:
        yield site


def state(page: Page) -> str:
    return page.locator(".state").inner_text().replace("\n", " ")


def test_new_figures_come_by_themselves(live: Site, watched: Open) -> None:
    watching = watched()
    page = watching.open(live.url)
    expect(page.locator(".state")).to_contain_text("live")
    assert "measuring" in state(page)

    live.advance(5)

    expect(page.locator(".figures")).to_contain_text("of 4,000 samples")  # 25 s to 45 s, 200 a second
    assert live.resumed_from == ["40"]
    assert watching.complaints == []


def test_phase_and_time_left_are_said(live: Site, watched: Open) -> None:
    page = watched().open(live.url)
    now = page.locator(".now")
    expect(now.locator(".phase")).to_have_text(re.compile("^Measuring 0:1[5-9] of 1:00, 0:4[1-5] left$"))
    assert re.search(r"measuring, 0:4\d left", state(page))
    assert 0.25 <= float(now.locator("progress").get_attribute("value") or 0) < 0.35

    live.advance(15)

    expect(now.locator(".phase")).to_have_text(re.compile("^Measuring 0:3[0-4] of 1:00, 0:(30|2[6-9]) left$"))
    expect(now.locator(".hints")).to_have_text("✓So far nothing would make this run void or failed.")


def test_before_the_measured_load_it_is_said_how_long_that_will_be(live_run: SyntheticRun, watched: Open) -> None:
    with Site(live_run, now_s=15) as site:
        page = watched().open(f"{site.url}#/overview", ".now .phase")

        said = re.compile("^Warming up 0:(06|07|08) of 0:12, 0:0[4-6] left; then 1 min are measured$")
        expect(page.locator(".now .phase")).to_have_text(said)
        assert page.locator(".now .hints li").count() == 0, "nothing is measured yet"


def test_what_would_make_a_run_void_or_failed_is_said_while_it_goes_on(watched: Open) -> None:
    limits = {"late_share_max": 0.0001, "latency_us_max": {"p50": 100_000, "p99": 200_000}}
    run = SyntheticRun(live=True, limits=limits, keeps_up=False)
    with Site(run, now_s=44) as site:
        page = watched().open(site.url)
        hints = page.locator(".now .hints li")
        expect(hints).to_have_count(1)
        assert "Failed if it ended now: p99 is" in hints.inner_text()
        assert hints.inner_text().endswith("so far; the run allows 200.0 ms.")

        site.advance(8)

        expect(hints).to_have_count(3)
        behind, slow, late = hints.all_inner_texts()
        assert "Failed if it ended now: Processing is" in behind
        assert behind.endswith("it does not keep up.")
        assert "p99 is" in slow
        assert "Void if it ended now: 17 frames of" in late


def test_a_finished_run_has_no_hints(site: Site, watched: Open) -> None:
    page = watched().open(site.url)

    expect(page.locator(".now")).to_be_hidden()


def test_events_are_shown_as_they_come(live: Site, watched: Open) -> None:
    watching = watched()
    page = watching.open(live.url)
    events = page.locator("figure", has_text="Events of the run").locator(".summary")
    expect(events).to_have_text("boundaries: 2 events, at most 610 ms")

    live.advance(10)

    expect(events).to_have_text("boundaries: 3 events, at most 610 ms; restarts: 1 event; sender late: 1 event")
    page.get_by_role("button", name="Events of the run as a table").click()
    rows = page.locator("figure", has_text="Events of the run").locator("tbody tr").all_inner_texts()
    assert [row.split("\t")[2] for row in rows[-3:]] == [
        "batch 4 ended, its commit took 610.0 ms",
        "17 late frames of sender",
        "again",
    ]
    assert watching.complaints == []


def test_range_follows_the_newest_data(live: Site, watched: Open) -> None:
    page = watched().open(f"{live.url}#/overview?range=last-10")
    expect(page.locator(".figures")).to_contain_text("of 2,000 samples")
    before = page.locator("input[type=text]").input_value()

    live.advance(3)

    expect(page.locator("input[type=text]")).not_to_have_value(before)
    expect(page.locator("input[type=text]")).to_have_value("0:34–0:44")


def test_stream_goes_on_after_the_server_was_away(live: Site, live_run: SyntheticRun, watched: Open) -> None:
    page = watched().open(live.url)
    expect(page.locator(".state")).to_contain_text("live")

    live.stop()
    expect(page.locator(".state")).to_contain_text("disconnected", timeout=15_000)
    assert "the aggregator does not answer" in state(page)
    assert key_figures(page)["latency p50"].endswith(" ms")
    with Site(live_run, now_s=44, port=live.port) as back:
        expect(page.locator(".state b")).to_have_text("live", timeout=20_000)
        expect(page.locator(".figures")).to_contain_text("of 3,800 samples")

        assert back.resumed_from[0] == "40"


def test_server_that_begins_anew_makes_the_page_load_again(live: Site, live_run: SyntheticRun, watched: Open) -> None:
    page = watched().open(live.url)
    expect(page.locator(".state")).to_contain_text("live")

    live.stop()
    with Site(live_run, now_s=30, port=live.port) as anew:
        expect(page.locator(".figures")).to_contain_text("of 1,000 samples", timeout=30_000)
        anew.advance(1)
        expect(page.locator(".figures")).to_contain_text("of 1,200 samples", timeout=15_000)


def test_silence_is_said(live: Site, watched: Open) -> None:
    page = watched().open(live.url)

    expect(page.locator(".state b")).to_have_text("stale", timeout=15_000)

    assert "no push for" in state(page)
    expect(page.locator(".findings")).to_contain_text("sender has pushed nothing for")


def test_run_that_ends_is_finished(live_run: SyntheticRun, watched: Open) -> None:
    run = SyntheticRun(live=True)
    with Site(run, now_s=88) as site:
        page = watched().open(site.url)
        expect(page.locator(".state")).to_contain_text("live")

        run.live = False
        site.advance(2)

        expect(page.locator(".state b")).to_have_text("finished")
        expect(page.locator(".verdict")).to_have_text("passed")


def test_page_without_a_run_waits_for_one(watched: Open) -> None:
    with Site(None) as site:
        page = watched().open(site.url, ".notice")

        expect(page.locator(".notice")).to_have_text(
            "No run yet. A run shows up here as soon as it pushes its first figures."
        )
        site.run = SyntheticRun(seconds=30)
        site.now_s = 30

        expect(page.locator(".figures")).to_contain_text("of 1,000 samples", timeout=10_000)


def test_unknown_run_is_said_with_where_to_look(live: Site, watched: Open) -> None:
    page = watched().open(f"{live.url}#/overview?run=nonsense", ".notice")

    expect(page.locator(".notice")).to_contain_text("o run 'nonsense' is known")
    expect(page.locator(".state b")).to_have_text("no such run")


def test_what_has_nothing_to_show_leaves_no_gap(live: Site, watched: Open) -> None:
    page = watched(width=1920).open(live.url)
    tops = {name: top_of(page, name) for name in ("Latency over time", "Out of the ordinary", "Where p50 goes")}
    latency = page.locator("figure", has_text="intended send to receipt log scale").bounding_box()

    assert abs(tops["Latency over time"] - tops["Out of the ordinary"]) < 4
    assert latency
    assert 0 < tops["Where p50 goes"] - (latency["y"] + latency["height"]) < 40


def test_figures_have_a_line_before_all_but_the_first_of_a_row_on_a_small_screen(live: Site, watched: Open) -> None:
    page = watched(width=390).open(live.url)

    tiles = page.locator(".figures > div:visible")
    assert page.locator(".figures > div[hidden]").count() > 0
    lines = tiles.evaluate_all("(all) => all.map((each) => getComputedStyle(each).borderLeftWidth)")
    assert lines == [["0px", "1px", "1px"][at % 3] for at in range(len(lines))]


def top_of(page: Page, text: str) -> float:
    box = page.locator("h2, h3, caption").filter(has_text=text).first.bounding_box()
    assert box
    return box["y"]
