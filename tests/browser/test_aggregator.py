"""The page of the real aggregator: what is pushed to it stands on it, also after a kill and another start."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from market_spread.common.grpc.calls import channel_to
from market_spread.v1.limits_pb2 import RunLimits
from market_spread.v1.metrics_pb2 import NoteRequest
from market_spread.v1.metrics_pb2_grpc import MetricsStub
from tests.browser.conftest import Open
from tests.browser.page_fixtures import blank_canvases, table
from tests.browser.site_fixtures import POLICY
from tests.browser.synthetic import BEGIN_MS, SyntheticRun
from tests.browser.test_figures import END_TO_END, MEASURED, SERVICE, checked_row
from tests.support.aggregators import Aggregator, Launch, launcher


@dataclass
class Pushed:
    """A run that is pushed to an aggregator, and how far it has come."""

    aggregator: Aggregator
    run: SyntheticRun
    begin_ms: int
    pushed_s: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.aggregator.http_port}/"

    def push_until(self, seconds: int) -> None:
        """Push what the processes measured until that second, and note the phases."""
        with channel_to(self.aggregator.address) as channel:
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
    return SyntheticRun(live=True, problem=False)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    with launcher(tmp_path) as launched:
        yield launched


@pytest.fixture
def pushed(launch: Launch, tmp_path: Path, calm: SyntheticRun) -> Pushed:
    return Pushed(launch(runs_folder=tmp_path / "runs"), calm, begin_ms=round(time.time() * 1000) - 95_000)


def counted(page: Page, samples: int, timeout: float = 10_000) -> None:
    expect(page.locator(".figures")).to_contain_text(f"of {samples:,} samples", timeout=timeout)


def test_what_was_pushed_stands_on_the_page(pushed: Pushed, calm: SyntheticRun, watched: Open) -> None:
    pushed.push_until(90)
    watching = watched()
    page = watching.open(pushed.url)
    counted(page, 12_000)

    triple = table(page, "The triple of latencies")
    checked_row(triple["Intended send to receipt"], calm.values(END_TO_END, MEASURED))
    checked_row(triple["Actual send to receipt"], calm.values(SERVICE, MEASURED))
    assert blank_canvases(page) == []
    assert watching.complaints == []
    assert all(address.startswith((pushed.url, "data:")) for address in watching.requests)
    assert httpx.get(pushed.url).headers["content-security-policy"] == POLICY


def test_range_of_the_page_is_that_of_the_pushes(pushed: Pushed, calm: SyntheticRun, watched: Open) -> None:
    pushed.push_until(90)
    begin, moved = pushed.begin_ms, pushed.begin_ms - 1_764_000_000_000
    page = watched().open(f"{pushed.url}#/overview?range={begin + 32_000}-{begin + 52_000}")
    values = calm.values(END_TO_END, MEASURED, begin + 32_000 - moved, begin + 52_000 - moved)
    counted(page, len(values))

    checked_row(table(page, "The triple of latencies")["Intended send to receipt"], values)


def test_page_goes_on_after_the_aggregator_was_killed(
    launch: Launch, pushed: Pushed, calm: SyntheticRun, watched: Open, tmp_path: Path
) -> None:
    pushed.push_until(40)
    page = watched().open(pushed.url)
    counted(page, 3_000)

    killed = pushed.aggregator
    killed.kill()
    expect(page.locator(".state b")).to_have_text("disconnected", timeout=15_000)
    pushed.aggregator = launch(killed.grpc_port, killed.http_port, runs_folder=tmp_path / "runs")
    pushed.push_until(50)

    counted(page, 5_000, timeout=30_000)
    values = calm.values(END_TO_END, MEASURED, 0, 1_764_000_000_000 + 50_900)
    checked_row(table(page, "The triple of latencies")["Intended send to receipt"], values)


def test_exported_run_has_the_same_figures(pushed: Pushed, watched: Open, tmp_path: Path) -> None:
    pushed.push_until(90)
    page = watched().open(pushed.url)
    counted(page, 12_000)
    answer = httpx.get(f"{pushed.url}api/v1/runs/{pushed.run.run_id}/export", timeout=30)
    path = tmp_path / "run.html"
    path.write_bytes(answer.content)

    file = watched().open(path.as_uri())

    assert "attachment" in answer.headers["content-disposition"]
    assert table(file, "The triple of latencies") == table(page, "The triple of latencies")
