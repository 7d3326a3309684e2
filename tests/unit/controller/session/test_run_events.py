"""What the run controller notes, and that it never waits for the aggregator."""

import threading
from collections.abc import Callable

import grpc
import pytest

from market_spread.common.clock import SystemClock
from market_spread.controller.analysis.observed import RunProgress
from market_spread.controller.plan.faults import Fault
from market_spread.controller.session.metrics_page import WAITING_MAX, RunNotes
from market_spread.v1.control_pb2 import JobStatusResponse
from market_spread.v1.limits_pb2 import FailedCheck, RunLimits
from market_spread.v1.metrics_pb2 import Judgement, NoteRequest, NoteResponse
from tests.support.clock import ManualClock

BEGIN = 1_700_000_000_000_000_000


class RefusalError(grpc.RpcError):
    def __init__(self, code: grpc.StatusCode) -> None:
        super().__init__()
        self._code = code

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return "no such phase"


class Aggregator:
    """Takes notes, or answers as it is told to a number of times before."""

    def __init__(self, *answers: grpc.StatusCode) -> None:
        self._answers = list(answers)
        self.taken: list[NoteRequest] = []
        self.calls = 0

    def Note(self, note: NoteRequest, *, timeout: float) -> NoteResponse:  # noqa: N802
        self.calls += 1
        if self._answers:
            raise RefusalError(self._answers.pop(0))
        self.taken.append(note)
        return NoteResponse()

    def names(self) -> list[str]:
        return [f"{note.kind}: {note.name}" for note in self.taken]


def start(notes: RunNotes, aggregator: Aggregator) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("market_spread.controller.session.metrics_page.MetricsStub", lambda channel: aggregator)
        notes.start("127.0.0.1:1")


def delivered(say: Callable[[RunNotes], None], aggregator: Aggregator) -> RunNotes:
    notes = RunNotes("r1", clock=SystemClock())
    say(notes)
    start(notes, aggregator)
    notes.close()
    return notes


def test_notes_come_in_order_with_the_time_when_they_were_said() -> None:
    clock, aggregator = ManualClock(BEGIN), Aggregator()
    notes = RunNotes("r1", clock=clock)
    notes.say("title", "quick: 20,000 messages/s")
    clock.advance_ns(5)
    notes.say("phase", "starting")

    start(notes, aggregator)
    clock.advance_ns(5)
    notes.tell(NoteRequest(unix_ns=BEGIN + 10, kind="verdict", name="passed", text="all is right"))
    notes.close()

    assert aggregator.names() == ["title: quick: 20,000 messages/s", "phase: starting", "verdict: passed"]
    assert [note.unix_ns for note in aggregator.taken] == [BEGIN, BEGIN + 5, BEGIN + 10]
    assert {note.run_id for note in aggregator.taken} == {"r1"}
    assert aggregator.taken[2].text == "all is right"


def test_limits_and_a_verdict_are_noted_as_they_are() -> None:
    aggregator, limits = Aggregator(), RunLimits(late_us=250_000, late_share_max=0.01)
    failed = FailedCheck(check="late_generator", text="late", cause="rig")
    judgement = Judgement(failed=[failed], outcome="void (rig)", from_unix_ns=BEGIN, to_unix_ns=BEGIN + 7)

    def say(notes: RunNotes) -> None:
        notes.say("limits", "quick", "in words", limits=limits)
        notes.tell(NoteRequest(unix_ns=BEGIN, kind="verdict", name="void", text="late", judgement=judgement))

    delivered(say, aggregator)

    first, second = aggregator.taken
    assert (first.kind, first.name, first.text, first.limits) == ("limits", "quick", "in words", limits)
    assert (second.run_id, second.name, second.judgement) == ("r1", "void", judgement)
    assert not second.HasField("limits")


def test_progress_is_noted_where_it_changes() -> None:
    def say(notes: RunNotes) -> None:
        for phase, restarts in (("starting", 0), ("starting", 0), ("measuring", 0), ("measuring", 1), ("measuring", 1)):
            notes.follow(RunProgress(phase, 0.0, job=JobStatusResponse(restarts=restarts)))

    aggregator = Aggregator()
    delivered(say, aggregator)

    assert aggregator.names() == ["phase: starting", "phase: measuring", "event: query restarted"]


def test_each_planned_fault_is_noted_once_at_its_begin() -> None:
    faults = tuple((BEGIN + at_s, Fault(at_s=at_s, do="kill", target="job")) for at_s in (3, 5))

    def say(notes: RunNotes) -> None:
        for begun in (0, 1, 1, 2):
            notes.follow(RunProgress("measuring", 0.0, faults=faults[:begun]))

    aggregator = Aggregator()
    delivered(say, aggregator)

    _, *noted = [(note.unix_ns, note.kind, note.name, note.text) for note in aggregator.taken]
    assert noted == [(BEGIN + at_s, "event", "planned fault", "kill of the job") for at_s in (3, 5)]


def test_a_note_is_sent_again_until_it_is_taken() -> None:
    aggregator = Aggregator(grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)

    notes = delivered(lambda notes: notes.say("phase", "starting"), aggregator)

    assert (aggregator.names(), aggregator.calls, notes.waiting) == (["phase: starting"], 3, ())


def test_a_note_that_is_refused_does_not_hold_up_the_next(caplog: pytest.LogCaptureFixture) -> None:
    def say(notes: RunNotes) -> None:
        notes.say("phrase", "starting")
        notes.say("phase", "starting")

    aggregator = Aggregator(grpc.StatusCode.INVALID_ARGUMENT)
    delivered(say, aggregator)

    assert aggregator.names() == ["phase: starting"]
    assert "the metrics aggregator refused the note 'starting': no such phase" in caplog.text


def test_notes_that_wait_are_bounded() -> None:
    notes = RunNotes("r1", clock=ManualClock())

    for number in range(WAITING_MAX + 3):
        notes.say("event", str(number))

    assert (len(notes.waiting), notes.dropped) == (WAITING_MAX, 3)


def test_close_ends_without_an_aggregator_and_twice() -> None:
    notes = RunNotes("r1", clock=ManualClock())
    notes.say("phase", "starting")

    notes.close()
    notes.close()

    assert [note.name for note in notes.waiting] == ["starting"]


def test_close_does_not_wait_for_an_aggregator_that_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("market_spread.controller.session.metrics_page.CLOSE_S", 0.05)
    stuck = threading.Event()

    class Stuck(Aggregator):
        def Note(self, note: NoteRequest, *, timeout: float) -> NoteResponse:  # noqa: N802
            stuck.wait(10)
            return NoteResponse()

    notes = RunNotes("r1", clock=SystemClock())
    notes.say("phase", "starting")
    start(notes, Stuck())

    notes.close()

    assert [note.name for note in notes.waiting] == ["starting"]
    stuck.set()
