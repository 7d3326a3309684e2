"""What a launch does around a run: notes, the metrics page, and the end of all processes, in this order."""

import io
import json
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from rich.console import Console

from market_spread.common.errors import RunFailedError, UsageError
from market_spread.controller.analysis.evidence import Cause, Verdict
from market_spread.controller.analysis.observed import Observed, RunProgress
from market_spread.controller.clients.services import Addresses
from market_spread.controller.deploy.base import Environment
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.run_folder import RunFolder, State
from market_spread.controller.session import execute
from market_spread.controller.session.execute import launch
from market_spread.controller.session.metrics_page import RunNotes
from market_spread.metrics_aggregator.http.archive import Archive
from market_spread.metrics_aggregator.model.push_validation import check_note
from market_spread.v1.limits_pb2 import RunLimits
from market_spread.v1.metrics_pb2 import NoteRequest
from tests.support.clock import ManualClock
from tests.support.paths import QUICK

ADDRESSES = Addresses("b", "s", "r", "j", "127.0.0.1:5", "http://127.0.0.1:6")


class FakeResult:
    run_id = "20260101-120000-quick"
    verdict = Verdict.VOID
    cause = Cause.RIG
    outcome = "void (rig)"
    reasons = ("the generator was late", "the run was interrupted")
    decisive = ("late_generator",)
    too_few_clusters: ClassVar[dict[str, dict[str, int]]] = {}
    verdicts: ClassVar[dict[str, Any]] = {
        "correct": {
            "evidence": [{"check": "missing", "holds": False, "text": "3 alerts are missing", "cause": "system"}]
        },
        "valid": {
            "evidence": [
                {"check": "late_generator", "holds": False, "text": "the generator was late", "cause": "rig"},
                {"check": "swap", "holds": True, "text": "nothing was swapped", "cause": "rig"},
            ]
        },
        "objectives": {
            "evidence": [{"check": "rate", "holds": None, "text": "no rate was achieved", "cause": "system"}]
        },
    }

    def to_json(self) -> str:
        return json.dumps({"verdict": self.verdict.value})


class Story:
    """What happened, in order; and the fakes that tell it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, fails: Exception | None = None) -> None:
        self.told: list[str] = []
        self.is_stuck = False
        self.text = io.StringIO()
        self.console = Console(file=self.text, width=200)
        story, tell = self, self.told.append

        class FakeEnvironment:
            def __init__(self, run_id: str, folder: Path) -> None:
                story.run_folder = folder

            def stop_all_but_aggregator(self) -> None:
                tell("others stopped")

            def stop(self) -> None:
                tell("all stopped")

            def how_to_watch(self, folder: Path, addresses: Addresses) -> str:
                return f"to watch {addresses.aggregator}: look into {folder.name}"

            is_new = True

            def host(self) -> None:
                return None

            def process_ids(self) -> dict[str, int]:
                return {}

            def capture(self, logs: Path) -> None:
                tell("logs captured")

        class FakeRun:
            def __init__(self, *_: Any, show: Callable[[RunProgress], None], on_started: Any, **__: Any) -> None:
                self._show, self._on_started = show, on_started

            def carry_out(self) -> Observed:
                self._show(RunProgress("starting", 0.0))
                self._on_started(ADDRESSES)
                if fails is not None:
                    raise fails
                self._show(RunProgress("measuring", 1.0))
                return Observed(started=datetime.now(UTC), starts_unix_ns={"measured": 1_000})

        class FakeNotes:
            waiting: tuple[NoteRequest, ...] = ()
            dropped = 0
            loss = RunNotes.loss

            def __init__(self, run_id: str, *, clock: object) -> None: ...

            def say(
                self, kind: str, name: str, text: str = "", *, limits: RunLimits | None = None,
                phases_ms: Mapping[str, int] | None = None,
            ) -> None:  # fmt: skip
                tell(f"{kind}: {name}" + (f", {limits.late_us / 1000:g} ms" if limits else ""))

            def tell(self, note: NoteRequest) -> None:
                if note.kind == "result":
                    check_note(note, note.unix_ns)
                    tell(f"result: {json.loads(note.text)['verdict']}")
                    return
                failed = [(each.check, each.text, each.cause) for each in note.judgement.failed]
                tell(f"{note.kind}: {note.judgement.outcome} ({note.text}), failed {failed}")
                assert (note.name, note.judgement.cause) == ("void", "rig")
                self.waiting = (note,) if story.is_stuck else ()

            def follow(self, progress: RunProgress) -> None:
                self.say("phase", progress.phase)

            def start(self, address: str, identity: object) -> None:
                tell(f"notes to {address}")

            def close(self) -> None:
                tell("notes closed")

        self.environment_of = cast(Callable[[str, Path], Environment], FakeEnvironment)
        for name, fake in (("Run", FakeRun), ("RunNotes", FakeNotes)):
            monkeypatch.setattr(execute, name, fake)
        monkeypatch.setattr(execute, "finish", lambda *_, **__: FakeResult())
        monkeypatch.setattr(execute, "write_report", self.report)
        monkeypatch.setattr(execute, "result_table", lambda _: "the result")
        monkeypatch.setattr(execute, "export_page", self.export)
        self.run_folder: Path | None = None

    def export(self, address: str, run_id: str, folder: Path) -> Path:
        self.told.append(f"page of {address}")
        return folder / "metrics.html"

    def report(self, folder: RunFolder, *_: object, **__: object) -> Path:
        self.told.append("report")
        return folder.report

    def launch(self, folder: Path, keep: Callable[[], None] | None = None) -> None:
        launch(
            plan_of_workload(read_workload(QUICK)),
            environment_of=self.environment_of,
            runs_folder=folder,
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
        "limits: quick, 250 ms",
        "plan: quick",
        "phase: starting",
        "notes to 127.0.0.1:5",
        "phase: measuring",
        "logs captured",
        "others stopped",
        "result: void",
        "verdict: void (rig) (the generator was late; the run was interrupted), "
        "failed [('late_generator', 'the generator was late', 'rig')]",
        "notes closed",
        "page of http://127.0.0.1:6",
        "report",
        "notes closed",
        "all stopped",
    ]
    assert story.run_folder is not None
    assert story.run_folder.parent == tmp_path.resolve()
    assert f"to watch 127.0.0.1:5: look into {story.run_folder.name}\n" in story.text.getvalue()
    assert "metrics page: http://127.0.0.1:6\n" in story.text.getvalue()
    assert story.text.getvalue().rstrip().endswith("report.html")


PIPELINE = """
from market_spread.streaming import Map, Sink, Source, Text

def words():
    cut = Map("cut " + "x" * {letters}, {{"word": lambda row: row.text}})
    return Source("words", Text()).to(cut).to_sink(Sink("counts", Text("{{word}}")), name="words")
"""


@pytest.mark.parametrize("letters", [2, 9000])
def test_of_a_system_its_kind_and_its_steps_are_noted_as_far_as_a_note_has_room(tmp_path: Path, letters: int) -> None:
    (tmp_path / "pipeline.py").write_text(PIPELINE.format(letters=letters))
    (tmp_path / "words.txt").write_text("one\ntwo\n")
    (tmp_path / "workload.yaml").write_text(
        "{name: words, seed: 1, load: {profile: constant, messages_per_s: 10, duration_s: 10}, "
        "warm_up: {duration_s: 4, settle_s: 2}, system: {pipeline: 'pipeline.py:words'}, "
        "input: [{topic: words, from: {file: words.txt}}], output: [{topic: counts}]}"
    )
    notes = RunNotes("r1", clock=ManualClock(1))

    plan = plan_of_workload(read_workload(tmp_path / "workload.yaml"))
    execute._introduce(plan, notes, is_here=True)

    (note,) = (note for note in notes.waiting if note.kind == "system")
    check_note(note, note.unix_ns)
    steps = f"words\n  source words: text string\n    map cut {'x' * letters}\n  sink counts"
    assert (note.name, note.text) == ("pipeline", steps[:2000])

    execute._introduce(plan, elsewhere := RunNotes("r1", clock=ManualClock(1)), is_here=False)
    assert [(note.name, note.text) for note in elsewhere.waiting if note.kind == "system"] == [("pipeline", "")]


def test_of_our_own_application_no_system_is_noted() -> None:
    notes = RunNotes("r1", clock=ManualClock())

    execute._introduce(plan_of_workload(read_workload(QUICK)), notes, is_here=True)

    assert [note.kind for note in notes.waiting] == ["title", "limits", "plan"]


def test_how_long_the_phases_are_to_last_is_noted() -> None:
    notes, workload = RunNotes("r1", clock=ManualClock(1)), read_workload(QUICK)

    execute._introduce(plan_of_workload(workload), notes, is_here=True)

    *_, note = notes.waiting
    check_note(note, note.unix_ns)
    assert (note.kind, note.name) == ("plan", "quick")
    assert dict(note.phases_ms) == {"warming up": workload.warm_up.duration_s * 1000, "measuring": 60_000}


def test_kept_page_is_served_until_told_and_then_all_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch)

    story.launch(tmp_path, keep=lambda: story.told.append("kept"))

    assert story.told[-4:] == ["report", "kept", "notes closed", "all stopped"]
    assert "metrics page: http://127.0.0.1:6 (until Ctrl-C)" in story.text.getvalue()


def test_page_that_cannot_be_written_spoils_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch)

    def failing(*_: object) -> Path:
        raise RunFailedError("the metrics page could not be written: Connection refused")

    monkeypatch.setattr(execute, "export_page", failing)

    story.launch(tmp_path)

    assert "the metrics page could not be written: Connection refused" in story.text.getvalue()
    assert story.told[-1] == "all stopped"


def test_a_verdict_that_the_aggregator_does_not_take_is_said_and_is_in_the_log_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(monkeypatch)
    story.is_stuck = True

    story.launch(tmp_path)

    assert "the metrics aggregator did not take 1 note within 2 s" in story.text.getvalue()
    (folder,) = tmp_path.iterdir()
    (head,) = Archive(tmp_path, clock=ManualClock(), history_bytes_max=10**6).heads()
    assert (head["run_id"], head["verdict"], head["outcome"]) == (folder.name, "void", "void (rig)")
    assert "run-data" in (folder / "metrics.html").read_text()
    assert story.text.getvalue().rstrip().endswith("metrics.html")


def test_all_is_stopped_when_the_run_cannot_be_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch, fails=UsageError("the job did not start"))

    with pytest.raises(UsageError):
        story.launch(tmp_path)

    assert story.told[-2:] == ["notes closed", "all stopped"]


def test_a_failure_names_its_step_to_the_user_and_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch, fails=UsageError("the job did not start"))

    with pytest.raises(UsageError, match=r"^the job did not start \(step: starting\)$"):
        story.launch(tmp_path)

    (folder,) = tmp_path.iterdir()
    state = State.read(RunFolder(folder).state)
    assert state is not None
    assert (state["step"], state["error"]) == ("starting", "the job did not start (step: starting)")


def test_a_run_that_is_done_says_so_and_has_its_workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Story(monkeypatch).launch(tmp_path)

    (path,) = tmp_path.iterdir()
    folder = RunFolder(path)
    state = State.read(folder.state)
    assert state is not None
    assert [step["name"] for step in state["steps"]] == ["starting", "measuring", "done"]
    assert read_workload(folder.workload) == read_workload(QUICK)
