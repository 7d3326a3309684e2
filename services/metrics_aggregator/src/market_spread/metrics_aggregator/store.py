"""Everything that was pushed, merged once each, within bounds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar, cast

from market_spread.common.errors import UsageError
from market_spread.metrics_aggregator.intake import Measured, check_envelope, read_push
from market_spread.metrics_aggregator.series import (
    CounterSeries,
    GaugeSeries,
    HistogramSeries,
    Series,
    SeriesId,
    Span,
)
from market_spread.v1.metrics_pb2 import PushRequest

SERIES_MAX = 2_000
EPOCHS_MAX = 2_000

_S = TypeVar("_S", HistogramSeries, CounterSeries, GaugeSeries)


@dataclass(slots=True)
class Epoch:
    """The pushes of one process from its start, or from its change of run.

    missing: pushes below the highest sequence that never came; pushes_dropped: those that the process says it dropped.
    """

    source: str
    run_id: str
    epoch_unix_ns: int
    sequence: int = 0
    end_unix_ns: int = 0
    pushes: int = 0
    duplicates: int = 0
    missing: int = 0
    pushes_dropped: int = 0
    clock_error_us: int = -1
    clock_synchronised: bool = False


class Store:
    """Series by name, labels, source and run. Not thread-safe: it belongs to one loop.

    At most `series_max` series: those of the run that was silent for longest make room, and are counted in `evicted`.
    A push by which its run alone would have more is refused, and so is one that needs more than EPOCHS_MAX epochs.
    """

    def __init__(self, *, series_max: int = SERIES_MAX) -> None:
        self._series_max = series_max
        self._series: dict[SeriesId, Series] = {}
        self._epochs: dict[tuple[str, int], Epoch] = {}
        self._runs: dict[str, None] = {}  # in the order of their last push
        self.refused = 0
        self.evicted = 0

    def __len__(self) -> int:
        return len(self._series)

    def series(self) -> Iterator[tuple[SeriesId, Series]]:
        """Every series, in order of name, run, source and labels."""
        yield from sorted(self._series.items(), key=lambda item: _order(item[0]))

    def epochs(self) -> list[Epoch]:
        """Every epoch of every source, oldest first."""
        return sorted(self._epochs.values(), key=lambda epoch: (epoch.epoch_unix_ns, epoch.source))

    def push(self, request: PushRequest) -> int:
        """Merge the push, unless it was merged before; the highest sequence of its source and epoch.

        A push below that sequence counts as merged before: the pushes of a source come in order. UsageError if anything
        in it is wrong; then nothing of it is merged.
        """
        try:
            check_envelope(request)
            known = self._epochs.get((request.source, request.epoch_unix_ns))
            if known is not None and request.sequence <= known.sequence:
                known.duplicates += 1
                return known.sequence
            measured = read_push(request)
            self._check_room(measured, request.run_id, new_epoch=known is None)
        except UsageError:
            self.refused += 1
            raise
        epoch = known or Epoch(request.source, request.run_id, request.epoch_unix_ns)
        self._epochs[request.source, request.epoch_unix_ns] = epoch
        self._make_room(measured, request.run_id)
        self._merge(measured, request, epoch)
        _note(epoch, request)
        self._runs.pop(request.run_id, None)
        self._runs[request.run_id] = None
        return epoch.sequence

    def _check_room(self, measured: Measured, run_id: str, *, new_epoch: bool) -> None:
        needed = self._of_run(run_id) + self._new(measured)
        if needed > self._series_max:
            raise UsageError(
                f"the run {run_id!r} has {needed} series with this push and the aggregator takes at most "
                f"{self._series_max}; push fewer labels"
            )
        if new_epoch and len(self._epochs) >= EPOCHS_MAX:
            raise UsageError(
                f"the aggregator knows {EPOCHS_MAX} starts of processes and takes no more; "
                f"restart it to forget earlier runs"
            )

    def _make_room(self, measured: Measured, run_id: str) -> None:
        """Forget the series of the runs that were silent for longest, until there is room; never the pushing run's."""
        new = self._new(measured)
        others = (other for other in list(self._runs) if other != run_id)
        while len(self._series) + new > self._series_max:
            silent = next(others)
            del self._runs[silent]
            kept = {series_id: series for series_id, series in self._series.items() if series_id.run_id != silent}
            self.evicted += len(self._series) - len(kept)
            self._series = kept

    def _new(self, measured: Measured) -> int:
        return sum(1 for series_id in measured.ids() if series_id not in self._series)

    def _of_run(self, run_id: str) -> int:
        return sum(1 for series_id in self._series if series_id.run_id == run_id)

    def _merge(self, measured: Measured, request: PushRequest, epoch: Epoch) -> None:
        span = Span(request.start_unix_ns, request.end_unix_ns)
        for series_id, values, encoded in measured.histograms:
            self._get(series_id, HistogramSeries).add(values, encoded, span)
        grown_in = _grown_in(request, epoch)
        for series_id, value in measured.counters:
            self._get(series_id, CounterSeries).add(request.epoch_unix_ns, value, grown_in)
        for series_id, value in measured.gauges:
            self._get(series_id, GaugeSeries).add(request.epoch_unix_ns, value, span)

    def _get(self, series_id: SeriesId, of_kind: type[_S]) -> _S:
        series = self._series.get(series_id)
        if series is None:
            series = self._series[series_id] = of_kind()
        return cast(_S, series)  # a name has one kind, which the intake has checked


def _order(series_id: SeriesId) -> tuple[str, str, str, tuple[tuple[str, str], ...]]:
    return series_id.name, series_id.run_id, series_id.source, series_id.labels


def _grown_in(request: PushRequest, epoch: Epoch) -> Span:
    """What a counter has grown by since the last push it has grown by in this span: longer if pushes are missing."""
    start = request.start_unix_ns
    if request.sequence != epoch.sequence + 1:
        start = min(start, epoch.end_unix_ns or epoch.epoch_unix_ns)
    return Span(start, request.end_unix_ns)


def _note(epoch: Epoch, request: PushRequest) -> None:
    epoch.missing += request.sequence - epoch.sequence - 1
    epoch.sequence = request.sequence
    epoch.end_unix_ns = request.end_unix_ns
    epoch.pushes += 1
    epoch.pushes_dropped = max(epoch.pushes_dropped, request.pushes_dropped)
    epoch.clock_error_us = request.clock_error_us
    epoch.clock_synchronised = request.clock_synchronised
