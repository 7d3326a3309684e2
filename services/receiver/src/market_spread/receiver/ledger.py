"""The ledger of a run on disk: what was received, appended before it is counted, and read back after a kill."""

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from market_spread.common.documents import json_object, write_all
from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.schema import number, value_of
from market_spread.common.wire.codec import RECEIPT, LedgerColumns, decode_ledger
from market_spread.common.wire.layout import ALERT, DECISION, Layout

ALERTS, DECISIONS, INVALID = "alerts", "decisions", "invalid"
NAMES = (ALERTS, DECISIONS, INVALID)


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """A line of `invalid.ledger`: where the record stood, and what it was.

    Exactly one is set of: `invalid`, the job's report; `unreadable_invalid`, a record of that topic that is not one;
    `unreadable_alert`, `unreadable_decision`, a record of these topics that is none (the beginning of its text, all).
    """

    partition: Annotated[int, number(0, 2**31 - 1, "")]
    offset: Annotated[int, number(0, 2**63 - 2, "")]
    received_us: int
    invalid: dict[str, object] | None = None
    unreadable_invalid: str | None = None
    unreadable_alert: str | None = None
    unreadable_decision: str | None = None

    def encode(self) -> bytes:
        """The line, with its end."""
        line = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(line).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Recovered:
    """What an earlier process of the same run has written."""

    alerts: LedgerColumns
    decisions: LedgerColumns
    invalid: list[InvalidLine]

    @property
    def records(self) -> int:
        return len(self.alerts) + len(self.decisions) + len(self.invalid)


class Ledger:
    """A run's files: `alerts.ledger` and `decisions.ledger`, as `common.wire.codec` writes them, and `invalid.ledger`,
    a JSON object a line.

    `open` reads back what is there, then `append`. Whatever the moment of a kill, a file holds whole lines and at most
    one incomplete one at its end, which the next `open` drops.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        self._folder = folder / run_id
        self._paths = {name: ledger_path(folder, run_id, name) for name in NAMES}
        self._files: dict[str, int] = {}

    def open(self) -> Recovered:
        """Take the files for this process, drop incomplete ends. UsageError if they cannot be used."""
        try:
            with usage_errors(f"the ledger in {self._folder} cannot be used"):
                self._folder.mkdir(parents=True, exist_ok=True)
                for name, path in self._paths.items():
                    self._files[name] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
                try:
                    fcntl.flock(self._files[ALERTS], fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise UsageError(f"another receiver writes the ledger in {self._folder}; stop it first") from error
                alerts, decisions = self._recover(ALERTS, ALERT), self._recover(DECISIONS, DECISION)
                return Recovered(alerts, decisions, self._recover_invalid())
        except UsageError:
            self.close()
            raise

    def append(self, name: str, lines: bytes) -> None:
        """Append whole lines. UsageError if the disk does not take them."""
        with usage_errors(f"the ledger {self._paths[name]} cannot be written", "mend that and start the run again"):
            write_all(self._files[name], lines)

    def close(self) -> None:
        for file in self._files.values():
            os.close(file)
        self._files.clear()

    def _recover(self, name: str, layout: Layout) -> LedgerColumns:
        lines = decode_ledger(self._paths[name].read_bytes(), layout)
        os.ftruncate(self._files[name], len(lines) * (layout.width + RECEIPT.width))
        return lines

    def _recover_invalid(self) -> list[InvalidLine]:
        path = self._paths[INVALID]
        data = path.read_bytes()
        complete = data[: data.rfind(b"\n") + 1]
        os.ftruncate(self._files[INVALID], len(complete))
        with usage_errors(f"the ledger {path} has a damaged line", "repeat the run", (ValueError,)):
            return value_of(list[InvalidLine], list(map(json_object, complete.splitlines())))


def ledger_path(folder: Path, run_id: str, name: str) -> Path:
    """Where a ledger of a run is."""
    return folder / run_id / f"{name}.ledger"


def read_ledger(path: Path, *, piece_bytes: int) -> Iterator[bytes]:
    """The bytes of a ledger as written so far, in pieces. UsageError if there is none."""
    with usage_errors(f"there is no ledger {path}", "check the run's id"), path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size
        while left > 0 and (piece := file.read(min(piece_bytes, left))):
            left -= len(piece)
            yield piece
