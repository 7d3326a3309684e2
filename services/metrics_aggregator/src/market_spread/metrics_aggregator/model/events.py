"""What went on in a run: its title, its limits, its system, its phases, its verdict, events."""

from typing import Literal, get_args

from market_spread.common.errors import UsageError
from market_spread.common.hdr.histogram import PERCENTILES
from market_spread.metrics_aggregator.model.push_validation import check_histogram, check_run_id, check_text
from market_spread.v1.limits_pb2 import RunLimits
from market_spread.v1.metrics_pb2 import Judgement, NoteRequest

NOTES_MAX = 1_000
SENTENCE_CHARACTERS_MAX = 2_000
FAILED_MAX = 100
ROWS_MAX = 100
# The percentiles that a limit may be on, by name, as quantiles.
QUANTILES = {**{f"p{percent:g}": f"{round(percent / 100, 6):g}" for percent in PERCENTILES}, "max": "1"}

NoteKind = Literal["title", "limits", "system", "phase", "verdict", "event"]
KINDS = get_args(NoteKind)
NoteKey = tuple[int, str, str]


def note_key(note: NoteRequest) -> NoteKey:
    """Two notes of the same time, kind and name are the same one. In the order of time."""
    return note.unix_ns, note.kind, note.name


def check_note(request: NoteRequest) -> None:
    """UsageError if anything in the note is wrong."""
    if not request.run_id:
        raise UsageError("run_id is empty; a note belongs to a run")
    check_run_id(request.run_id)
    if not request.unix_ns:
        raise UsageError("unix_ns=0; send the time of the note")
    if request.kind not in KINDS:
        raise UsageError(f"kind={request.kind!r}; use one of {', '.join(KINDS)}")
    if not request.name:
        raise UsageError(f"the {request.kind} of a note is empty; give it a name")
    check_text("name", request.name)
    check_text("text", request.text, SENTENCE_CHARACTERS_MAX)
    if request.HasField("limits") != (request.kind == "limits"):
        raise UsageError(f"a note of the kind {request.kind} has limits if and only if it is of the kind limits")
    _check_limits(request.limits)
    if request.HasField("judgement"):
        _check_judgement(request.kind, request.judgement)


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
        check_histogram(histogram)
    if len(judgement.rows) > ROWS_MAX:
        raise UsageError(f"the verdict has {len(judgement.rows)} rows of latencies; send at most {ROWS_MAX}")
    for cell in (cell for row in judgement.rows for cell in row.cells):
        check_text("cell", cell)
