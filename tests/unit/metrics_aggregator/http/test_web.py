"""The HTTP answers, without a network."""

import asyncio
from typing import Any

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from market_spread.common.telemetry.metrics import END_TO_END, MESSAGES_SENT, METRICS
from market_spread.common.telemetry.recorder import Recorder
from market_spread.metrics_aggregator.http.app import web_app
from market_spread.metrics_aggregator.http.security import Hosts
from market_spread.metrics_aggregator.model.store import Store
from tests.support.clock import ManualClock
from tests.support.own_metrics import OWN_METRICS

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
            for push in recorder.take():
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
    script = rig.get("/static/app.js")
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
    assert Hosts(host).accept([(b"host", b"evil.example")]) is not is_loopback


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


@pytest.mark.parametrize(
    ("path", "method", "status", "sentence"),
    [
        ("/nowhere", "GET", 404, "there is nothing at /nowhere"),
        ("/metrics", "POST", 405, "/metrics answers GET only"),
        ("/api/v1/runs/x/data", "GET", 404, "there is no run 'x'; /api/v1/runs lists those that there are"),
    ],
)
def test_errors_are_json_with_one_sentence(rig: Rig, path: str, method: str, status: int, sentence: str) -> None:
    answer = rig.get(path, method)

    assert answer.status_code == status
    assert answer.json() == {"error": sentence}


def test_an_internal_error_is_one_sentence_too(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig.store, "runs", lambda: 1 // 0)

    answer = rig.get("/api/v1/runs")

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
