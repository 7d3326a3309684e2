"""What is known of one run: its series, the processes that push for it, its notes."""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar, cast

from market_spread.common.telemetry.recorder import pushes_missing
from market_spread.metrics_aggregator.model.history import SECOND_NS, History, HistoryUsage, Resolution
from market_spread.metrics_aggregator.model.intervals import HistogramInterval, Interval, Point
from market_spread.metrics_aggregator.model.push_validation import Measured, NoteKey, NoteKind, note_key
from market_spread.metrics_aggregator.model.series import CounterSeries, GaugeSeries, HistogramSeries, Series, SeriesId
from market_spread.v1.limits_pb2 import RunLimits
from market_spread.v1.metrics_pb2 import Judgement, NoteRequest, PushRequest

# A process that works pushes every second, and the run controller notes every phase.
_LIVE_NS = 30 * SECOND_NS
# How far before ours a clock may be; beyond, it does not make what others push old.
_AHEAD_NS = 60 * SECOND_NS

_AGED_EVERY = 60

_S = TypeVar("_S", HistogramSeries, CounterSeries, GaugeSeries)


@dataclass(slots=True)
class Epoch:
    """The pushes of one process from its start, or from its change of run.

    missing: pushes that never came; pushes_dropped: those that the process says it dropped.
    """

    source: str
    epoch_unix_ns: int
    sequence: int = 0
    end_unix_ns: int = 0
    pushes: int = 0
    duplicates: int = 0
    missing: int = 0
    pushes_dropped: int = 0
    clock_error_us: int = -1
    clock_synchronised: bool = False
    host: str = ""

    def taken(self, request: PushRequest) -> None:
        self.sequence, self.end_unix_ns = request.sequence, request.end_unix_ns
        self.pushes += 1
        self.pushes_dropped = max(self.pushes_dropped, request.pushes_dropped)
        self.missing = pushes_missing(last=self.sequence, seen=self.pushes, dropped=self.pushes_dropped)
        self.clock_error_us, self.clock_synchronised = request.clock_error_us, request.clock_synchronised
        self.host = request.host


@dataclass(slots=True)
class News:
    """What has changed in a run since it was last told to those who watch it."""

    intervals: dict[SeriesId, list[HistogramInterval | Point]] = field(default_factory=dict)
    epochs: dict[tuple[str, int], Epoch] = field(default_factory=dict)
    notes: list[NoteRequest] = field(default_factory=list)


class RunState:
    """One run. Not thread-safe: it belongs to the loop of its store."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.series: dict[SeriesId, Series] = {}
        self.epochs: dict[tuple[str, int], Epoch] = {}
        self.notes: list[NoteRequest] = []
        self.resolution = Resolution()
        self.begin_unix_ns = self.end_unix_ns = self.heard_unix_ns = 0
        self.held = HistoryUsage()
        self.news: News | None = None
        self.noted: set[NoteKey] = set()

    def said(self, kind: NoteKind) -> str:
        """The run's title, its phase or its verdict, as its controller said it last; empty if it did not."""
        return note.name if (note := self._newest_note(kind)) else ""

    @property
    def outcome(self) -> str:
        """The verdict in the words of the run controller; that of an older one has no cause."""
        return self.judgement.outcome or self.said("verdict")

    @property
    def limits(self) -> RunLimits:
        """What the run is judged by, as far as anybody has said it."""
        return note.limits if (note := self._newest_note("limits")) else RunLimits()

    @property
    def judgement(self) -> Judgement:
        """What the verdict is made of, as far as the run controller says it."""
        return note.judgement if (note := self._newest_note("verdict")) else Judgement()

    @property
    def measured_unix_ns(self) -> tuple[int, int | None] | None:
        """When the measured load began and ended, None if it goes on; None before it begins."""
        phases = [note for note in self.notes if note.kind == "phase"]
        at = next((at for at in reversed(range(len(phases))) if phases[at].name == "measuring"), None)
        if at is None:
            return None
        return phases[at].unix_ns, phases[at + 1].unix_ns if at + 1 < len(phases) else None

    def is_live(self, now_unix_ns: int) -> bool:
        """Whether anything more is to be expected: it has no verdict, and something came in the last 30 s."""
        return not self.said("verdict") and now_unix_ns - self.heard_unix_ns < _LIVE_NS

    def merge(self, measured: Measured, request: PushRequest, now_unix_ns: int) -> None:
        """Add a push that has been checked, and was not merged before."""
        key = (request.source, request.epoch_unix_ns)
        epoch = self.epochs.get(key)
        if epoch is None:
            epoch = self.epochs[key] = Epoch(request.source, request.epoch_unix_ns)
        start, end = request.start_unix_ns, request.end_unix_ns
        self.hear(start, end, now_unix_ns)
        newest = min(self.end_unix_ns, now_unix_ns + _AHEAD_NS)
        for series_id, interval, buckets in measured.histograms:
            histogram = self._get(series_id, HistogramSeries)
            histogram.merged.merge_buckets(buckets, interval.exact)
            self._keep(series_id, histogram.history, interval, newest)
        # A counter has grown since the last push, so before this interval if pushes are missing.
        is_next = request.sequence == epoch.sequence + 1
        grown_from = start if is_next else min(start, epoch.end_unix_ns or epoch.epoch_unix_ns)
        for series_id, value in measured.counters:
            counter = self._get(series_id, CounterSeries)
            grown = counter.add(epoch.epoch_unix_ns, value)
            self._keep(series_id, counter.history, Point(grown_from, end, grown), newest)
        for series_id, value in measured.gauges:
            gauge = self._get(series_id, GaugeSeries)
            if gauge.add(epoch.epoch_unix_ns, value):
                self._keep(series_id, gauge.history, Point(start, end, value), newest)
        epoch.taken(request)
        if epoch.pushes % _AGED_EVERY == 0:  # those that nobody pushes any more grow old, too
            for series in self.series.values():
                series.history.age(newest, self.resolution)
        if self.news is not None:
            self.news.epochs[key] = epoch

    def add_note(self, note: NoteRequest, now_unix_ns: int) -> None:
        """Keep a note that was not taken before."""
        self.hear(note.unix_ns, note.unix_ns, now_unix_ns)
        self.noted.add(note_key(note))
        insort(self.notes, note, key=note_key)
        if self.news is not None:
            self.news.notes.append(note)

    def shrink(self) -> None:
        """Go over to the next coarser resolution; from the coarsest on, forget the oldest interval of each series."""
        coarser = self.resolution.coarser()
        self.resolution = coarser or self.resolution
        for series in self.series.values():
            if coarser is None:
                series.history.drop_oldest()
            else:
                series.history.coarsen(self.end_unix_ns, coarser)

    def sorted_series(self) -> Iterator[tuple[SeriesId, Series]]:
        """Every series, in order of name, source and labels."""
        yield from sorted(self.series.items(), key=lambda item: (item[0].name, item[0].source, item[0].labels))

    def hear(self, start_unix_ns: int, end_unix_ns: int, now_unix_ns: int) -> None:
        """Something of that span was said, at that time."""
        self.heard_unix_ns = max(self.heard_unix_ns, now_unix_ns)
        self.begin_unix_ns = min(self.begin_unix_ns or start_unix_ns, start_unix_ns)
        self.end_unix_ns = max(self.end_unix_ns, end_unix_ns)

    def _keep(self, series_id: SeriesId, history: History[Interval], interval: Interval, newest_unix_ns: int) -> None:
        history.add(interval, newest_unix_ns, self.resolution)
        if self.news is not None:
            self.news.intervals.setdefault(series_id, []).append(interval)

    def _get(self, series_id: SeriesId, of_kind: type[_S]) -> _S:
        series = self.series.get(series_id)
        if series is None:
            series = self.series[series_id] = of_kind(self.held)
        return cast(_S, series)  # a name has one kind, which the intake has checked

    def _newest_note(self, kind: NoteKind) -> NoteRequest | None:
        return next((note for note in reversed(self.notes) if note.kind == kind), None)
