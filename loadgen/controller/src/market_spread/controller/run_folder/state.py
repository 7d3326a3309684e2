"""The run's current step, on disk, so that an interrupted run can be diagnosed and resumed."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from market_spread.common.clock import Clock
from market_spread.common.documents import json_object, write_whole
from market_spread.common.errors import usage_errors

VERSION = 1
# The step of a run from the moment when everything needed to judge it is on disk.
JUDGING = "judging"
CAPTURING = "capturing"
DONE = "done"


class State:
    """The steps of a run, written down at each change. Not thread-safe.

    steps: of each its name, when it was started, and `duration_s`, None while it lasts.
    """

    def __init__(
        self, path: Path, *, clock: Clock, source: str = "market", resumed: int = 0, can_be_judged: bool = False
    ) -> None:
        """source: where the run's load comes from, as its plan says."""
        self._path = path
        self._source = source
        self._clock = clock
        self._since_ns = clock.monotonic_ns()
        self.steps: list[dict[str, Any]] = []
        self.resumed = resumed
        self.can_be_judged = can_be_judged
        self.error = ""

    @property
    def step(self) -> str:
        """The newest step; empty before the first."""
        return self.steps[-1]["name"] if self.steps else ""

    def enter(self, name: str) -> None:
        """Begin a step, if it is another one than the newest. OSError if it cannot be written down."""
        if name == self.step:
            return
        now_ns = self._clock.monotonic_ns()
        if self.steps:
            self.steps[-1]["duration_s"] = round((now_ns - self._since_ns) / 1e9, 3)
        self._since_ns = now_ns
        started = datetime.fromtimestamp(self._clock.unix_ns() / 1e9, UTC).isoformat(timespec="milliseconds")
        self.steps.append({"name": name, "started": started, "duration_s": None})
        self.write()

    def fail(self, error: str) -> None:
        """Note why the newest step failed."""
        self.error = error
        self.write()

    def write(self) -> None:
        """Write it down. OSError if that fails."""
        document = {
            "version": VERSION,
            "step": self.step,
            "source": self._source,
            "can_be_judged": self.can_be_judged,
            "resumed": self.resumed,
            "error": self.error,
            "steps": self.steps,
        }
        write_whole(self._path, json.dumps(document, indent=2) + "\n")

    @staticmethod
    def read(path: Path) -> Mapping[str, Any] | None:
        """What was written; None if there is nothing. UsageError if it cannot be read."""
        with usage_errors(f"{path} cannot be read", "start the run anew", (OSError, ValueError)):
            return json_object(path.read_bytes(), version=VERSION) if path.exists() else None
