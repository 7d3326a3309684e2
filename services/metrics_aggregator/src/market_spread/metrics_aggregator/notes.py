"""What went on in a run: its title, its phases, its verdict, events."""

from dataclasses import dataclass
from typing import Literal, cast

from market_spread.common.errors import UsageError
from market_spread.metrics_aggregator.intake import check_run_id, check_text
from market_spread.v1.metrics_pb2 import NoteRequest

NOTES_MAX = 1_000
SENTENCE_CHARACTERS_MAX = 2_000
KINDS = ("title", "phase", "verdict", "event")

NoteKind = Literal["title", "phase", "verdict", "event"]


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """What went on at a moment, Unix nanoseconds. Two notes of the same time, kind and name are the same one."""

    unix_ns: int
    kind: NoteKind
    name: str
    text: str = ""

    @property
    def key(self) -> tuple[int, str, str]:
        """What makes it this note."""
        return self.unix_ns, self.kind, self.name


def read_note(request: NoteRequest) -> Note:
    """The note that was sent. UsageError if anything in it is wrong."""
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
    if len(request.text) > SENTENCE_CHARACTERS_MAX:
        raise UsageError(f"text has {len(request.text)} characters; use at most {SENTENCE_CHARACTERS_MAX}")
    return Note(request.unix_ns, cast(NoteKind, request.kind), request.name, request.text)
