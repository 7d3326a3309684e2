"""What the run controller tells the metrics-aggregator of its run, from title to verdict. It never holds it up."""

import logging
import threading
from collections import deque

import grpc

from market_spread.common.clock import Clock
from market_spread.common.grpc.calls import channel_to
from market_spread.common.telemetry.metrics import END_TO_END, SERVICE, STAGE
from market_spread.controller.analysis.observed import Observed, RunProgress
from market_spread.controller.analysis.result import LATENCY_HEAD, Result, latency_rows, too_few_clusters
from market_spread.controller.analysis.verdict import judged_from_unix_ns
from market_spread.controller.archive.histograms import judged_histograms
from market_spread.controller.plan.plan import RunPlan
from market_spread.v1.limits_pb2 import FailedCheck, RunLimits
from market_spread.v1.metrics_pb2 import Judgement, LatencyRow, NoteRequest, SeriesKey, TooFewClusters
from market_spread.v1.metrics_pb2_grpc import MetricsStub

WAITING_MAX = 200
CALL_DEADLINE_S = 1.0
CLOSE_S = 2.0
_RETRY_S = 0.5

_log = logging.getLogger(__name__)


class RunNotes:
    """Notes of one run, sent by a thread of its own in the order in which they were said: `start`, then `close`.

    Notes wait, at most WAITING_MAX, until the aggregator takes them; beyond that the oldest is dropped and counted. One
    that it refuses is logged. What it never took is `waiting` after `close`; no error reaches the caller.
    """

    def __init__(self, run_id: str, *, clock: Clock) -> None:
        self._run_id = run_id
        self._clock = clock
        self._waiting: deque[NoteRequest] = deque()
        self._something = threading.Condition()
        self._close_by_ns: int | None = None
        self._channel: grpc.Channel | None = None
        self._thread: threading.Thread | None = None
        self._phase = ""
        self._restarts = 0
        self.dropped = 0

    @property
    def waiting(self) -> tuple[NoteRequest, ...]:
        """Notes that the aggregator does not have yet, oldest first; those that it never gets, after `close`."""
        with self._something:
            return tuple(self._waiting)

    def say(self, kind: str, name: str, text: str = "", *, limits: RunLimits | None = None) -> None:
        """Note it as of now. kind: title, phase, event, or limits with what the run is judged by."""
        self.tell(NoteRequest(unix_ns=self._clock.unix_ns(), kind=kind, name=name, text=text, limits=limits))

    def tell(self, note: NoteRequest) -> None:
        """Send the note when it is its turn."""
        note.run_id = self._run_id
        with self._something:
            self._waiting.append(note)
            if len(self._waiting) > WAITING_MAX:
                self._waiting.popleft()
                self.dropped += 1
            self._something.notify()

    def follow(self, progress: RunProgress) -> None:
        """Note the phase, if it is another one, and what happened to the job."""
        if progress.phase != self._phase:
            self._phase = progress.phase
            self.say("phase", progress.phase)
        if progress.job is not None and progress.job.restarts > self._restarts:
            self._restarts = progress.job.restarts
            self.say("event", "query restarted", f"the job's query was started again, {self._restarts} times so far")

    def start(self, address: str) -> None:
        """Begin to send."""
        self._channel = channel_to(address)
        self._thread = threading.Thread(target=self._run, args=(MetricsStub(self._channel),), name="notes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Try for at most 2 s to deliver what waits, and end. Idempotent; without `start` nothing is sent."""
        with self._something:
            if self._close_by_ns is None:
                self._close_by_ns = self._clock.monotonic_ns() + round(CLOSE_S * 1e9)
            self._something.notify()
        if self._thread is not None:
            self._thread.join(CLOSE_S)
            self._thread = None
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _run(self, aggregator: MetricsStub) -> None:
        while True:
            with self._something:
                self._something.wait_for(lambda: self._waiting or self._close_by_ns is not None)
                if not self._waiting:
                    return
                note = self._waiting[0]
            if self._send(aggregator, note):
                with self._something:
                    if self._waiting and self._waiting[0] is note:
                        self._waiting.popleft()
                continue
            with self._something:
                self._something.wait(_RETRY_S)
                if self._close_by_ns is not None and self._clock.monotonic_ns() >= self._close_by_ns:
                    return

    def _send(self, aggregator: MetricsStub, note: NoteRequest) -> bool:
        """Whether the note is dealt with: taken, or refused for good."""
        try:
            aggregator.Note(note, timeout=CALL_DEADLINE_S)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
                _log.error("the metrics aggregator refused the note %r: %s", note.name, error.details())
                return True
            return False
        except ValueError:  # the channel was closed while the call began
            return False
        return True


def verdict_note(run_id: str, plan: RunPlan, observed: Observed, result: Result, *, unix_ns: int) -> NoteRequest:
    """What the run came to, said at that time: why, with what its result shows of its latencies."""
    evidence = {each["check"]: each for of in result.verdicts.values() for each in of["evidence"]}
    decisive = [evidence[check] for check in result.decisive]
    from_ns, until_ns = judged_from_unix_ns(plan, observed), observed.measured_until_unix_ns
    histograms = judged_histograms(observed, from_us=from_ns // 1000)
    few = too_few_clusters(result.latency_clusters)
    if observed.alerts is not None and len(observed.alerts):
        until_ns = max(until_ns, (int(observed.alerts.received_us.max()) + 1) * 1000)
    rows = [LATENCY_HEAD, *latency_rows(result, decimals=2)] if histograms else []
    is_judged = bool(histograms) and until_ns > from_ns
    judgement = Judgement(
        cause=result.cause or "",
        outcome=result.outcome,
        failed=[FailedCheck(check=each["check"], text=each["text"], cause=each["cause"]) for each in decisive],
        histograms=histograms,
        too_few=[TooFewClusters(key=each.key, clusters=few.get(_path(each.key), {})) for each in histograms],
        rows=[LatencyRow(cells=cells) for cells in rows],
        from_unix_ns=from_ns if is_judged else 0,
        to_unix_ns=until_ns if is_judged else 0,
    )
    text = "; ".join(result.reasons)
    return NoteRequest(
        run_id=run_id, unix_ns=unix_ns, kind="verdict", name=result.verdict.value, text=text, judgement=judgement
    )


def _path(key: SeriesKey) -> str:
    """Where the result has the latency of a series."""
    paths = {END_TO_END.name: "latency_ns", SERVICE.name: "service_time_ns", STAGE.name: "stages_ns"}
    return ".".join([paths.get(key.name, ""), *([key.labels["stage"]] if "stage" in key.labels else [])])
