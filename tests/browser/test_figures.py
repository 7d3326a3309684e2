"""What stands on the pages is what `hdrhistogram` makes of the recorded values, under the policy that is served."""

from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hdrh.histogram import HdrHistogram
from playwright.sync_api import Page, Response, Route, expect

from market_spread.common.hdr.codec import HIGHEST_US
from tests.browser.conftest import Open
from tests.browser.page_fixtures import blank_canvases, key_figures, table
from tests.browser.site_fixtures import POLICY, Site
from tests.browser.synthetic import BEGIN_MS, STAGES, SyntheticRun

END_TO_END = "market_spread_receiver_end_to_end_seconds"
SERVICE = "market_spread_receiver_service_seconds"
SEND_LAG = "market_spread_sender_send_lag_seconds"
STAGE = "market_spread_receiver_stage_seconds"
MEASURED = {"phase": "measured"}
PERCENTS = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9, "p99.99": 99.99}
PAGES = (
    "overview", "pipeline", "pipeline/service", "workers", "workers/sender", "workers/receiver", "workers/job",
    "computations", "computations/send", "computations/send_all", "computations/ingest", "computations/compute",
    "computations/deliver", "runs", "aggregator",
)  # fmt: skip

Int64s = npt.NDArray[np.int64]


def percentile_us(values: Int64s, percent: float) -> int:
    """By the hdrhistogram package, value by value."""
    oracle = HdrHistogram(1, HIGHEST_US, 3)
    for value in values.tolist():
        oracle.record_value(value)
    return min(int(oracle.get_value_at_percentile(percent)), int(values.max()))


def in_ms(us: float, digits: int = 2) -> str:
    """As the page rounds it, half away from zero."""
    return f"{(Decimal(str(us)) / 1000).quantize(Decimal(10) ** -digits, ROUND_HALF_UP):,}"


def with_unit(us: int) -> str:
    """As a figure that stands alone, from 1 ms to 1 s."""
    return f"{in_ms(us, 2 if us < 10_000 else 1)} ms"


def expected_row(values: Int64s) -> dict[str, str]:
    row = {"n": f"{len(values):,}", "mean": in_ms(float(values.sum()) / len(values)), "max": in_ms(int(values.max()))}
    for name, percent in PERCENTS.items():
        enough = len(values) * round((100 - percent) * 1e6) >= 10 * 1e8
        row[name] = in_ms(percentile_us(values, percent)) if enough else "n too small"
    return row


def checked_row(row: dict[str, str], values: Int64s) -> None:
    expected = expected_row(values)
    assert {name: row[name] for name in expected} == expected


def wait_for_count(page: Page, count: int) -> None:
    page.wait_for_function(
        "(text) => document.querySelector('.figures').textContent.includes(text)", arg=f"of {count:,} samples"
    )


def test_triple_of_latencies_is_that_of_the_values(site: Site, run: SyntheticRun, watched: Open) -> None:
    page = watched().open(site.url)

    triple = table(page, "The triple of latencies")

    checked_row(triple["Intended send to receipt"], run.values(END_TO_END, MEASURED))
    checked_row(triple["Actual send to receipt"], run.values(SERVICE, MEASURED))
    lag = run.values(SEND_LAG, {}, BEGIN_MS + 25_000, BEGIN_MS + 85_000)
    assert triple["Send lag, all messages"]["n"] == f"{len(lag):,}"
    assert triple["Send lag, all messages"]["max"] == in_ms(int(lag.max()))


def test_our_own_application_has_orders_and_alerts_and_no_partitions(site: Site, watched: Open) -> None:
    page = watched().open(site.url + "#/pipeline", until="main canvas:visible")

    assert page.get_by_text("to the receipt of its alert").is_visible()
    assert not page.get_by_text("Input by topic and partition").is_visible()
    assert "output" not in page.locator("main").inner_text()


def test_every_figure_is_computed_again_for_a_range(site: Site, run: SyntheticRun, watched: Open) -> None:
    begin, end = BEGIN_MS + 32_000, BEGIN_MS + 52_000
    values = run.values(END_TO_END, MEASURED, begin, end)

    page = watched().open(f"{site.url}#/overview?range={begin}-{end}")
    wait_for_count(page, len(values))

    checked_row(table(page, "The triple of latencies")["Intended send to receipt"], values)
    figures = key_figures(page)
    assert figures["messages offered"] == "20,000 /s"
    assert figures["latency p50"] == with_unit(percentile_us(values, 50))
    assert figures["max"] == with_unit(int(values.max()))
    assert figures["p99.9"] == "n too small"


def test_brush_on_a_chart_sets_the_range_of_all(site: Site, run: SyntheticRun, watched: Open) -> None:
    page = watched().open(site.url)
    chart = page.locator("figure.chart .u-over").first
    box = chart.bounding_box()
    assert box

    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 60, steps=5)
    page.mouse.up()
    page.wait_for_function("() => location.hash.includes('range=')")
    from_ms, to_ms = map(float, page.evaluate("location.hash").partition("range=")[2].split("-"))
    values = run.values(END_TO_END, MEASURED, from_ms, to_ms)
    wait_for_count(page, len(values))

    assert 17_000 < to_ms - from_ms < 20_000
    checked_row(table(page, "The triple of latencies")["Intended send to receipt"], values)

    chart.dblclick()
    wait_for_count(page, 12_000)


def test_stages_add_up_to_the_whole(site: Site, run: SyntheticRun, watched: Open) -> None:
    page = watched().open(f"{site.url}#/pipeline", ".waterfall tbody tr")
    page.wait_for_function("() => document.querySelector('.waterfall .whole .number').textContent !== ''")

    means = page.locator(".waterfall tbody tr td.number:nth-child(3)").all_text_contents()
    whole = run.values(END_TO_END, MEASURED)
    stages = [run.values(STAGE, {**MEASURED, "stage": stage}) for stage in STAGES]

    assert means == [in_ms(float(values.mean())) for values in (*stages, whole)]
    assert sum(int(values.sum()) for values in stages) == int(whole.sum())
    sentence = page.locator(".waterfall >> xpath=../following-sibling::p[1]").text_content() or ""
    assert f"add up to {in_ms(float(whole.mean()))} ms" in sentence
    assert "equal to the microsecond" in sentence
    assert "Percentiles do not add up" in sentence
    for row, values in zip(page.locator(".waterfall tbody tr").all(), (*stages, whole), strict=True):
        cells = row.locator("td.number").all_text_contents()
        assert cells[2:] == [in_ms(percentile_us(values, percent)) for percent in (50, 99, 99.9)]


@pytest.mark.parametrize("stage", STAGES)
def test_detail_of_a_computation_is_of_its_stage(stage: str, site: Site, run: SyntheticRun, watched: Open) -> None:
    item = {"send_lag": "send", "delivery": "deliver"}.get(stage, stage)
    page = watched().open(f"{site.url}#/computations/{item}", "figure.chart")
    values = run.values(STAGE, {**MEASURED, "stage": stage})
    page.wait_for_function("() => document.body.textContent.includes('12,000 samples')")

    shown = table(page, "Percentiles of the range")

    for name in ("p50", "p99", "p99.9"):
        assert shown[name]["latency"] == with_unit(percentile_us(values, PERCENTS[name]))
    assert shown["p99.99"]["latency"] == "n too small"
    assert list(shown["p50"]) == ["percentile", "latency", "samples above"]


@pytest.mark.parametrize("fragment", PAGES)
def test_page_keeps_to_its_origin_and_says_no_error(fragment: str, site: Site, watched: Open) -> None:
    watching = watched()

    page = watching.open(f"{site.url}#/{fragment}", "main table tbody tr")
    page.wait_for_timeout(400)

    assert watching.complaints == []
    assert {address for address in watching.requests if not address.startswith((site.url, "data:"))} == set()
    assert blank_canvases(page) == []
    unnamed = page.locator("figure.chart .plot").evaluate_all(
        """(plots) => plots.filter((plot) => (
             plot.getAttribute('role') !== 'img' || !plot.getAttribute('aria-label').includes('. '))).length"""
    )
    assert unnamed == 0


def test_policy_is_served_exactly_and_forbids_inline_code(site: Site, watched: Open) -> None:
    watching = watched()
    answers: list[Response] = []

    def keep(answer: Response) -> None:
        answers.append(answer)

    watching.page.on("response", keep)

    page = watching.open(site.url)

    assert answers
    for answer in answers:
        if answer.url.startswith(site.url):
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.inline = 1'}))"
    )
    assert page.evaluate("window.inline === undefined")


def test_table_twin_has_the_figures_of_the_chart(site: Site, run: SyntheticRun, watched: Open) -> None:
    page = watched().open(site.url)

    page.get_by_role("button", name="Latency, intended send to receipt as a table").click()
    rows = table(page, "Latency, intended send to receipt, log scale")

    values = run.values(END_TO_END, {}, BEGIN_MS + 30_120, BEGIN_MS + 31_120)
    assert len(values) == 200
    assert rows["0:30"]["p50"] == with_unit(percentile_us(values, 50))
    assert rows["0:30"]["p99"] == "–"
    assert page.locator("figure", has_text="Latency, intended send to receipt").locator(".plot").is_hidden()


def test_out_of_the_ordinary_is_said_in_words(site: Site, watched: Open) -> None:
    page = watched().open(site.url)

    said = [text.removesuffix(" show") for text in page.locator(".findings li").all_text_contents()]

    assert said == [
        "✓Verdict: passed; every alert was right, nothing was lost. ",
        "•17 frames of 59,880 (0.03%) left more than 10.0 ms after their plan; the run allows 0.10%.",
        "•The query was started again once after a failure.",
        "•job: 3 pushes dropped by the source; its figures lack what they held.",
        "•2 pushes came again and were left out.",
        "•job: its clock is not synchronised; the kernel bounds its error by 16.00 s.",
    ]


def test_range_of_a_long_run_is_drawn_of_finer_intervals(run: SyntheticRun, watched: Open) -> None:
    begin, end = BEGIN_MS + 33_300, BEGIN_MS + 43_300
    values = run.values(END_TO_END, MEASURED, begin, end)
    with Site(run, cell_s=10) as site:
        page = watched().open(site.url)
        expect(page.locator(".range")).to_contain_text("bins of 10 s")

        page.evaluate("(range) => { location.hash = `#/overview?range=${range}`; }", f"{begin}-{end}")
        expect(page.locator(".range")).to_contain_text("bins of 1 s")
        wait_for_count(page, len(values))

        checked_row(table(page, "The triple of latencies")["Intended send to receipt"], values)
        lag = page.locator("figure.chart", has_text="Lag messages").locator(".key b").nth(1).text_content() or ""
        assert 1_000 < int(lag.replace(",", "")) < 30_000
        assert len(site.ranges_asked) == 1


def test_a_long_run_opens_with_few_intervals_and_gets_finer_ones_then(watched: Open) -> None:
    run = SyntheticRun(seconds=700)
    with Site(run) as site:
        page = watched().open(site.url)
        expect(page.locator(".range")).to_contain_text("bins of 5 s", timeout=30_000)
        wait_for_count(page, len(run.values(END_TO_END, MEASURED)))

        first, second = site.data_asked
        assert first == "points=60&only=market_spread_receiver_end_to_end_seconds"
        assert second.endswith("points=240&fine=market_spread_receiver_end_to_end_seconds")
        assert second.startswith(f"from_unix_ms={BEGIN_MS + 120}&"), "of all of it"


def test_finer_data_of_a_long_run_is_said_to_load_and_comes_again_after_another_run(watched: Open) -> None:
    run, lags = SyntheticRun(seconds=700), "Send lag, all messages"
    with Site(run) as site:
        watching, held = watched(), list[Route]()
        watching.page.route("**/data?from_unix_ms=*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
        with watching.page.expect_request("**/data?from_unix_ms=*"):
            page = watching.open(site.url)
        expect(page.locator(".range .length").last).to_have_text("bins of 30 s; finer data is loading", timeout=30_000)
        assert table(page, "The triple of latencies")[lags]["p50"] == "–"

        held.pop().continue_()
        page.unroute("**/data?from_unix_ms=*")

        expect(page.locator(".range .length").last).to_have_text("bins of 5 s", timeout=30_000)
        lag = run.values(SEND_LAG, {}, BEGIN_MS + 25_000, BEGIN_MS + 85_000)
        assert table(page, "The triple of latencies")[lags]["n"] == f"{len(lag):,}"
        opened = page.url
        page.evaluate("location.hash = '#/overview?run=another'")
        expect(page.locator("#waiting")).to_contain_text("No run 'another' is known")
        page.goto(opened)
        expect(page.locator("#waiting")).to_be_hidden()
        expect(page.locator(".range .length").last).to_have_text("bins of 5 s", timeout=30_000)
        assert len(site.ranges_asked) == 2


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_names_of_percentiles_below_a_curve_stand_apart(site: Site, watched: Open, width: int) -> None:
    """As the canvas is told to write them, each name in the middle of its place."""
    watching = watched(width=width)
    watching.page.add_init_script("""
        window.names = new Map();
        const { fillText } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
          if (/^p[0-9.]+$/.test(text)) window.names.set(text, [x, this.measureText(text).width]);
          fillText.call(this, text, x, ...rest);
        };
    """)
    page = watching.open(site.url)
    page.wait_for_function("window.names.size > 3")

    places = sorted(page.evaluate("[...window.names.values()]"))

    gaps = [x - wide / 2 - (left + left_wide / 2) for (left, left_wide), (x, wide) in pairwise(places)]
    assert min(gaps) > 4, places


def test_a_short_run_comes_as_fine_as_it_is_kept_even_while_it_goes_on(run: SyntheticRun, watched: Open) -> None:
    for served in (run, SyntheticRun(seconds=500, live=True)):
        with Site(served) as site:
            watched().open(site.url)

            assert site.data_asked == [""]
