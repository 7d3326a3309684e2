"""What is pushed and noted, checked whole before anything of it is merged or kept."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.hdr.codec import Buckets
from market_spread.common.hdr.histogram import PERCENTILES, check_exact
from market_spread.common.job_contract import RUN_ID, RUN_ID_REMEDY
from market_spread.common.telemetry.metrics import METRICS, MetricKind
from market_spread.common.telemetry.recorder import exact_of
from market_spread.metrics_aggregator.model.intervals import HistogramInterval
from market_spread.metrics_aggregator.model.series import SeriesId
from market_spread.v1.limits_pb2 import RunLimits
from market_spread.v1.metrics_pb2 import IntervalHistogram, Judgement, NoteRequest, PushRequest, Sample, SeriesKey

TEXT_CHARACTERS_MAX = 200
KNOWN_MAX = 20_000
SENTENCE_CHARACTERS_MAX, RESULT_CHARACTERS_MAX = 2_000, 1_000_000
FAILED_MAX, ROWS_MAX = 100, 100
AHEAD_MAX_NS, SEQUENCE_MAX = 86_400_000_000_000, 2**53
# The percentiles that a limit may be on, by name, as quantiles.
QUANTILES = {**{f"p{percent:g}": f"{round(percent / 100, 6):g}" for percent in PERCENTILES}, "max": "1"}
NoteKind = Literal["title", "limits", "plan", "system", "phase", "result", "verdict", "event"]
KINDS = get_args(NoteKind)
NoteKey = tuple[int, str, str]
_LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Measured:
    """What a push measured. The used buckets of a histogram stand beside its interval. ids: every series it names."""

    histograms: list[tuple[SeriesId, HistogramInterval, Buckets]]
    counters: list[tuple[SeriesId, float]]
    gauges: list[tuple[SeriesId, float]]
    ids: set[SeriesId]


def check_envelope(request: PushRequest, now_unix_ns: int) -> None:
    """UsageError unless source, run, sequence and times make sense."""
    if not request.source:
        raise UsageError("source is empty; give each process of a run its own name")
    check_text("source", request.source)
    check_run_id(request.run_id)
    if not request.epoch_unix_ns:
        raise UsageError("epoch_unix_ns=0; send the time when the process started")
    if not 0 < request.sequence <= SEQUENCE_MAX:
        raise UsageError(f"sequence={request.sequence}; count pushes from 1")
    check_times(request, ("epoch_unix_ns", "start_unix_ns", "end_unix_ns"), now_unix_ns)
    if request.end_unix_ns < request.start_unix_ns:
        raise UsageError(f"the interval ends {request.start_unix_ns - request.end_unix_ns} ns before it starts")


def check_times(of: PushRequest | NoteRequest | Judgement, names: Iterable[str], now_unix_ns: int) -> None:
    """UsageError if one of these times is more than a day ahead."""
    for name in names:
        if (unix_ns := getattr(of, name)) > now_unix_ns + AHEAD_MAX_NS:
            raise UsageError(f"{name}={unix_ns} is more than a day ahead; set the clock of who sends it")


def check_run_id(run_id: str) -> None:
    """UsageError unless it is empty or can be the name of a folder, whatever the system."""
    if run_id and not is_run_id(run_id):
        raise UsageError(f"run_id={run_id!r}; {RUN_ID_REMEDY}")


def is_run_id(text: str) -> bool:
    """Whether it may name a run, and so a folder."""
    return RUN_ID.fullmatch(text) is not None


def check_text(what: str, text: str, most: int = TEXT_CHARACTERS_MAX) -> None:
    """UsageError if it has more characters."""
    if len(text) > most:
        raise UsageError(f"{what} has {len(text)} characters; use at most {most}")


def read_push(request: PushRequest) -> Measured:
    """What the push measured. UsageError, naming the series, if it is wrong."""
    histograms = [_histogram(item, request) for item in request.histograms]
    counters = _samples(request.counters, request, MetricKind.COUNTER, least=0.0)
    gauges = _samples(request.gauges, request, MetricKind.GAUGE, least=-_LARGEST)
    named = [each[0] for part in (histograms, counters, gauges) for each in part]
    ids = set(named)
    if len(ids) != len(named):
        twice = next(series_id for series_id in named if named.count(series_id) > 1)
        raise UsageError(f"{twice.name} stands twice in the push with the labels {dict(twice.labels)}")
    return Measured(histograms, counters, gauges, ids)


def note_key(note: NoteRequest) -> NoteKey:
    """Two notes of the same time, kind and name are the same one. In the order of time."""
    return note.unix_ns, note.kind, note.name


def check_note(request: NoteRequest, now_unix_ns: int) -> None:
    """UsageError if anything in the note is wrong."""
    if not request.run_id:
        raise UsageError("run_id is empty; a note belongs to a run")
    check_run_id(request.run_id)
    if not request.unix_ns:
        raise UsageError("unix_ns=0; send the time of the note")
    check_times(request, ("unix_ns",), now_unix_ns)
    check_times(request.judgement, ("from_unix_ns", "to_unix_ns"), now_unix_ns)
    if request.kind not in KINDS:
        raise UsageError(f"kind={request.kind!r}; use one of {', '.join(KINDS)}")
    if not request.name:
        raise UsageError(f"the {request.kind} of a note is empty; give it a name")
    check_text("name", request.name)
    check_text("text", request.text, RESULT_CHARACTERS_MAX if request.kind == "result" else SENTENCE_CHARACTERS_MAX)
    if request.HasField("limits") != (request.kind == "limits"):
        raise UsageError(f"a note of the kind {request.kind} has limits if and only if it is of the kind limits")
    _check_limits(request.limits)
    if request.HasField("judgement"):
        _check_judgement(request.kind, request.judgement)


def _histogram(item: IntervalHistogram, of: PushRequest) -> tuple[SeriesId, HistogramInterval, Buckets]:
    series_id = _series_id(item.key.SerializeToString(), MetricKind.HISTOGRAM, of.source, of.run_id)
    exact = exact_of(item)
    with usage_errors(series_id.name, kinds=(ValueError,)):
        buckets = Buckets.decode(item.encoded)
        check_exact(buckets, exact)
    return series_id, HistogramInterval(of.start_unix_ns, of.end_unix_ns, exact, item.encoded), buckets


def _samples(
    items: Iterable[Sample], of: PushRequest, kind: MetricKind, *, least: float
) -> list[tuple[SeriesId, float]]:
    source, run_id = of.source, of.run_id
    samples = [(_series_id(item.key.SerializeToString(), kind, source, run_id), item.value) for item in items]
    for series_id, value in samples:
        if not least <= value <= _LARGEST:
            raise UsageError(f"{series_id.name}={value}; a {kind.value} is a finite number, a counter not negative")
    return samples


@lru_cache(maxsize=KNOWN_MAX)
def _series_id(wire: bytes, of_kind: MetricKind, source: str, run_id: str) -> SeriesId:
    """The series by its key as it is on the wire: nearly all were seen before."""
    key = SeriesKey.FromString(wire)
    name, labels = key.name, dict(key.labels)
    metric = METRICS.get(name)
    if metric is None:
        raise UsageError(f"{name!r} is no registered metric; add it to metric_names or update the aggregator")
    if labels.keys() != set(metric.labels):
        raise UsageError(f"{name} was pushed with the labels {sorted(labels)}; it has {sorted(metric.labels)}")
    for label, value in labels.items():
        check_text(f"{name} {label}", value)
    if metric.kind is not of_kind:
        raise UsageError(f"{name} was pushed as a {of_kind.value}; it is a {metric.kind.value}")
    return SeriesId(name, tuple(sorted(labels.items())), source, run_id)


def _check_limits(limits: RunLimits) -> None:
    for name in ("late_share_max", "rate_share_min", "stolen_share_max", "missing_share_max", "negative_share_max"):
        if not 0 <= getattr(limits, name) <= 1:
            raise UsageError(f"{name}={getattr(limits, name)}; use a share from 0 to 1")
    for name in limits.latency_us_max:
        if name not in QUANTILES:
            raise UsageError(f"latency_us_max has {name!r}; use {', '.join(QUANTILES)}")


def _check_judgement(kind: str, judgement: Judgement) -> None:
    if kind != "verdict":
        raise UsageError(f"a note of the kind {kind} has a judgement; only a verdict has one")
    if len(judgement.failed) > FAILED_MAX:
        raise UsageError(f"the verdict has {len(judgement.failed)} failed checks; send at most {FAILED_MAX}")
    check_text("cause", judgement.cause)
    check_text("outcome", judgement.outcome)
    for failed in judgement.failed:
        check_text("check", failed.check)
        check_text("cause", failed.cause)
        check_text(f"{failed.check}: text", failed.text, SENTENCE_CHARACTERS_MAX)
    if judgement.to_unix_ns < judgement.from_unix_ns:
        raise UsageError("what is judged ends before it begins; send from_unix_ns and to_unix_ns in order")
    for histogram in judgement.histograms:
        _histogram(histogram, PushRequest())
    if len(judgement.rows) > ROWS_MAX:
        raise UsageError(f"the verdict has {len(judgement.rows)} rows of latencies; send at most {ROWS_MAX}")
    for cell in (cell for row in judgement.rows for cell in row.cells):
        check_text("cell", cell)
