"""Everything that was pushed, merged once each, within bounds."""

from collections.abc import Iterator

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.errors import UnavailableError, UsageError
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.metrics_aggregator.model import hlog
from market_spread.metrics_aggregator.model.push_validation import check_envelope, check_note, note_key, read_push
from market_spread.metrics_aggregator.model.run import RunState
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.model.series import Series, SeriesId
from market_spread.v1.metrics_pb2 import NoteRequest, PushRequest

SERIES_MAX, EPOCHS_MAX = 2_000, 2_000
RUNS_LIVE_MAX, NOTES_MAX = 100, 1_000
HISTORY_BYTES_MAX = 512 * 1024 * 1024


class Store:
    """Runs with their series. Not thread-safe: it belongs to one loop.

    At most `series_max` series: the runs that were silent for longest make room, and their series are counted in
    `evicted`. A push by which its run alone would have more is refused; so it is with EPOCHS_MAX epochs. The intervals
    of all runs take at most `history_bytes_max` bytes: the largest run's history becomes coarser until they do, and
    then loses its oldest intervals.

    With a log, a push is written down before it is merged, and a run that is not in memory is read back when it is
    pushed for again.

    Histograms of itself, in microseconds: push_times, from a push's arrival to its acknowledgement, without gRPC's
    share; merge_times, of that, adding it to the series; lags, from the end of a push's interval to its arrival, by two
    clocks. unwritten: pushes and notes that could not be written down; clients: event streams that are open.
    """

    def __init__(
        self, *, series_max: int = SERIES_MAX, history_bytes_max: int = HISTORY_BYTES_MAX, clock: Clock | None = None,
        log: RunFiles | None = None,
    ) -> None:  # fmt: skip
        self._clock = clock or SystemClock()
        self._log, self._series_max = log, series_max
        self._runs: dict[str, RunState] = {}  # in the order of their last push
        self.history_bytes_max = history_bytes_max
        self.push_times, self.merge_times, self.lags = HdrCounts(), HdrCounts(), HdrCounts()
        self.refused = self.evicted = self.unreadable = self.unwritten = self.clients = self.lag_newest_ns = 0

    def __len__(self) -> int:
        return sum(len(run.series) for run in self._runs.values())

    @property
    def history_bytes(self) -> int:
        return sum(run.held.bytes for run in self._runs.values())

    def runs(self) -> list[RunState]:
        return list(self._runs.values())

    def run(self, run_id: str) -> RunState | None:
        return self._runs.get(run_id)

    def series(self) -> Iterator[tuple[SeriesId, Series]]:
        """Every series, in order of name, run, source and labels."""
        found = [item for run in self._runs.values() for item in run.series.items()]
        yield from sorted(found, key=lambda item: (item[0].name, item[0].run_id, item[0].source, item[0].labels))

    def push(self, request: PushRequest) -> None:
        """Write down and merge the push, unless it was merged before.

        A push below that sequence counts as merged before: the pushes of a source come in order. UsageError if anything
        in it is wrong, UnavailableError if it cannot be written down; then nothing of it is merged.
        """
        begin_ns = self._clock.monotonic_ns()
        self._take(request)
        self.push_times.record_few([(self._clock.monotonic_ns() - begin_ns) // 1000])

    def note(self, request: NoteRequest) -> None:
        """Write down and keep the note, unless it was kept before. Errors as those of `push`."""
        try:
            check_note(request, self._clock.unix_ns())
            run = self.restore(request.run_id)
            if note_key(request) in run.noted:
                return
            if len(run.notes) >= NOTES_MAX:
                raise UsageError(f"the run {run.run_id!r} has {NOTES_MAX} notes and takes no more")
        except UsageError:
            self.refused += 1
            raise
        if self._log is not None:
            self._write_down(self._log, run, hlog.note_block(request), request.unix_ns)
        self._keep(run)
        run.add_note(request, self._clock.unix_ns())

    def restore(self, run_id: str) -> RunState:
        """The run, read back from the log unless it is in memory; what cannot be read counts as `unreadable`.

        A new one is not kept before something of it is taken. UsageError if RUNS_LIVE_MAX others go on.
        """
        run = self._runs.get(run_id)
        if run is None:
            now_unix_ns = self._clock.unix_ns()
            if sum(other.is_live(now_unix_ns) for other in self._runs.values()) >= RUNS_LIVE_MAX:
                raise UsageError(f"{RUNS_LIVE_MAX} runs go on already; wait until one has ended")
            run = RunState(run_id)
            if self._log is not None and run_id:
                self._read_back(run, self._log)
        return run

    def _take(self, request: PushRequest) -> None:
        try:
            check_envelope(request, self._clock.unix_ns())
            run = self.restore(request.run_id)
            known = run.epochs.get((request.source, request.epoch_unix_ns))
            if known is not None and request.sequence <= known.sequence:
                known.duplicates += 1
                return
            measured = read_push(request)
            new_series = len(measured.ids.difference(run.series))
            if (needed := len(run.series) + new_series) > self._series_max:
                raise UsageError(
                    f"the run {run.run_id!r} has {needed} series with this push and the aggregator takes at most "
                    f"{self._series_max}; push fewer labels"
                )
            if known is None and len(run.epochs) >= EPOCHS_MAX:
                starts = f"the run {run.run_id!r} knows {EPOCHS_MAX} starts of processes"
                raise UsageError(f"{starts} and takes no more; begin another run")
        except UsageError:
            self.refused += 1
            raise
        if self._log is not None and run.run_id:
            self._write_down(self._log, run, hlog.push_block(request, measured), request.start_unix_ns)
        merge_ns, now_unix_ns = self._clock.monotonic_ns(), self._clock.unix_ns()
        self.lag_newest_ns = now_unix_ns - request.end_unix_ns
        self.lags.record_few([self.lag_newest_ns // 1000])
        self._keep(run, new_series)
        run.merge(measured, request, now_unix_ns)
        self._bound_history(run)
        self.merge_times.record_few([(self._clock.monotonic_ns() - merge_ns) // 1000])

    def _read_back(self, run: RunState, log: RunFiles) -> None:
        for entry in log.entries(run.run_id):
            now_unix_ns = self._clock.unix_ns()
            try:
                if isinstance(entry, NoteRequest):
                    check_note(entry, now_unix_ns)
                    run.add_note(entry, min(entry.unix_ns, now_unix_ns))
                else:
                    run.merge(read_push(entry), entry, min(entry.end_unix_ns, now_unix_ns))
                    self._bound_history(run)
            except UsageError:  # an older version knew a metric that this one does not
                self.unreadable += 1
        if run.epochs or run.notes:
            self._keep(run)

    def _write_down(self, log: RunFiles, run: RunState, block: bytes, begin_unix_ns: int) -> None:
        try:
            log.append(run.run_id, block, begin_unix_ns)
        except UnavailableError:
            self.unwritten += 1
            raise

    def _keep(self, run: RunState, new_series: int = 0) -> None:
        """Have the run as the newest one; others make room for its series and epochs."""
        self._runs.pop(run.run_id, None)
        series = len(self) + len(run.series) + new_series
        epochs = sum(len(other.epochs) for other in self._runs.values()) + len(run.epochs) + 1
        for silent in list(self._runs.values()):
            if series <= self._series_max and epochs <= EPOCHS_MAX:
                break
            del self._runs[silent.run_id]
            series -= len(silent.series)
            epochs -= len(silent.epochs)
            self.evicted += len(silent.series)
        self._runs[run.run_id] = run

    def _bound_history(self, taking: RunState) -> None:
        """Shrink the largest history, as often as it takes. `taking` may not be among the runs yet."""
        runs = [taking, *(run for run in self._runs.values() if run is not taking)]
        while sum(run.held.bytes for run in runs) > self.history_bytes_max:
            max(runs, key=lambda run: run.held.bytes).shrink()
