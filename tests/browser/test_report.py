"""The report of a run in a real browser: from a file, offline, its charts drawn and nothing to complain of."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.metrics_aggregator.http.run_json import as_json
from market_spread.metrics_aggregator.page import report_file
from tests.browser.conftest import Open
from tests.browser.judged_run import SENTENCE, causes
from tests.browser.page_fixtures import blank_canvases, key_figures, table
from tests.browser.synthetic import BEGIN_MS, SyntheticRun, counts_text

CHARTS = [
    "Latency over time", "Events of the run", "Percentile curves", "Latency, intended send to receipt", "Throughput",
    "Backlog", "CPUs in use", "Time waited for a resource, and stolen",
]  # fmt: skip
END_TO_END = "market_spread_receiver_end_to_end_seconds"
BEGIN_S = BEGIN_MS // 1000


def evidence(check: str, holds: bool | None, text: str) -> dict[str, Any]:
    return {"check": check, "holds": holds, "text": text, "value": None, "limit": None, "unit": ""}


def facts(run: SyntheticRun) -> dict[str, Any]:
    """What the run controller says of the synthetic run."""
    verdicts = {
        "correct": {"holds": True, "evidence": [evidence("alerts_missing", True, "no alerts are missing")]},
        "valid": {"holds": False, "evidence": [evidence("swap", False, "41.0 MB were read from swap <b>")]},
        "objectives": {"holds": None, "evidence": []},
    }
    rows = [[BEGIN_S + second, 1.5, 0.9] for second in range(60)]
    return {
        "result": {
            "run_id": "20260101-120000-quick", "workload": "quick", "verdict": "void", "mode": "real-time",
            "reasons": ["41.0 MB were read from swap <b>"], "started": "2026-01-01T12:00:00+00:00",
            "offered_rate_per_s": 20_000.0, "achieved_rate_per_s": 19_990.4, "duration_s": 60.0,
            "cpu_us_per_message": 3.254, "backlog": {"messages_max": 1_234}, "settings": {"seed": 7},
            "manifest_sha256": "a" * 64, "verdicts": verdicts, "latency_samples": 1_099,
            "latency_ns": {"p50": 4_420_000, "p95": 45_410_000, "p99": 316_160_000, "p99.9": None, "p99.99": None,
                           "max": 514_000_000},
            "boundaries": 6, "latency_between_boundaries_ns": {"p99": 31_100_000}, "machine": {"cores": 2},
            "causes": causes(), "self_test": {"fits": True, "text": "the rig's floor here: p50 2.10 ms"},
        },
        "outcome": "void (rig)",
        "manifest": {"sections": {"cpu": {"model": "A CPU", "governor": None}, "spark": {"version": "4.3.0"}}},
        "clusters_min": 10,
        "latencies": [
            ["latency, ms", "p50", "p95", "p99", "p99.9", "p99.99", "max"],
            ["intended send to receipt", "4.42 (4.10–4.90; 12)", "45.41 (12.00–129.00; 11)", "316.16", "–", "–",
             "514.00"],
            ["  hot probes", "4.40 (4.00–4.90; 12)", "45.00", "– (6 clusters)", "–", "–", "514.00"],
        ],
        "anomalies": ["the job's JVM collected for 250 ms within a second, at 12:00:30 UTC"],
        "charts": {
            "cpus": {"lines": ["machine", "job"], "width_s": 1, "rows": rows},
            "pressure": {"lines": ["waited for CPU"], "width_s": 1, "rows": [row[:2] for row in rows]},
        },
    }  # fmt: skip


@pytest.fixture
def report(run: SyntheticRun, tmp_path: Path) -> str:
    path = tmp_path / "report.html"
    path.write_text(report_file(as_json(facts(run)), json.dumps(run.data())))
    return path.as_uri()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_report_is_drawn_from_its_file_alone(watched: Open, report: str, theme: str, width: int) -> None:
    watched_page = watched(width=width, color_scheme=theme, offline=True)

    page = watched_page.open(report, until="canvas")

    assert [text.split("\n")[0].strip() for text in page.locator("figure h3").all_inner_texts()] != []
    shown = " ".join(page.locator("figure h3").all_inner_texts())
    assert [title for title in CHARTS if title not in shown] == []
    assert page.locator("figure canvas").count() >= len(CHARTS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert blank_canvases(page) == []
    assert watched_page.complaints == []
    assert watched_page.requests == [report]


def test_report_says_verdict_evidence_anomalies_and_environment(watched: Open, report: str) -> None:
    page = watched().open(report, until="canvas")

    assert page.locator("h1").inner_text() == "quick void (rig)"
    assert page.locator(".rig").inner_text() == "the rig's floor here: p50 2.10 ms"
    assert page.locator(".verdicts h2").all_inner_texts() == [
        "Correct: yes", "Valid: no", "Meets the objectives: none asked for",
    ]  # fmt: skip
    assert page.locator(".verdicts li[data-holds=false]").inner_text() == "41.0 MB were read from swap <b>"
    assert page.locator(".report-list").inner_text() == facts_anomaly()
    assert page.locator(".facts dt", has_text="model").count() == 1
    assert "A CPU" in page.locator(".facts").inner_text()
    assert "19,990" in page.locator(".figures").inner_text()


def test_headline_is_that_of_the_result_and_says_so(watched: Open, report: str) -> None:
    page = watched().open(report, until="canvas")

    assert [page.locator(".figures > div").nth(at).inner_text().split("\n") for at in (0, 2, 3, 5)] == [
        ["latency p50", "4.42 ms", "result"],
        ["p99", "316.2 ms"],
        ["p99.9", "n too small"],
        ["max", "514.0 ms", "of 1,099 samples"],
    ]


def test_report_begins_with_why_and_leads_from_a_second_to_its_orders(watched: Open, report: str) -> None:
    page = watched().open(report, until="canvas")

    assert page.locator(".why .sentence").inner_text().lower() == f"{SENTENCE.lower()}."
    assert key_figures(page)["p99 between boundaries"] == "31.1 ms"
    assert page.locator(".orders tbody tr").count() == 7

    page.locator(".worst tbody tr").nth(1).click()

    assert page.locator(".orders tbody tr th").all_inner_texts() == ["4044 AAPL", "5000 AAPL"]
    assert page.locator(".worst tr.chosen th").inner_text() == "0:44"
    assert not page.get_by_text("p99 between boundaries").is_visible()
    assert "of this range" in page.locator(".figures").inner_text()

    page.keyboard.press("ArrowDown")
    assert page.locator(".worst tr.chosen th").inner_text() == "0:44", "only the table takes arrows"
    page.locator(".worst button").nth(1).focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".worst tr.chosen th").inner_text() == "0:54"


def test_report_of_an_older_run_has_all_but_the_causes(watched: Open, run: SyntheticRun, tmp_path: Path) -> None:
    older = facts(run)
    del older["result"]["causes"], older["anomalies"]
    path = tmp_path / "report.html"
    path.write_text(report_file(as_json(older), json.dumps(run.data())))
    watching = watched()

    page = watching.open(path.as_uri(), until="canvas")

    assert "did not look for causes" in page.locator(".why .sentence").inner_text()
    assert page.locator(".worst").is_hidden()
    assert watching.complaints == []


def test_what_holds_is_folded_and_what_fails_is_open(watched: Open, report: str) -> None:
    page = watched().open(report, until="canvas")

    assert page.locator(".verdicts details").evaluate_all("(all) => all.map((each) => each.open)") == [
        False,
        True,
        False,
    ]
    assert page.locator(".verdicts summary .sub").all_inner_texts() == ["1 of 1 hold", "0 of 1 hold"]
    page.locator(".verdicts summary").first.click()
    assert page.get_by_text("no alerts are missing").is_visible()


def facts_anomaly() -> str:
    return "the job's JVM collected for 250 ms within a second, at 12:00:30 UTC"


def test_every_chart_of_the_report_has_a_table(watched: Open, report: str) -> None:
    page = watched().open(report, until="canvas")

    page.get_by_role("button", name="tables", exact=True).click()

    assert page.locator("figure .twin:visible").count() == len(CHARTS)
    assert rows_of(page, "CPUs in use") > 10


def rows_of(page: Page, title: str) -> int:
    return page.locator("figure", has_text=title).locator("tbody tr").count()


def test_report_of_a_run_that_pushed_nothing_says_so(watched: Open, run: SyntheticRun, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report_file(as_json(facts(run)), None))

    page = watched().open(path.as_uri(), until=".notice")

    assert "Nothing was measured" in page.locator("p.notice").inner_text()


def test_a_tail_of_few_clusters_is_a_mark_among_the_key_figures(
    run: SyntheticRun, tmp_path: Path, watched: Open
) -> None:
    few = facts(run)
    few["latencies"][1][3] = "– (6 clusters)"
    path = tmp_path / "report.html"
    path.write_text(report_file(as_json(few), json.dumps(run.data())))

    page = watched().open(path.as_uri(), until="canvas")

    assert list(key_figures(page).items())[1:3] == [("p95", "45.4 ms"), ("p99", "– (6 clusters)")]
    rows = table(page, "Latencies of the result, with their 95% intervals")
    assert rows["intended send to receipt"]["p99"] == "– (6 clusters)"
    assert rows["intended send to receipt"]["p95"] == "45.41 (12.00–129.00; 11)"


def test_the_legend_of_the_curves_marks_a_tail_of_few_clusters(
    run: SyntheticRun, tmp_path: Path, watched: Open
) -> None:
    values = HdrCounts()
    values.record(np.full(2_000, 5_000))
    told = [2_000, values.sum_us, 5_000, 5_000, 0, 0, counts_text(values)]
    few = {"name": END_TO_END, "labels": {"phase": "measured"}, "total": told, "too_few": {"p99": 6}}
    data = run.data()
    judged = {"from_unix_ms": BEGIN_MS, "to_unix_ms": BEGIN_MS + 60_000, "series": [few], "rows": [["latency, ms"]]}
    verdict = {"unix_ms": BEGIN_MS + 90_000, "kind": "verdict", "name": "passed", "text": "", "failed": []}
    data["notes"] = [*data["notes"], {**verdict, "judged": judged}]
    path = tmp_path / "report.html"
    path.write_text(report_file(as_json(facts(run)), json.dumps(data)))

    page = watched().open(path.as_uri(), until="canvas")

    curves = page.locator("figure", has_text="Percentile curves").locator(".legend .key").all_inner_texts()
    assert curves[0] == "p99"
    assert curves[1].split("\n") == ["intended to receipt", "–"]
    assert "ms" in curves[3]


@pytest.mark.parametrize("width", [1905, 1920])
def test_the_legend_of_the_curves_has_one_row_on_a_wide_screen(watched: Open, report: str, width: int) -> None:
    page = watched(width=width).open(report, until="canvas")

    keys = page.locator("figure", has_text="Percentile curves").locator(".legend .key")
    assert keys.count() == 4
    assert len({each.evaluate("(key) => key.offsetTop") for each in keys.all()}) == 1


def test_a_backlog_that_is_not_known_over_time_says_why(run: SyntheticRun, tmp_path: Path, watched: Open) -> None:
    data = run.data()
    data["series"] = [each for each in data["series"] if each["name"] != "market_spread_job_messages_processed_total"]
    path = tmp_path / "report.html"
    path.write_text(report_file(as_json(facts(run)), json.dumps(data)))

    page = watched().open(path.as_uri(), until="canvas")

    assert page.locator("figure", has_text="Backlog").locator(".summary").inner_text() == (
        "The job did not push how many messages it has processed, so this is not known over time; "
        "the run controller saw 1,234 messages at most."
    )
    assert key_figures(page)["backlog, most"] == "1,234 messages"
    assert "as the controller saw" in page.locator(".figures").inner_text()


def test_keys_lead_from_a_second_to_its_orders_and_to_what_it_met(watched: Open, report: str) -> None:
    page = watched().open(report, until="canvas")

    page.keyboard.press("n")
    page.keyboard.press("s")
    expect(page.get_by_role("region", name="Slowest orders")).to_be_focused()
    assert page.locator(".orders tbody tr th").all_inner_texts() == ["4034 AAPL"]
    page.keyboard.press("w")

    expect(page.locator(".worst tr.chosen button")).to_be_focused()


def test_a_stage_has_one_colour_wherever_it_is_drawn(watched: Open, report: str) -> None:
    page = watched().open(report, until="canvas")

    def colours(name: str) -> list[str]:
        bars = page.locator(".waterfall", has_text=name).locator("tbody tr:not(.whole) .bar")
        found: list[str] = bars.evaluate_all("(all) => all.map((bar) => getComputedStyle(bar).backgroundColor)")
        return found

    stages = colours("Where p50 goes")
    assert len(set(stages)) == 4
    assert colours("intended → sent")[:4] == stages


def test_what_saves_the_orders_covers_no_title_on_a_small_screen(watched: Open, report: str) -> None:
    page = watched(width=390).open(report, until="canvas")

    tools, title = (page.locator(f".orders {part}").bounding_box() for part in (".tools", "caption"))
    assert tools
    assert title
    assert tools["y"] + tools["height"] <= title["y"]
