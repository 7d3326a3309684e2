"""A run as the JSON that the web page draws: every figure can be made again from the histograms in it."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from typing import Any

from market_spread.common.hdr.codec import Buckets, payload_of
from market_spread.common.telemetry.metrics import MetricKind
from market_spread.common.telemetry.recorder import exact_of
from market_spread.metrics_aggregator.model.intervals import HistogramInterval, Interval, Point
from market_spread.metrics_aggregator.model.run import Epoch, RunState
from market_spread.metrics_aggregator.model.series import HistogramSeries, Series, SeriesId
from market_spread.v1.metrics_pb2 import NoteRequest

FORMAT = 1
# How what is pushed outside a run is called; no run can have that id.
NO_RUN = "-"
# An interval is merged with others to one of these lengths, milliseconds.
_WIDTHS_MS = tuple(1000 * s for s in (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600))
_COARSE_POINTS = 8
_OF_EPOCH = (
    "source", "pushes", "duplicates", "missing", "pushes_dropped", "clock_error_us", "clock_synchronised", "host",
)  # fmt: skip

View = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Range:
    """From when to when, Unix nanoseconds."""

    from_unix_ns: float = -inf
    to_unix_ns: float = inf

    def has(self, interval: HistogramInterval | Point) -> bool:
        """Whether the interval lies in it, be it in part."""
        return interval.end_unix_ns > self.from_unix_ns and interval.start_unix_ns < self.to_unix_ns


@dataclass(frozen=True, slots=True)
class SeriesCopy:
    """A series at a moment, apart from what is pushed on; its merged histogram is encoded already."""

    series_id: SeriesId
    total: Any
    intervals: Sequence[HistogramInterval | Point]
    merge: Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class RunCopy:
    """A run at a moment. Quickly made, so that the long work of encoding can be done in a thread."""

    head: View
    series: tuple[SeriesCopy, ...]


def state_of(run: RunState, now_unix_ns: int) -> View:
    """What the run is, does and came to."""
    said = {"title": run.said("title"), "phase": run.said("phase"), "verdict": run.said("verdict")}
    return {**said, "live": run.is_live(now_unix_ns)}


def head_of(run: RunState, now_unix_ns: int) -> View:
    """What a list of runs says of one."""
    when = {"begin_unix_ms": _ms(run.begin_unix_ns), "end_unix_ms": _ms(run.end_unix_ns)}
    return {"run_id": run.run_id or NO_RUN, **when, **state_of(run, now_unix_ns), "outcome": run.outcome}


def copy_of(run: RunState, *, now_unix_ns: int, tick: int, aggregator: View) -> RunCopy:
    """The run as it is now, with all its intervals."""
    metrics = {series_id.name: series_id.metric for series_id in run.series}
    head = {
        "format": FORMAT,
        "run_id": run.run_id or NO_RUN,
        **state_of(run, now_unix_ns),
        "tick": tick,
        "generated_unix_ms": _ms(now_unix_ns),
        "sources": sources_of(run.epochs.values()),
        "aggregator": aggregator,
        "notes": notes_of(run.notes),
        "metrics": {
            name: {"kind": metric.kind.value, "meaning": metric.meaning, "labels": list(metric.labels)}
            for name, metric in sorted(metrics.items())
        },
    }
    series = (SeriesCopy(key, total_of(of), list(of.history), of.history.merge) for key, of in run.sorted_series())
    return RunCopy(head, tuple(series))


def data_json(copied: RunCopy, within: Range, *, points: int, fine: str = "", only: str = "") -> str:
    """The run's data, its intervals those of the range, at most so many a series: more are merged exactly.

    They are merged to the same cells in all series; but if `fine` names a histogram, the others have _COARSE_POINTS,
    and if `only` names one, the others have none: to merge them takes most of the time.
    """

    def is_beside(of: SeriesId, name: str) -> bool:
        return name not in ("", of.name) and of.metric.kind is MetricKind.HISTOGRAM

    chosen = [
        [] if is_beside(series.series_id, only) else [each for each in series.intervals if within.has(each)]
        for series in copied.series
    ]
    first = min((intervals[0].start_unix_ns for intervals in chosen if intervals), default=0)
    end = max((each.end_unix_ns for intervals in chosen for each in intervals), default=0)
    longest = max(map(len, chosen), default=0)

    def width_ns(of: SeriesId) -> int:
        most = min(points, _COARSE_POINTS) if is_beside(of, fine) else points
        return _width_ns(end - first, most) if longest > most else 0

    view = {
        **copied.head,
        "range": {"from_unix_ms": _ms(first), "to_unix_ms": _ms(end)},
        "series": [
            series_of(series.series_id, series.total, _in_cells(intervals, width_ns(series.series_id), series.merge))
            for series, intervals in zip(copied.series, chosen, strict=True)
        ],
    }
    return as_json(view)


def as_json(view: View) -> str:
    """Compact, and safe inside a script element too."""
    return json.dumps(view, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def series_of(series_id: SeriesId, total: Any, intervals: Iterable[HistogramInterval | Point]) -> View:
    """A series with intervals."""
    return {
        "name": series_id.name, "kind": series_id.metric.kind.value,
        "labels": {**dict(series_id.labels), "source": series_id.source}, "total": total,
        "intervals": [_interval(interval) for interval in intervals],
    }  # fmt: skip


def total_of(series: Series) -> Any:
    """What a series came to: a number, or a histogram as a list."""
    if not isinstance(series, HistogramSeries):
        return series.value
    counts = Buckets.of(series.merged.counts).pack()
    return [*series.merged.exact, b64encode(counts).decode()]


def sources_of(epochs: Iterable[Epoch]) -> list[View]:
    """What is known of the processes, oldest first."""
    return [
        {
            "epoch_unix_ms": _ms(epoch.epoch_unix_ns),
            "end_unix_ms": _ms(epoch.end_unix_ns),
            **{name: getattr(epoch, name) for name in _OF_EPOCH},
        }
        for epoch in sorted(epochs, key=lambda epoch: (epoch.epoch_unix_ns, epoch.source))
    ]


def notes_of(notes: Iterable[NoteRequest]) -> list[View]:
    """Limits, phases, verdicts and events; the title stands elsewhere.

    Limits have those that are given, by their names in the proto; a verdict its words and what it is made of: the
    checks that failed, and the histograms that the result's latencies are of, by series, with what is not to be shown
    of them and the rows in which the result shows them.
    """
    return [_note(note) for note in notes if note.kind != "title"]


def _note(note: NoteRequest) -> View:
    view: View = {"unix_ms": _ms(note.unix_ns), "kind": note.kind, "name": note.name, "text": note.text}
    if note.phases_ms:
        view["phases_ms"] = dict(note.phases_ms)
    if note.HasField("limits"):
        view["limits"] = {
            field.name: dict(value) if isinstance(value, Mapping) else value
            for field, value in note.limits.ListFields()
        }
    if note.HasField("judgement"):
        judgement = note.judgement
        view["outcome"] = judgement.outcome
        view["failed"] = [{"check": each.check, "text": each.text, "cause": each.cause} for each in judgement.failed]
        view["judged"] = {
            "from_unix_ms": _ms(judgement.from_unix_ns),
            "to_unix_ms": _ms(judgement.to_unix_ns),
            "series": [
                {
                    "name": each.key.name,
                    "labels": dict(each.key.labels),
                    "total": [*exact_of(each), b64encode(payload_of(each.encoded)).decode()],
                    "too_few": {
                        name: n for few in judgement.too_few if few.key == each.key for name, n in few.clusters.items()
                    },
                }
                for each in judgement.histograms
            ],
            "rows": [list(row.cells) for row in judgement.rows],
        }
    return view


def _interval(interval: HistogramInterval | Point) -> list[Any]:
    span = [_ms(interval.start_unix_ns), _ms(interval.end_unix_ns)]
    if isinstance(interval, Point):
        return [*span, interval.value]
    return [*span, *interval.exact, b64encode(payload_of(interval.encoded)).decode()]


def _in_cells(
    intervals: Sequence[Interval], width_ns: int, merge: Callable[[Sequence[Interval]], Interval]
) -> list[Interval]:
    if not width_ns:
        return list(intervals)
    return [merge(list(cell)) for _, cell in groupby(intervals, key=lambda each: each.start_unix_ns // width_ns)]


def _width_ns(span_ns: int, points: int) -> int:
    """Cells so wide that the span has at most so many, one more at its edge included."""
    needed_ms = span_ns / 1e6 / max(1, points - 1)
    width_ms = next((width for width in _WIDTHS_MS if width >= needed_ms), -(-int(needed_ms) // 3_600_000) * 3_600_000)
    return max(width_ms, 1000) * 1_000_000


def _ms(unix_ns: int) -> float:
    return unix_ns / 1_000_000
