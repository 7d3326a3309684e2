"""The page of a real run: broker, Spark, sender and receiver push what they measure, and the page has their figures."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from market_spread.common.wire.codec import decode_ledger
from market_spread.common.wire.layout import WARM_UP_ORDER_ID_MIN
from market_spread.controller.analysis.result import outcome_text
from market_spread.loadgen.columns import Alerts
from tests.browser.conftest import Open
from tests.browser.page_fixtures import blank_canvases, key_figures, table
from tests.browser.test_figures import checked_row
from tests.support.golden import TIMEOUT_S, GoldenRun

PAGES = ("overview", "pipeline", "workers", "workers/job", "computations", "computations/ingest", "aggregator")

pytestmark = pytest.mark.timeout(TIMEOUT_S + 60)


@pytest.fixture(scope="module")
def folder(golden_run: GoldenRun) -> Path:
    return golden_run.folder


@pytest.fixture(scope="module")
def result(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return read


def shows(text: str, ns: int) -> bool:
    """Whether a latency is written there as exactly as its digits are, in milliseconds unless it names its unit."""
    number, _, unit = text.strip().partition(" ")
    decimals = len(number.partition(".")[2])
    per_unit = {"": 1e6, "ms": 1e6, "µs": 1e3, "s": 1e9}[unit]
    return abs(float(number.replace(",", "")) - ns / per_unit) <= 0.5001 * 10.0**-decimals


def line_of(text: str, begin: str) -> str:
    (line,) = (line for line in text.splitlines() if line.strip().startswith(begin))
    return line


def test_latencies_are_those_of_the_alerts_in_the_ledger(folder: Path, watched: Open) -> None:
    rows = decode_ledger((folder / "alerts.ledger").read_bytes())
    alerts = Alerts.from_rows(rows.rows, rows.received_us)
    measured = np.flatnonzero(alerts.order_id < WARM_UP_ORDER_ID_MIN)

    page = watched().open((folder / "metrics.html").as_uri() + "#/overview?range=whole")

    triple = table(page, "The triple of latencies")
    checked_row(triple["Intended send to receipt"], (alerts.received_us - alerts.intended_us)[measured])
    checked_row(triple["Actual send to receipt"], (alerts.received_us - alerts.sent_us)[measured])
    assert key_figures(page)["lag"] == "", "nothing is behind at the end of a run"


def test_verdict_and_percentiles_are_the_same_everywhere(
    golden_run: GoldenRun, result: dict[str, Any], watched: Open
) -> None:
    """The same number, or the same mark of a tail that lies in too few clusters of time."""
    names = ("p50", "p95", "p99")
    latency_ns = [result["latency_ns"][name] for name in names]
    assert None not in latency_ns
    folder = golden_run.folder
    page = watched().open((folder / "metrics.html").as_uri())
    report = watched().open((folder / "report.html").as_uri(), until="canvas")
    triple = table(page, "The triple of latencies")["Intended send to receipt"]

    shown = {
        "terminal": re.split(r"\s{2,}", line_of(golden_run.said, "intended send to receipt").strip())[1:4],
        "run.md": [
            re.sub(r" \(.*–.*; \d+\)", "", cell.strip())
            for cell in line_of((folder / "run.md").read_text(), "| intended").split("|")[2:5]
        ],
        "page": list(key_figures(page).values())[:3],
        "report": list(key_figures(report).values())[:3],
    }

    outcomes = {
        "terminal": re.split(r"\s{2,}", line_of(golden_run.said, result["verdict"]).strip())[0],
        "run.md": line_of((folder / "run.md").read_text(), "**").strip("*"),
        "page": page.locator("header .verdict").inner_text(),
        "report": report.locator("h1 .verdict").inner_text(),
    }
    assert outcomes == dict.fromkeys(outcomes, outcome_text(result["verdict"], result["cause"], latencies_void=False))
    clusters = result["latency_clusters"]["latency_ns"]
    marks = [None, *(clusters[name] if clusters.get(name, 10) < 10 else None for name in names[1:])]
    for where, texts in shown.items():
        for text, ns, few in zip(texts, latency_ns, marks, strict=True):
            mark = f"– ({few} cluster{'s' * (few != 1)})"
            assert text == mark if few is not None else shows(text, ns), (where, text)
    assert page.get_by_role("button", name="judged").get_attribute("aria-pressed") == "true"
    assert triple["n"] == f"{result['latency_samples']:,}"
    assert page.locator("p.about", has_text="those of the result").count() == 1
    assert list(key_figures(report))[:3] == ["latency p50", "p95", "p99"]
    rows = [line.split("|")[1:-1] for line in (folder / "run.md").read_text().splitlines() if line.startswith("| ")]
    written = {title.strip(): [cell.strip() for cell in cells] for title, *cells in rows}
    for shown_page in (page, report):
        latencies = table(shown_page, "Latencies of the result, with their 95% intervals")
        assert {"hot probes", "cold probes"} <= {title.strip() for title in latencies}
        for title, cells in latencies.items():
            assert list(cells.values())[1:] == written[title.strip()], title


def test_the_whole_run_is_not_taken_for_what_was_judged(folder: Path, result: dict[str, Any], watched: Open) -> None:
    page = watched().open((folder / "metrics.html").as_uri())

    page.get_by_role("button", name="whole run").click()

    expect(page.locator("p.about", has_text="Latencies")).to_contain_text("came in this range")
    samples = int(table(page, "The triple of latencies")["Intended send to receipt"]["n"].replace(",", ""))
    assert samples == result["alerts_received"] > result["latency_samples"]


def test_a_passed_run_of_one_host_has_no_problem(folder: Path, result: dict[str, Any], watched: Open) -> None:
    page = watched().open((folder / "metrics.html").as_uri())

    assert result["verdict"] == "passed"
    assert page.locator(".findings li.problem").all_inner_texts() == []
    assert [text for text in page.locator(".findings li").all_inner_texts() if "clock" in text] == []


def test_the_sender_and_the_result_count_the_same_frames_as_late(folder: Path, result: dict[str, Any]) -> None:
    evidence = json.loads((folder / "evidence.json").read_text())

    assert int(evidence["sender"].get("framesLate", 0)) == result["frames_late"]


@pytest.mark.parametrize("name", PAGES)
def test_pages_have_something_to_show(folder: Path, watched: Open, name: str) -> None:
    watching = watched()

    page = watching.open(
        (folder / "metrics.html").as_uri() + f"#/{name}", until="main canvas:visible, main table:visible"
    )

    assert blank_canvases(page) == []
    assert watching.complaints == []
    assert all(address.startswith(("file:", "data:", "blob:")) for address in watching.requests)
