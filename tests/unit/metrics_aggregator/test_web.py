"""The HTTP answers, without a network."""

import asyncio
from typing import Any

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from market_spread.common.clock import ManualClock
from market_spread.common.metric_names import (
    ALERTS,
    ALERTS_DUPLICATED,
    END_TO_END,
    INVALID_RECORDS,
    JOB_BATCH,
    JOB_COMMITTED,
    MESSAGES_SENT,
    METRICS,
)
from market_spread.common.recording import Recorder
from market_spread.metrics_aggregator.exposed import OWN_METRICS
from market_spread.metrics_aggregator.guard import Hosts, is_loopback_address
from market_spread.metrics_aggregator.store import Store
from market_spread.metrics_aggregator.web import web_app

START = 1_700_000_000_000_000_000


class Rig:
    def __init__(self) -> None:
        self.clock = ManualClock(START)
        self.store = Store()
        self.hosts = Hosts("0.0.0.0")
        self.receiver = Recorder(source="receiver-0", clock=self.clock, run_id="r1")
        self.sender = Recorder(source="sender-0", clock=self.clock, run_id="r1")

    def push_all(self) -> None:
        self.clock.advance_ns(1_000_000_000)
        for recorder in (self.receiver, self.sender):
            push = recorder.take()
            if push is not None:
                self.store.push(push)

    def get(self, path: str, method: str = "GET", **headers: str) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(
                web_app(self.store, self.clock, hosts=self.hosts), raise_app_exceptions=False
            )
            async with httpx.AsyncClient(transport=transport, base_url="http://aggregator") as client:
                return await client.request(method, path, headers=headers)

        return asyncio.run(ask())

    def json(self, path: str) -> Any:
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_healthz_answers(rig: Rig) -> None:
    answer = rig.get("/healthz")

    assert (answer.status_code, answer.text) == (200, "ok\n")


@pytest.mark.parametrize("path", ["/", "/api/v1/runs", "/metrics", "/nowhere", "/static/none.js"])
def test_every_answer_has_the_security_headers(rig: Rig, path: str) -> None:
    headers = rig.get(path).headers

    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-cache"


def test_page_and_its_files_are_served(rig: Rig) -> None:
    page = rig.get("/")

    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert rig.get("/", "HEAD").content == b""
    script = rig.get("/static/js/hdr.js")
    assert (script.status_code, script.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert rig.get("/static/../web.py").status_code == 404
    assert rig.get("/static/%2e%2e/web.py").status_code == 404


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8080", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8080", 200),
        ("[::1]", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:80", 403),
        ("", 403),
    ],
)
def test_bound_to_loopback_only_loopback_names_are_answered(rig: Rig, host: str, status: int) -> None:
    rig.hosts = Hosts("127.0.0.1", ["metrics.example"])

    answer = rig.get("/healthz", host=host)

    assert answer.status_code == status
    if status == 403:
        assert answer.json()["error"].startswith("the request names another host; open the page as one of localhost,")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("metrics.spread:8080", 200),
        ("METRICS.spread", 200),
        ("198.18.0.7:8080", 200),
        ("[fd00::7]:8080", 200),
        ("localhost:40404", 200),
        ("evil.example", 403),
        ("metrics.spread.evil.example", 403),
    ],
)
def test_bound_to_all_addresses_allowed_names_and_addresses_are_answered(rig: Rig, host: str, status: int) -> None:
    rig.hosts = Hosts("0.0.0.0", ["metrics.spread"])

    assert rig.get("/healthz", host=host).status_code == status


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("[::1]", True), ("127.8.0.1", True), ("0.0.0.0", False)],
)
def test_which_addresses_are_loopback(host: str, is_loopback: bool) -> None:
    assert is_loopback_address(host) is is_loopback


def test_metrics_have_every_series_and_the_aggregators_own(rig: Rig) -> None:
    rig.receiver.histogram(END_TO_END, phase="measured").record_us(np.array([100, -1, 4_000_000_000]))
    rig.sender.counter(MESSAGES_SENT, topic="nbbo", partition=0).add(7)
    rig.push_all()

    answer = rig.get("/metrics")

    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = {
        (sample.name, sample.labels.get("source")): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert found["market_spread_receiver_end_to_end_seconds_count", "receiver-0"] == 3
    assert found["market_spread_sender_messages_sent_total", "sender-0"] == 7
    assert found["market_spread_clock_skew_negative_total", "receiver-0"] == 1
    assert found["market_spread_aggregator_overflow_total", "receiver-0"] == 1
    assert found["market_spread_aggregator_pushes_total", "sender-0"] == 1
    assert found["market_spread_aggregator_series", None] == 2


def test_series_list_has_counts_and_pushes(rig: Rig) -> None:
    rig.receiver.histogram(END_TO_END, phase="measured").record_us(np.array([100, 200]))
    rig.receiver.gauge(JOB_BATCH).set(3)
    rig.push_all()

    answer = rig.json("/api/v1/series")

    assert answer["series"] == [
        {
            "name": "market_spread_job_batch_id",
            "kind": "gauge",
            "labels": {"source": "receiver-0", "run_id": "r1"},
            "intervals": 1,
            "value": 3.0,
        },
        {
            "name": "market_spread_receiver_end_to_end_seconds",
            "kind": "histogram",
            "labels": {"phase": "measured", "source": "receiver-0", "run_id": "r1"},
            "intervals": 1,
            "count": 2,
        },
    ]
    (source,) = answer["sources"]
    assert (source["source"], source["pushes"], source["duplicates"], source["missing"]) == ("receiver-0", 1, 0, 0)


def test_a_histogram_has_its_summary_counts_and_intervals(rig: Rig) -> None:
    handle = rig.receiver.histogram(END_TO_END, phase="measured")
    handle.record_us(np.array([100, 4096]))
    rig.push_all()
    handle.record_us(np.array([100]))
    rig.push_all()

    answer = rig.json(f"/api/v1/series/{END_TO_END.name}?phase=measured")

    (series,) = answer["series"]
    assert (series["count"], series["sum_us"], series["min_us"], series["max_us"]) == (3, 4296, 100, 4096)
    assert series["counts"] == [[100, 2], [3072, 1]]
    assert series["latency_ns"]["max"] == 4_096_000
    assert series["latency_ns"]["p50"] is None
    assert [(interval["count"], interval["max_us"]) for interval in series["intervals"]] == [(2, 4096), (1, 100)]
    assert series["intervals"][1]["end_unix_ns"] == START + 2_000_000_000


def test_labels_choose_among_series(rig: Rig) -> None:
    rig.receiver.counter(ALERTS, phase="measured").add(5)
    rig.receiver.counter(ALERTS, phase="warm_up").add(2)
    rig.push_all()

    answer = rig.json(f"/api/v1/series/{ALERTS.name}?phase=warm_up")

    assert [series["value"] for series in answer["series"]] == [2.0]


def test_summary_has_rates_latency_alerts_and_jobs(rig: Rig) -> None:
    rig.sender.counter(MESSAGES_SENT, topic="nbbo", partition=0).add(0)
    for _ in range(20):
        rig.sender.counter(MESSAGES_SENT, topic="nbbo", partition=0).add(600)
        rig.sender.counter(MESSAGES_SENT, topic="orders", partition=0).add(400)
        rig.receiver.histogram(END_TO_END, phase="measured").record_us(np.full(50, 2_000))
        rig.receiver.histogram(END_TO_END, phase="warm_up").record_us(np.full(50, 9_000))
        rig.receiver.counter(ALERTS, phase="measured").add(50)
        rig.push_all()
    rig.receiver.counter(ALERTS_DUPLICATED).add(2)
    rig.receiver.counter(INVALID_RECORDS, reason="wrong_length").add(1)
    rig.sender.gauge(JOB_BATCH).set(7)
    rig.sender.counter(JOB_COMMITTED).set(123)
    rig.push_all()

    answer = rig.json("/api/v1/summary")

    (run,) = answer["runs"]
    assert run["run_id"] == "r1"
    assert run["sources"] == ["receiver-0", "sender-0"]
    assert run["rates_per_s"][MESSAGES_SENT.name] == pytest.approx(900.0)
    assert run["latency"]["count"] == 1_000
    assert run["latency"]["ns"]["p99"] == 2_000_000
    assert run["latency"]["ns"]["p99.9"] is None
    assert run["alerts"] == {
        "by_phase": {"measured": 1_000.0},
        "duplicated": 2.0,
        "unreadable": 0,
        "invalid_by_reason": {"wrong_length": 1.0},
    }
    assert run["jobs"] == {"sender-0": {JOB_BATCH.name: 7.0, JOB_COMMITTED.name: 123.0}}
    assert answer["aggregator"]["pushes"] == 42


def test_an_empty_aggregator_has_no_runs(rig: Rig) -> None:
    answer = rig.json("/api/v1/summary")

    assert answer["runs"] == []
    assert set(answer["aggregator"].values()) == {0}


@pytest.mark.parametrize(
    ("path", "method", "status", "sentence"),
    [
        ("/nowhere", "GET", 404, "there is nothing at /nowhere"),
        ("/metrics", "POST", 405, "/metrics answers GET only"),
        ("/api/v1/series/x", "GET", 404, "x is no registered metric; /api/v1/series lists what there is"),
        (
            f"/api/v1/series/{ALERTS.name}?phase=none",
            "GET",
            404,
            f"nothing was pushed for {ALERTS.name} with the labels {{'phase': 'none'}}",
        ),
        (
            f"/api/v1/series/{ALERTS.name}?host=a",
            "GET",
            400,
            f"{ALERTS.name} has no label 'host'; it has phase, run_id, source",
        ),
    ],
)
def test_errors_are_json_with_one_sentence(rig: Rig, path: str, method: str, status: int, sentence: str) -> None:
    answer = rig.get(path, method)

    assert answer.status_code == status
    assert answer.json() == {"error": sentence}


def test_an_internal_error_is_one_sentence_too(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig.store, "epochs", lambda: 1 // 0)

    answer = rig.get("/api/v1/series")

    assert answer.status_code == 500
    assert answer.json() == {"error": "the request failed with ZeroDivisionError; the aggregator's log says why"}


def test_own_metrics_are_not_registered_for_pushes() -> None:
    assert not {metric.name for metric in OWN_METRICS} & METRICS.keys()


def test_a_request_that_names_two_hosts_is_refused() -> None:
    hosts = Hosts("127.0.0.1")
    ours, theirs = (b"host", b"localhost"), (b"host", b"evil.example")

    assert hosts.accept([ours])
    assert not hosts.accept([ours, theirs])
    assert not hosts.accept([theirs, ours])
    assert not hosts.accept([ours, ours])
    assert not hosts.accept([])
