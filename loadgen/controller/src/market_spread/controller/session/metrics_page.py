"""The metrics page of a run: what the metrics-aggregator is told for it, its copy as one file, and that of old runs."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import urllib3
from rich.console import Console

from market_spread.common.clock import Clock
from market_spread.common.documents import write_whole
from market_spread.common.errors import RunFailedError, UnavailableError, UsageError
from market_spread.common.grpc.calls import channel_to
from market_spread.common.grpc.identity import OPEN, Identity
from market_spread.common.telemetry.metrics import END_TO_END, PLANNED_FAULT, SERVICE, STAGE
from market_spread.common.words import counted
from market_spread.controller.analysis.observed import Observed, RunProgress
from market_spread.controller.analysis.result import LATENCY_HEAD, Result, latency_rows
from market_spread.controller.analysis.verdict import judged_from_unix_ns
from market_spread.controller.archive.histograms import judged_histograms
from market_spread.controller.deploy.local.services import Services
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.run_folder import RunFolder
from market_spread.controller.views.report import pushed
from market_spread.metrics_aggregator.model import hlog
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.page import one_file
from market_spread.metrics_aggregator.service import AggregatorConfig
from market_spread.v1.limits_pb2 import FailedCheck
from market_spread.v1.metrics_pb2 import Judgement, LatencyRow, NoteRequest, SeriesKey, TooFewClusters
from market_spread.v1.metrics_pb2_grpc import MetricsStub

FILE_NAME = "metrics.html"
WAITING_MAX = 200
CALL_DEADLINE_S, CLOSE_S = 1.0, 2.0
_RETRY_S, _EXPORT_S = 0.5, 60
_CHECK_S = 0.5

_log = logging.getLogger(__name__)


class RunNotes:
    """Notes of one run, sent by a thread of its own in the order in which they were said: `start`, then `close`.

    Notes wait, at most WAITING_MAX, until the aggregator takes them; beyond that the oldest is dropped and counted. One
    that it refuses is logged. What it never took is `waiting` after `close`; no error reaches the caller.
    """

    def __init__(self, run_id: str, *, clock: Clock) -> None:
        self._run_id, self._clock = run_id, clock
        self._waiting: deque[NoteRequest] = deque(maxlen=WAITING_MAX)
        self._something = threading.Condition()
        self._close_by_ns: int | None = None
        self._ending = ExitStack()
        self._phase, self._restarts, self._faults, self.dropped = "", 0, 0, 0

    @property
    def waiting(self) -> tuple[NoteRequest, ...]:
        """Notes that the aggregator does not have yet, oldest first; those that it never gets, after `close`."""
        with self._something:
            return tuple(self._waiting)

    @property
    def loss(self) -> str:
        """What the aggregator did not take, as a sentence; empty if it took all. After `close`."""
        lost = len(self.waiting) + self.dropped
        return f"the metrics aggregator did not take {counted(lost, 'note')} within {CLOSE_S:g} s" if lost else ""

    def say(self, kind: str, name: str, text: str = "", **more: Any) -> None:
        """Note it as of now. kind: title, phase, event, limits or plan; more: the fields that only such a note has."""
        self.tell(NoteRequest(unix_ns=self._clock.unix_ns(), kind=kind, name=name, text=text, **more))

    def tell(self, note: NoteRequest) -> None:
        """Send the note when it is its turn."""
        note.run_id = self._run_id
        with self._something:
            self.dropped += len(self._waiting) == WAITING_MAX
            self._waiting.append(note)
            self._something.notify()

    def follow(self, progress: RunProgress) -> None:
        """Note the phase, if it is another one, what happened to the job, and each planned fault that has begun."""
        if progress.phase != self._phase:
            self._phase = progress.phase
            self.say("phase", progress.phase)
        if progress.job is not None and progress.job.restarts > self._restarts:
            self._restarts = progress.job.restarts
            self.say("event", "query restarted", f"the job's query was started again, {self._restarts} times so far")
        for unix_ns, fault in progress.faults[self._faults :]:
            self.tell(NoteRequest(unix_ns=unix_ns, kind="event", name=PLANNED_FAULT, text=fault.text))
        self._faults = len(progress.faults)

    def start(self, address: str, identity: Identity = OPEN) -> None:
        channel = self._ending.enter_context(channel_to(address, identity))
        thread = threading.Thread(target=self._run, args=(MetricsStub(channel),), name="notes", daemon=True)
        thread.start()
        self._ending.callback(thread.join, CLOSE_S)

    def close(self) -> None:
        """Try for at most 2 s to deliver what waits, and end. Idempotent; without `start` nothing is sent."""
        with self._something:
            if self._close_by_ns is None:
                self._close_by_ns = self._clock.monotonic_ns() + round(CLOSE_S * 1e9)
            self._something.notify()
        self._ending.close()

    def _run(self, aggregator: MetricsStub) -> None:
        while True:
            with self._something:
                self._something.wait_for(lambda: self._waiting or self._close_by_ns is not None)
                if not self._waiting:
                    return
                note = self._waiting[0]
            is_done = self._send(aggregator, note)
            with self._something:
                if not is_done:
                    self._something.wait(_RETRY_S)
                    if self._close_by_ns is not None and self._clock.monotonic_ns() >= self._close_by_ns:
                        return
                elif self._waiting[0] is note:  # else it was dropped meanwhile
                    self._waiting.popleft()

    def _send(self, aggregator: MetricsStub, note: NoteRequest) -> bool:
        """Whether the note is dealt with: taken, or refused for good."""
        try:
            aggregator.Note(note, timeout=CALL_DEADLINE_S)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.INVALID_ARGUMENT:
                return False
            _log.error("the metrics aggregator refused the note %r: %s", note.name, error.details())
        except ValueError:  # the channel was closed while the call began
            return False
        return True


def end_notes(plan: RunPlan, observed: Observed, result: Result, *, unix_ns: int) -> list[NoteRequest]:
    """What the run came to, said at that time: its result whole, so that the page has it wherever it is opened; and the
    verdict: why, with what the result shows of its latencies.
    """
    evidence = {each["check"]: each for of in result.verdicts.values() for each in of["evidence"]}
    decisive = [evidence[check] for check in result.decisive]
    from_ns, until_ns = judged_from_unix_ns(plan, observed), observed.measured_until_unix_ns
    histograms = judged_histograms(observed, from_us=from_ns // 1000)
    few = result.too_few_clusters
    if observed.alerts is not None and len(observed.alerts):
        until_ns = max(until_ns, (int(observed.alerts.received_us.max()) + 1) * 1000)
    rows = [LATENCY_HEAD, *latency_rows(result, decimals=2)] if histograms else []
    is_judged = bool(histograms) and until_ns > from_ns
    judgement = Judgement(
        cause=result.cause or "", outcome=result.outcome,
        failed=[FailedCheck(check=each["check"], text=each["text"], cause=each["cause"]) for each in decisive],
        histograms=histograms,
        too_few=[TooFewClusters(key=each.key, clusters=few.get(_path(each.key), {})) for each in histograms],
        rows=[LatencyRow(cells=cells) for cells in rows], from_unix_ns=from_ns if is_judged else 0,
        to_unix_ns=until_ns if is_judged else 0,
    )  # fmt: skip
    note = partial(NoteRequest, run_id=result.run_id, unix_ns=unix_ns, name=result.verdict.value)
    verdict = note(kind="verdict", text="; ".join(result.reasons), judgement=judgement)
    return [note(kind="result", text=result.to_json()), verdict]


def _path(key: SeriesKey) -> str:
    """Where the result has the latency of a series."""
    paths = {END_TO_END.name: "latency_ns", SERVICE.name: "service_time_ns", STAGE.name: "stages_ns"}
    return ".".join([paths.get(key.name, ""), *([key.labels["stage"]] if "stage" in key.labels else [])])


def export_page(address: str, run_id: str, folder: Path) -> Path:
    """Write the run's page, its data inside, as one file into the folder. RunFailedError if that cannot be done."""
    page = f"{address}/api/v1/runs/{quote(run_id)}/export"
    try:
        answer = urllib3.request("GET", page, timeout=_EXPORT_S, retries=False)
        if answer.status != HTTPStatus.OK:
            raise RunFailedError(f"the metrics page could not be written: the aggregator answered {answer.status}")
        return write_whole(folder / FILE_NAME, answer.data)
    except (OSError, urllib3.exceptions.HTTPError) as error:
        raise RunFailedError(f"the metrics page could not be written: {error}") from error


def with_notes(folder: RunFolder, notes: Iterable[NoteRequest], *, clock: Clock) -> Path:
    """Add notes to the run's log, which nobody else writes, and write the page from it, as one file into the folder.

    RunFailedError if that cannot be done.
    """
    try:
        with closing(RunFiles(folder.path.parent)) as log:
            for note in notes:
                log.append(folder.run_id, hlog.note_block(note), note.unix_ns)
        data = pushed(folder, clock)
        assert data is not None, "a log that a note was added to is there"
        return write_whole(folder.path / FILE_NAME, one_file(data).encode())
    except (UnavailableError, OSError) as error:
        raise RunFailedError(f"the metrics page could not be written: {error}") from error


def show_page(write: Callable[[], Path], console: Console) -> None:
    """Have the page written and say where, or why not: a run is not worse for want of its page."""
    try:
        said = f"[dim]{write()}[/dim]"
    except RunFailedError as error:
        said = str(error)
    console.print(said, soft_wrap=True, highlight=False)


def serve_pages(
    runs_folder: Path, *, port: int, clock: Clock, say: Callable[[str], None], stop_event: Callable[[], threading.Event]
) -> None:
    """Serve the pages of the runs in the folder until the event is set. UsageError if there is no such folder.

    The aggregator that does it takes no pushes, writes its log beside the runs, and is ended with this.
    """
    if not runs_folder.is_dir():
        raise UsageError(f"{runs_folder} is not a folder; name the one that holds the runs, which `run` makes")
    stop, name = stop_event(), "metrics_aggregator"
    services = Services(runs_folder / ".ui", clock=clock, on_started=lambda name, pid: None)
    config = AggregatorConfig(
        http_port=port, ports_file=services.ports_file(name), runs_folder=runs_folder.resolve(), takes_pushes=False
    )
    try:
        services.start(name, "market_spread.metrics_aggregator", config)
        say(f"runs of {runs_folder}: http://127.0.0.1:{services.ports(name)['http']} (until Ctrl-C)")
        while not stop.wait(_CHECK_S):
            services.check_alive()
    finally:
        services.stop([name])
