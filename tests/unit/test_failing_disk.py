"""What is on disk after a kill, a full disk or a broken one, at each single step of what is written there.

The real classes write into a real folder. After a kill another process reads: what was acknowledged is there, what was
not is there whole or not at all, and the work goes on.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from market_spread.common.errors import MarketSpreadError, UnavailableError
from market_spread.common.telemetry.metrics import FRAMES_LATE
from market_spread.common.wire.codec import encode_ledger
from market_spread.common.wire.layout import ALERT
from market_spread.controller import run_folder
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.archive import observation
from market_spread.controller.run_folder import Manifest, RunFolder, State
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.model.series import CounterSeries
from market_spread.metrics_aggregator.model.store import Store
from market_spread.receiver.ledger import ALERTS, INVALID, InvalidLine, Ledger, Recovered
from market_spread.v1.metrics_pb2 import NoteRequest, PushRequest, Sample, SeriesKey
from tests.support.clock import ManualClock
from tests.support.failing_disk import ERRORS, KILLED, FailingDisk, at_every_step

SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND
PUSHES = range(1, 6)

kills = pytest.mark.parametrize(("error", "share"), KILLED)
errors = pytest.mark.parametrize(("error", "share"), ERRORS)


# The receiver's ledger.


def lines(number: int, besides: Sequence[int] = ()) -> tuple[str, bytes]:
    """The number-th thing that a receiver writes, without these offsets: every third is of no alert."""
    if number % 3 == 2:
        return INVALID, InvalidLine(0, number, number, unreadable_alert=f"no alert {number}").encode()
    offsets = np.array([each for each in (2 * number, 2 * number + 1) if each not in besides], np.int64)
    rows = np.full((len(offsets), ALERT.width), ord("1"), np.uint8)
    return ALERTS, encode_ledger(rows, np.zeros(len(offsets), np.int64), offsets, offsets)


def numbers_of(found: Recovered) -> tuple[list[int], list[int]]:
    """The offsets of the alerts, and of what is none."""
    return found.alerts.offsets.tolist(), [line.offset for line in found.invalid]


def written(ledger: Ledger, numbers: Sequence[int], taken: list[int]) -> None:
    for number in numbers:
        ledger.append(*lines(number))
        taken.append(number)


def expected(numbers: Sequence[int]) -> tuple[list[int], list[int]]:
    alerts = [offset for number in numbers if number % 3 != 2 for offset in (2 * number, 2 * number + 1)]
    return alerts, [number for number in numbers if number % 3 == 2]


def starts_with(found: tuple[list[int], list[int]], least: tuple[list[int], list[int]]) -> bool:
    return all(has[: len(needs)] == needs for has, needs in zip(found, least, strict=True))


def require_going_on(folder: Path, taken: Sequence[int]) -> None:
    """A restart finds what was taken, and of the rest only whole lines in order; what it lacks it reads and writes."""
    after = Ledger(folder, "r1")
    alerts, invalid = found = numbers_of(after.open())
    assert starts_with(found, expected(taken))
    assert starts_with(expected(range(8)), found)
    for number in range(8):
        if number % 3 != 2 or number not in invalid:
            after.append(*lines(number, besides=alerts))
    after.close()
    last = Ledger(folder, "r1")
    assert numbers_of(last.open()) == expected(range(8))
    last.close()


@kills
def test_a_ledger_has_what_was_taken_after_a_kill_at_any_step(tmp_path: Path, error: int | None, share: float) -> None:
    folders = count()

    def once(disk: FailingDisk) -> None:
        folder, taken = tmp_path / str(next(folders)), list[int]()
        with disk.under():
            first = Ledger(folder, "r1")
            first.open()
            written(first, range(4), taken)
            first.close()
            second = Ledger(folder, "r1")  # the step may be one of a restart
            second.open()
            written(second, range(4, 8), taken)
            second.close()

        require_going_on(folder, taken)

    assert at_every_step(once, error=error, share=share) >= 20


@errors
def test_a_ledger_goes_on_once_the_disk_takes_it_again(tmp_path: Path, error: int | None, share: float) -> None:
    folders = count()

    def once(disk: FailingDisk) -> None:
        folder, taken, told = tmp_path / str(next(folders)), list[int](), list[str]()
        with disk.under():
            ledger = Ledger(folder, "r1")
            try:
                ledger.open()
                written(ledger, range(8), taken)
            except MarketSpreadError as refused:
                told.append(str(refused))
            ledger.close()

        assert disk.steps < disk.at or told[0].startswith("the ledger")
        require_going_on(folder, taken)

    assert at_every_step(once, error=error, share=share) >= 10


# The aggregator's log of a run.


def push(sequence: int) -> PushRequest:
    return PushRequest(
        source="sender-0",
        run_id="r1",
        epoch_unix_ns=BEGIN,
        sequence=sequence,
        start_unix_ns=BEGIN + (sequence - 1) * SECOND,
        end_unix_ns=BEGIN + sequence * SECOND,
        counters=[Sample(key=SeriesKey(name=FRAMES_LATE.name), value=10 * sequence)],
    )


NOTE = NoteRequest(run_id="r1", unix_ns=BEGIN, kind="phase", name="measuring")


def store_on(folder: Path) -> tuple[Store, RunFiles]:
    files = RunFiles(folder)
    return Store(clock=ManualClock(BEGIN), log=files), files


def pushed(store: Store) -> tuple[int, float, int]:
    """How many pushes a store has of the run, what its counter is at, and how many it takes to be missing."""
    run = store.run("r1")
    assert run is not None
    (epoch,) = run.epochs.values()
    ((_, series),) = store.series()
    assert isinstance(series, CounterSeries)
    return epoch.pushes, series.value, epoch.missing


def everything_sent(store: Store) -> None:
    """What a process does that kept all: an answer may have been lost, so it sends what is there already, too."""
    for sequence in PUSHES:
        store.push(push(sequence))


@kills
def test_a_run_log_has_what_was_acknowledged_after_a_kill_at_any_step(
    tmp_path: Path, error: int | None, share: float
) -> None:
    folders = count()

    def once(disk: FailingDisk) -> None:
        folder, acknowledged = tmp_path / str(next(folders)), 0
        with disk.under():
            store, _ = store_on(folder)
            for sequence in PUSHES:
                store.push(push(sequence))
                acknowledged = sequence
                store.note(NOTE)

        after, files = store_on(folder)
        kept = after.restore("r1").epochs
        sequences = sum(epoch.pushes for epoch in kept.values())
        assert acknowledged <= sequences <= acknowledged + 1
        everything_sent(after)
        assert pushed(after) == (5, 50.0, 0)
        files.close()
        last, files = store_on(folder)
        last.restore("r1")
        assert pushed(last) == (5, 50.0, 0)
        assert files.damaged == 0
        files.close()

    assert at_every_step(once, error=error, share=share) >= 11


@errors
def test_a_run_log_takes_what_it_could_not_write_when_it_comes_again(
    tmp_path: Path, error: int | None, share: float
) -> None:
    folders = count()

    def once(disk: FailingDisk) -> None:
        folder, refused = tmp_path / str(next(folders)), 0
        store, files = store_on(folder)
        with disk.under():
            for sequence in PUSHES:
                try:
                    store.push(push(sequence))
                except UnavailableError:
                    refused += 1
                    store.push(push(sequence))
                with suppress(UnavailableError):
                    store.note(NOTE)

        assert refused <= 1
        assert pushed(store) == (5, 50.0, 0)
        files.close()
        last, files = store_on(folder)
        last.restore("r1")
        assert pushed(last) == (5, 50.0, 0)
        assert files.damaged == 0
        files.close()

    assert at_every_step(once, error=error, share=share) >= 11


# The controller's documents of a run.


def document(folder: RunFolder, entered: list[str]) -> None:
    """What a run writes, in its order: its state, what it was made of, and what it has found."""
    folder.path.mkdir(exist_ok=True)
    state = State(folder.state, clock=ManualClock(BEGIN))
    state.enter("starting")
    entered.append("starting")
    Manifest({"data": {"seed": state.resumed}}).write(folder.manifest)
    state.enter("measuring")
    entered.append("measuring")
    state.enter(State.JUDGING)
    observed = Observed(started=datetime.fromtimestamp(BEGIN / SECOND, UTC), ledger=b"", drained=False)
    observation.write(folder, observed, {"target": "local"})
    entered.append(State.JUDGING)
    state.can_be_judged = True
    state.write()
    state.enter(State.DONE)
    entered.append(State.DONE)


def require_readable(folder: RunFolder, entered: Sequence[str]) -> None:
    """The state is that of the last step that was entered, or of the next one; what it promises is there."""
    state = State.read(folder.state)
    steps = ["starting", "measuring", State.JUDGING, State.DONE]
    at = steps.index(state["step"]) + 1 if state else 0
    assert len(entered) <= at <= len(entered) + 1
    if state and state["can_be_judged"]:
        assert observation.read(folder).started.year == 2023
    if at > 1:
        assert "data" in Manifest.read(folder.manifest).sections


@pytest.mark.parametrize(("error", "share"), KILLED + ERRORS)
def test_a_run_document_is_whole_after_any_step_and_the_run_can_begin_again_in_it(
    tmp_path: Path, error: int | None, share: float
) -> None:
    folders = count()

    def once(disk: FailingDisk) -> None:
        folder, entered = RunFolder(tmp_path / str(next(folders))), list[str]()
        with disk.under(), suppress(OSError):
            document(folder, entered)

        require_readable(folder, entered)
        before, again = State.read(folder.state), list[str]()
        document(folder, again)
        require_readable(folder, again)
        state = State.read(folder.state)
        assert state is not None
        assert state["step"] == State.DONE
        assert state["resumed"] == (int(before["resumed"]) + 1 if before else 0)

    assert at_every_step(once, error=error, share=share) >= 15


def test_a_document_that_is_written_in_place_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "write_whole", lambda path, text: path.write_bytes(text.encode()))

    with pytest.raises((AssertionError, MarketSpreadError)):
        test_a_run_document_is_whole_after_any_step_and_the_run_can_begin_again_in_it(tmp_path, None, 0.5)


def test_a_ledger_that_keeps_its_incomplete_end_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "ftruncate", lambda descriptor, size: None)

    with pytest.raises((AssertionError, MarketSpreadError)):
        test_a_ledger_has_what_was_taken_after_a_kill_at_any_step(tmp_path, None, 0.7)


def test_a_push_that_is_answered_before_it_is_written_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunFiles, "append", lambda self, run_id, block, begin_unix_ns: None)

    with pytest.raises(AssertionError):
        test_a_run_log_has_what_was_acknowledged_after_a_kill_at_any_step(tmp_path, None, 0.5)
