"""The page of the real aggregator: what is pushed to it stands on it, also after a kill and another start."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from market_spread.common.config import inherited_environment, to_environment
from market_spread.common.grpc.calls import channel_to
from market_spread.metrics_aggregator.config import AggregatorConfig
from market_spread.v1.limits_pb2 import RunLimits
from market_spread.v1.metrics_pb2 import NoteRequest
from market_spread.v1.metrics_pb2_grpc import MetricsStub
from tests.browser.conftest import Open
from tests.browser.page_fixtures import blank_canvases, table
from tests.browser.site_fixtures import POLICY
from tests.browser.synthetic import BEGIN_MS, SyntheticRun
from tests.browser.test_figures import END_TO_END, MEASURED, SERVICE, checked_row

STARTED_S = 20.0


@dataclass
class Aggregator:
    """The process, the run that is pushed to it, and how far it has come."""

    config: AggregatorConfig
    run: SyntheticRun
    begin_ms: int
    pushed_s: int = 0

    def start(self) -> None:
        assert self.config.ports_file is not None
        self.config.ports_file.unlink(missing_ok=True)
        environment = {**inherited_environment(), **to_environment(self.config)}
        self.process = subprocess.Popen([sys.executable, "-m", "market_spread.metrics_aggregator"], env=environment)
        deadline = time.monotonic() + STARTED_S
        while not self.config.ports_file.exists():
            assert self.process.poll() is None
            assert time.monotonic() < deadline, f"the aggregator did not start within {STARTED_S:g} s"
            time.sleep(0.05)
        ports = json.loads(self.config.ports_file.read_text())
        self.config = replace(self.config, http_port=ports["http"], grpc_port=ports["grpc"])

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.config.http_port}/"

    def push_until(self, seconds: int) -> None:
        """Push what the processes measured until that second, and note the phases."""
        with channel_to(f"127.0.0.1:{self.config.grpc_port}") as channel:
            stub = MetricsStub(channel)
            self._note(stub, "title", "quick: 20,000 messages/s", 0)
            for note in self.run.notes(self.pushed_s, seconds):
                limits = RunLimits(**note["limits"]) if "limits" in note else None
                self._note(stub, note["kind"], note["name"], note["unix_ms"] - BEGIN_MS, note["text"], limits)
            pushes = [
                request
                for second in range(self.pushed_s, seconds)
                for request in self.run.pushes(second, begin_ms=self.begin_ms)
            ]
            answers = list(stub.Push(iter(pushes), timeout=30, wait_for_ready=True))
            assert [answer.refusal for answer in answers] == [""] * len(pushes)
        self.pushed_s = seconds

    def _note(
        self,
        stub: MetricsStub,
        kind: str,
        name: str,
        after_ms: float,
        text: str = "",
        limits: RunLimits | None = None,
    ) -> None:
        unix_ns = round(self.begin_ms + after_ms) * 1_000_000
        note = NoteRequest(run_id=self.run.run_id, unix_ns=unix_ns, kind=kind, name=name, text=text, limits=limits)
        stub.Note(note, timeout=5, wait_for_ready=True)


@pytest.fixture(scope="module")
def calm() -> SyntheticRun:
    return SyntheticRun(live=True, trouble=False)


@pytest.fixture
def aggregator(tmp_path: Path, calm: SyntheticRun) -> Iterator[Aggregator]:
    config = AggregatorConfig(ports_file=tmp_path / "ports.json", runs_folder=tmp_path / "runs")
    begin_ms = round(time.time() * 1000) - 95_000
    aggregator = Aggregator(config, calm, begin_ms)
    aggregator.start()
    yield aggregator
    aggregator.stop()


def counted(page: Page, samples: int, timeout: float = 10_000) -> None:
    expect(page.locator(".figures")).to_contain_text(f"of {samples:,} samples", timeout=timeout)


def test_what_was_pushed_stands_on_the_page(aggregator: Aggregator, calm: SyntheticRun, watched: Open) -> None:
    aggregator.push_until(90)
    watching = watched()
    page = watching.open(aggregator.url)
    counted(page, 12_000)

    triple = table(page, "The triple of latencies")
    checked_row(triple["Intended send to receipt"], calm.values(END_TO_END, MEASURED))
    checked_row(triple["Actual send to receipt"], calm.values(SERVICE, MEASURED))
    assert blank_canvases(page) == []
    assert watching.complaints == []
    assert all(address.startswith((aggregator.url, "data:")) for address in watching.requests)
    assert httpx.get(aggregator.url).headers["content-security-policy"] == POLICY


def test_range_of_the_page_is_that_of_the_pushes(aggregator: Aggregator, calm: SyntheticRun, watched: Open) -> None:
    aggregator.push_until(90)
    begin, moved = aggregator.begin_ms, aggregator.begin_ms - 1_764_000_000_000
    page = watched().open(f"{aggregator.url}#/overview?range={begin + 32_000}-{begin + 52_000}")
    values = calm.values(END_TO_END, MEASURED, begin + 32_000 - moved, begin + 52_000 - moved)
    counted(page, len(values))

    checked_row(table(page, "The triple of latencies")["Intended send to receipt"], values)


def test_page_goes_on_after_the_aggregator_was_killed(
    aggregator: Aggregator, calm: SyntheticRun, watched: Open
) -> None:
    aggregator.push_until(40)
    page = watched().open(aggregator.url)
    counted(page, 3_000)

    aggregator.stop()
    expect(page.locator(".state b")).to_have_text("disconnected", timeout=15_000)
    aggregator.start()
    aggregator.push_until(50)

    counted(page, 5_000, timeout=30_000)
    values = calm.values(END_TO_END, MEASURED, 0, 1_764_000_000_000 + 50_900)
    checked_row(table(page, "The triple of latencies")["Intended send to receipt"], values)


def test_exported_run_has_the_same_figures(aggregator: Aggregator, watched: Open, tmp_path: Path) -> None:
    aggregator.push_until(90)
    page = watched().open(aggregator.url)
    counted(page, 12_000)
    answer = httpx.get(f"{aggregator.url}api/v1/runs/{aggregator.run.run_id}/export", timeout=30)
    path = tmp_path / "run.html"
    path.write_bytes(answer.content)

    file = watched().open(path.as_uri())

    assert "attachment" in answer.headers["content-disposition"]
    assert table(file, "The triple of latencies") == table(page, "The triple of latencies")
