"""What a reader takes along: a chart's figures, its picture, and a histogram for HdrHistogram's plotter."""

import csv
import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from tests.browser.conftest import Open
from tests.browser.site_fixtures import Site
from tests.browser.synthetic import BEGIN_MS, SyntheticRun
from tests.browser.test_figures import END_TO_END, MEASURED, percentile_us


def saved(page: Page, button: str) -> tuple[str, bytes]:
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def rows_of(page: Page, title: str) -> tuple[str, list[dict[str, str]]]:
    name, content = saved(page, f"{title} as csv")
    return name, list(csv.DictReader(io.StringIO(content.decode())))


def test_csv_has_what_is_shown_as_plain_numbers(site: Site, run: SyntheticRun, watched: Open) -> None:
    begin, end = BEGIN_MS + 32_000, BEGIN_MS + 52_000
    watching = watched()
    page = watching.open(f"{site.url}#/overview?range={begin}-{end}")

    name, latencies = rows_of(page, "Latency, intended send to receipt")
    _, cells = rows_of(page, "Latency over time")
    _, events = rows_of(page, "Events of the run")
    _, curve = rows_of(page, "Percentile curves")

    assert name == "latency-intended-send-to-receipt.csv"
    assert list(latencies[0])[:3] == ["from_unix_ms", "to_unix_ms", "p50, us"]
    first = run.values(END_TO_END, {}, float(latencies[1]["from_unix_ms"]), float(latencies[1]["to_unix_ms"]))
    assert int(latencies[1]["p50, us"]) == percentile_us(first, 50)
    assert latencies[1]["p99.9, us"] == ""
    assert begin <= float(latencies[0]["from_unix_ms"]) < float(latencies[-1]["to_unix_ms"]) <= end
    assert sum(int(cell["samples"]) for cell in cells) == len(run.values(END_TO_END, {}, begin, end))
    assert [list(event.values()) for event in events] == [
        [str(BEGIN_MS + 36_120), "610", "boundary", "batch 3 ended, its commit took 610.0 ms"],
        [str(BEGIN_MS + 46_120), "610", "boundary", "batch 4 ended, its commit took 610.0 ms"],
        [str(BEGIN_MS + 46_120), "", "sender", "17 late frames of sender"],
        [str(BEGIN_MS + 47_000), "", "restart", "again"],
    ]
    assert list(events[0]) == ["from_unix_ms", "length, ms", "kind", "what"]
    p99 = {row["percentile"]: row["intended to receipt, us"] for row in curve}["99"]
    assert int(p99) == percentile_us(run.values(END_TO_END, MEASURED, begin, end), 99)
    assert watching.complaints == []


def test_histogram_for_the_plotter_has_the_percentiles_of_the_values(
    site: Site, run: SyntheticRun, watched: Open
) -> None:
    page = watched().open(site.url)
    values = run.values(END_TO_END, MEASURED)

    name, content = saved(page, "Percentile curves as hgrm, intended to receipt")

    assert name == "intended-to-receipt.hgrm"
    lines = content.decode().splitlines()
    rows = [[float(cell) for cell in line.split()] for line in lines[2:] if not line.startswith("#")]
    assert len(rows) > 40
    assert rows[-1][:3] == [round(int(values.max()) / 1000, 3), 1, len(values)]
    for value_ms, part, count, *_ in rows[:-1]:
        expected = percentile_us(values, part * 100) if part else int(values.min())
        assert value_ms == round(expected / 1000, 3)
        assert count == int((values <= expected).sum())
    assert lines[-2].endswith(f"Total count    = {len(values):>12}]")


def test_picture_of_a_chart_has_its_title_and_lines(site: Site, watched: Open) -> None:
    page = watched().open(site.url)

    name, content = saved(page, "Percentile curves as png")

    with Image.open(io.BytesIO(content)) as picture:
        canvas = page.locator("figure", has_text="Percentile curves").locator("canvas").evaluate("(it) => it.height")
        assert (name, picture.format, picture.height) == ("percentile-curves.png", "PNG", canvas + 44)
        head = picture.convert("RGB").crop((0, 0, picture.width, 44))
        assert len(head.getcolors(100_000) or []) > 20, "text and swatches stand above the chart"
        assert picture.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
