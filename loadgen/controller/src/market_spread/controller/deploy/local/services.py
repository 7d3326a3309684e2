"""Python processes of ours on this machine: configured by their environment, found by the ports they write down."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from market_spread.common.clock import Clock, polls
from market_spread.common.config import inherited_environment, to_environment
from market_spread.common.errors import RunFailedError, RunVoidError, UsageError
from market_spread.controller.deploy.local.process import Child

START_TIMEOUT_S = 60
# Log events, stack traces and Spark's lines, which begin with a date; an address may begin with a digit, too.
_NOT_FOR_PEOPLE = re.compile(r"[{\s]|at |Caused by|Suppressed|\d+[-/:]\d")


class Services:
    """The processes whose logs and ports are in one folder."""

    def __init__(
        self, folder: Path, *, clock: Clock, on_started: Callable[[str, int], None], outlives_parent: bool = False
    ) -> None:
        """on_started: told the name and the process id of each as soon as it is started."""
        self.folder = folder
        self.children: dict[str, Child] = {}
        self._clock = clock
        self._on_started = on_started
        self._outlives_parent = outlives_parent

    def start(self, name: str, module: str, config: object, *, environment: Mapping[str, str] | None = None) -> None:
        """Start `python -m module`; does not wait until it answers."""
        self.ports_file(name).unlink(missing_ok=True)
        self.children[name] = Child.start(
            name,
            [sys.executable, "-m", module],
            environment={**inherited_environment(), **to_environment(config), **(environment or {})},
            log=self.folder / f"{name}.log",
            outlives_parent=self._outlives_parent,
        )
        self._on_started(name, self.children[name].pid)

    def ports_file(self, name: str) -> Path:
        """Where a process says which ports it has bound; its configuration must name it."""
        return self.folder / f"{name}.ports.json"

    def ports(self, name: str) -> dict[str, int]:
        """The ports that a process has bound, once it has. UsageError with its reason if it does not."""
        child, path = self.children[name], self.ports_file(name)
        for _ in polls(self._clock, START_TIMEOUT_S, every_s=0.02):
            with suppress(FileNotFoundError):
                ports: dict[str, int] = json.loads(path.read_text())
                return ports
            if not child.running:
                raise UsageError(f"the {name.replace('_', ' ')} did not start; {_reason(child)}")
        raise UsageError(f"the {name.replace('_', ' ')} did not answer within {START_TIMEOUT_S} s (log: {child.log})")

    def stop(self, names: Iterable[str]) -> None:
        """End these, all at the same time."""
        started = [self.children[name] for name in names if name in self.children]
        with ThreadPoolExecutor(max(1, len(started))) as pool:
            for child in started:
                pool.submit(child.stop, within_s=10)

    def check_alive(self) -> None:
        """Raise if a process has ended by itself: RunFailedError for the job, RunVoidError for the others."""
        for name, child in self.children.items():
            if not child.running:
                error = RunFailedError if name.startswith("job") else RunVoidError
                raise error(f"the {name.replace('_', ' ')} ended with status {child.exit_status}; {_reason(child)}")


def _reason(child: Child) -> str:
    """The last thing a process said that is meant for a person: our errors are one line without a time stamp."""
    if child.disk_is_full:
        return f"No space left on device: {child.log.parent}"
    lines = [line for line in child.last_lines(50) if line and not _NOT_FOR_PEOPLE.match(line)]
    return f"{lines[-1] if lines else 'it gave no reason'} (log: {child.log})"
