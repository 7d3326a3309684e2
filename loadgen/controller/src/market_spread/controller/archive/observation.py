"""What a run has brought to light, on disk: enough to judge it again without any of its processes."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any, get_type_hints

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from pydantic import TypeAdapter

from market_spread.common.documents import json_object, write_whole
from market_spread.common.errors import DeadlineError, MarketSpreadError, RunFailedError, RunVoidError, usage_errors
from market_spread.controller.analysis.observed import Observed, alerts_of
from market_spread.controller.run_folder import RunFolder

_VERSION = 4
# Of each process, the field that has its last status.
_STATUSES = {"sender": "sent", "receiver": "received", "job": "job"}
_VALUES = (
    "starts_unix_ns", "sent_before", "stolen_share", "time_to_first_order_s",
    "drained", "interrupted", "job_restarts", "restarts_before", "failed_step", "measured_until_unix_ns",
    "failed_unix_ns", "silences", "looks", "round_trips", "checks", "faults",
)  # fmt: skip
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, ParseError)
_ERRORS = {kind.__name__: kind for kind in (DeadlineError, RunFailedError, RunVoidError, MarketSpreadError)}


def write(folder: RunFolder, observed: Observed) -> None:
    """The ledgers, and the last words of every process. OSError if that fails."""
    write_whole(folder.ledger, observed.ledger)
    if observed.decisions_ledger:
        write_whole(folder.decisions_ledger, observed.decisions_ledger)
    document: dict[str, Any] = {"version": _VERSION, "started": observed.started.isoformat()}
    document |= {name: MessageToDict(getattr(observed, field)) for name, field in _STATUSES.items()}
    document |= {name: getattr(observed, name) for name in _VALUES}
    if observed.error is not None:
        kind = next(name for name, kind in _ERRORS.items() if isinstance(observed.error, kind))
        document["error"] = {"kind": kind, "text": str(observed.error)}
    write_whole(folder.evidence, json.dumps(document, indent=2, default=asdict) + "\n")


def read(folder: RunFolder) -> Observed:
    """What was written, not judged. UsageError if it cannot be read."""
    with usage_errors(f"{folder.evidence} cannot be read", "start the run anew", _UNREADABLE):
        document = json_object(folder.evidence.read_bytes(), version=_VERSION)
        observed = Observed(started=datetime.fromisoformat(document["started"]))
        for name, field in _STATUSES.items():
            ParseDict(document[name], getattr(observed, field))
        kinds = get_type_hints(Observed)
        for name in _VALUES:
            setattr(observed, name, TypeAdapter(kinds[name]).validate_python(document[name]))
        if error := document.get("error"):
            observed.error = _ERRORS[error["kind"]](error["text"])
        observed.ledger = folder.ledger.read_bytes()
        if folder.decisions_ledger.exists():
            observed.decisions_ledger = folder.decisions_ledger.read_bytes()
    if observed.ledger or observed.drained:
        observed.alerts = alerts_of(observed.ledger)
    return observed
