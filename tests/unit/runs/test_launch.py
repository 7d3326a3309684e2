"""What a launch does around a run: notes, the metrics page, and the end of all processes, in this order."""

import io
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from market_spread.common.clock import ManualClock
from market_spread.common.errors import RunFailedError, UsageError
from market_spread.runs import launch as launch_module
from market_spread.runs.ensemble import Addresses
from market_spread.runs.jars import JarCache
from market_spread.runs.java import Java
from market_spread.runs.launch import launch
from market_spread.runs.plan import plan_of_workload
from market_spread.runs.result import Verdict
from market_spread.runs.run import Observed, Progress
from market_spread.runs.workload import read_workload

QUICK = Path(__file__).parents[3] / "loadgen" / "workloads" / "quick.yaml"
ADDRESSES = Addresses("b", "s", "r", "j", "127.0.0.1:5", "http://127.0.0.1:6")


class FakeResult:
    verdict = Verdict.VOID
    reasons = ("the generator was late", "the run was interrupted")

    def write(self, folder: Path) -> Path:
        return folder / "result.json"


class Story:
    """What happened, in order; and the fakes that tell it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, fails: Exception | None = None) -> None:
        self.told: list[str] = []
        self.text = io.StringIO()
        self.console = Console(file=self.text, width=200)
        story, tell = self, self.told.append

        class FakeEnsemble:
            def __init__(self, **settings: Any) -> None:
                story.runs_folder = settings["runs_folder"]

            def stop_all_but_aggregator(self) -> None:
                tell("others stopped")

            def stop(self) -> None:
                tell("all stopped")

            def targets(self, addresses: Addresses) -> None:
                return None

        class FakeRun:
            def __init__(self, *_: Any, show: Callable[[Progress], None], on_started: Any, **__: Any) -> None:
                self._show, self._on_started = show, on_started

            def carry_out(self) -> Observed:
                self._show(Progress("starting", 0.0))
                self._on_started(ADDRESSES)
                if fails is not None:
                    raise fails
                self._show(Progress("measuring", 1.0))
                return Observed(started=datetime.now(UTC), starts_unix_ns={"measured": 1_000})

        class FakeNotes:
            def __init__(self, run_id: str, *, clock: object) -> None: ...

            def say(self, kind: str, name: str, text: str = "", *, unix_ns: int | None = None) -> None:
                tell(f"{kind}: {name}" + (f" ({text})" if text else "") + (f" at {unix_ns}" if unix_ns else ""))

            def follow(self, progress: Progress) -> None:
                self.say("phase", progress.phase)

            def start(self, address: str) -> None:
                tell(f"notes to {address}")

            def close(self) -> None:
                tell("notes closed")

        for name, fake in (("Ensemble", FakeEnsemble), ("Run", FakeRun), ("RunNotes", FakeNotes)):
            monkeypatch.setattr(launch_module, name, fake)
        monkeypatch.setattr(launch_module, "result_of", lambda *_: FakeResult())
        monkeypatch.setattr(launch_module, "result_table", lambda _: "the result")
        monkeypatch.setattr(launch_module, "write_evidence", lambda *_: None)
        monkeypatch.setattr(launch_module, "export_page", self.export)
        self.runs_folder: Path | None = None

    def export(self, address: str, run_id: str, folder: Path) -> Path:
        self.told.append(f"page of {address}")
        return folder / "metrics.html"

    def launch(self, folder: Path, keep: Callable[[], None] | None = None) -> None:
        launch(
            plan_of_workload(read_workload(QUICK)),
            runs_folder=folder,
            java=cast(Java, None),
            jars=cast(JarCache, None),
            clock=ManualClock(),
            console=self.console,
            interrupted=threading.Event(),
            keep=keep,
        )


def test_page_has_all_that_was_pushed_and_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch)

    story.launch(tmp_path)

    assert story.told == [
        "title: quick: 20,000 messages/s",
        "phase: starting",
        "notes to 127.0.0.1:5",
        "phase: measuring",
        "others stopped",
        "event: judged from here (the result's latencies are of orders due after this) at 5000001000",
        "verdict: void (the generator was late; the run was interrupted)",
        "notes closed",
        "page of http://127.0.0.1:6",
        "notes closed",
        "all stopped",
    ]
    assert story.runs_folder == tmp_path.resolve()
    assert "metrics page: http://127.0.0.1:6\n" in story.text.getvalue()
    assert story.text.getvalue().rstrip().endswith("metrics.html")


def test_kept_page_is_served_until_told_and_then_all_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch)

    story.launch(tmp_path, keep=lambda: story.told.append("kept"))

    assert story.told[-4:] == ["page of http://127.0.0.1:6", "kept", "notes closed", "all stopped"]
    assert "metrics page: http://127.0.0.1:6 (until Ctrl-C)" in story.text.getvalue()


def test_page_that_cannot_be_written_spoils_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch)

    def failing(*_: object) -> Path:
        raise RunFailedError("the metrics page could not be written: Connection refused")

    monkeypatch.setattr(launch_module, "export_page", failing)

    story.launch(tmp_path)

    assert "the metrics page could not be written: Connection refused" in story.text.getvalue()
    assert story.told[-1] == "all stopped"


def test_all_is_stopped_when_the_run_cannot_be_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch, fails=UsageError("the job did not start"))

    with pytest.raises(UsageError):
        story.launch(tmp_path)

    assert story.told[-2:] == ["notes closed", "all stopped"]
