"""Child processes on this machine, never left behind; of ours, configured by their environment, the ports they bind."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from market_spread.common.clock import Clock, polls
from market_spread.common.config import inherited_environment, to_environment
from market_spread.common.errors import RunFailedError, RunVoidError, UsageError
from market_spread.common.processes import family

START_TIMEOUT_S = 60
_FREE_BYTES_MIN = 1024 * 1024
# Log events, stack traces and Spark's lines, which begin with a date; an address may begin with a digit, too.
_NOT_FOR_PEOPLE = re.compile(r"[{\s]|at |Caused by|Suppressed|\d+[-/:]\d")


@dataclass(eq=False)
class Child:
    """A running child process, in a group of its own, whatever it starts included. log: the file of its output."""

    _process: "subprocess.Popen[bytes]"
    log: Path

    @staticmethod
    def start(
        name: str, command: Sequence[str | Path], *, environment: Mapping[str, str], log: Path,
        outlives_parent: bool = False, folder: Path | None = None,
    ) -> "Child":  # fmt: skip
        """Start it, in the folder or in ours.

        The kernel ends it when this thread's process ends, unless it `outlives_parent`.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        prefix = [] if outlives_parent else ending_with_parent()
        try:
            with log.open("ab") as output:
                process = subprocess.Popen(
                    [*prefix, *(str(word) for word in command)],
                    stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=dict(environment),
                    start_new_session=True, cwd=folder,
                )  # fmt: skip
        except OSError as error:
            raise UsageError(f"{name} cannot be started: {error.strerror}: {command[0]}") from error
        return Child(process, log)

    @property
    def pid(self) -> int:
        """Its process id, which is also its group's."""
        return self._process.pid

    @property
    def running(self) -> bool:
        return self.exit_status is None

    @property
    def exit_status(self) -> int | None:
        """Its exit status (negative: the signal that ended it), None while it runs."""
        return self._process.poll()

    def last_lines(self, count: int = 5) -> list[str]:
        """The end of its output."""
        try:
            with self.log.open(encoding="utf-8", errors="replace") as file:
                return [line.rstrip("\n") for line in deque(file, count)]
        except FileNotFoundError:
            return []

    @property
    def disk_is_full(self) -> bool:
        """Whether the disk of its output has no room left, or had none; that is why anything fails then."""
        is_full_now = shutil.disk_usage(self.log.parent).free < _FREE_BYTES_MIN
        return is_full_now or any(os.strerror(errno.ENOSPC) in line for line in self.last_lines(1000))

    def send(self, number: int) -> None:
        """Send a signal to it, and to everything that it has started."""
        with suppress(psutil.Error):
            for process in family(psutil.Process(self.pid)):
                with suppress(psutil.Error):
                    process.send_signal(number)

    def suspend(self) -> Callable[[], object]:
        """Stop it and all that it has started (SIGSTOP); returns what lets them go on (SIGCONT).

        That signal comes from a shell that waits for this process's word, or for its end, be it by kill -9.
        """
        pids = [str(process.pid) for process in family(psutil.Process(self.pid))]
        goes_on = ["sh", "-c", 'read -r _; kill -CONT "$@" 2>&-', "sh", *pids]
        guard = subprocess.Popen(goes_on, stdin=subprocess.PIPE, start_new_session=True)
        self.send(signal.SIGSTOP)
        return guard.communicate

    @property
    def end(self) -> str:
        """How it has ended, for people: `was killed (SIGKILL)`, `ended with status 1`."""
        status = self.exit_status or 0
        return f"ended with status {status}" if status >= 0 else f"was killed ({signal.Signals(-status).name})"

    def stop(self, *, within_s: float = 10.0, adopted: bool = False) -> None:
        """Ask it to end; end it, and everything it started, by force after the time; adopted: and all of our family."""
        descendants: list[psutil.Process] = []
        with suppress(psutil.Error):
            descendants = psutil.Process(None if adopted else self.pid).children(recursive=True)
        if self.running:
            self._process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(within_s)
        for process in descendants:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(descendants, timeout=5)
        if self.running:
            self._process.kill()
            self._process.wait(5)


def ending_with_parent() -> list[str]:
    """A command prefix that has the kernel send SIGTERM when the parent ends, be it by kill -9.

    The signal comes when the starting *thread* ends, so only the main one may ask for it. Empty without `setpriv`.
    """
    setpriv = shutil.which("setpriv") if threading.current_thread() is threading.main_thread() else None
    return [setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []


class Services:
    """The processes whose logs and ports are in one folder."""

    def __init__(
        self, folder: Path, *, clock: Clock, on_started: Callable[[str, int], None], outlives_parent: bool = False
    ) -> None:
        """on_started: told the name and the process id of each as soon as it is started."""
        self.folder = folder
        self.children: dict[str, Child] = {}
        self._clock, self._on_started, self._outlives_parent = clock, on_started, outlives_parent

    def start(self, name: str, module: str, config: object, *, environment: Mapping[str, str] | None = None) -> None:
        """Start `python -m module`; does not wait until it answers."""
        self.ports_file(name).unlink(missing_ok=True)
        self.children[name] = Child.start(
            name, [sys.executable, "-m", module],
            environment={**inherited_environment(), **to_environment(config), **(environment or {})},
            log=self.folder / f"{name}.log", outlives_parent=self._outlives_parent,
        )  # fmt: skip
        self._on_started(name, self.children[name].pid)

    def ports_file(self, name: str) -> Path:
        """Where a process says which ports it has bound; its configuration must name it."""
        return self.folder / f"{name}.ports.json"

    def ports(self, name: str) -> dict[str, int]:
        """The ports that a process has bound, once it has. UsageError with its reason if it does not."""
        child, path = self.children[name], self.ports_file(name)
        for _ in polls(self._clock, START_TIMEOUT_S, every_s=0.02):
            with suppress(FileNotFoundError):
                ports: dict[str, int] = json.loads(path.read_text("utf-8"))
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

    def check_alive(self, besides: Collection[str] = ()) -> None:
        """Raise if one besides these has ended by itself: RunFailedError for the job, RunVoidError for the others."""
        for name, child in self.children.items():
            if name not in besides and not child.running:
                error = RunFailedError if name.startswith("job") else RunVoidError
                raise error(f"the {name.replace('_', ' ')} {child.end}; {_reason(child)}")


def _reason(child: Child) -> str:
    """The last thing a process said that is meant for a person: our errors are one line without a time stamp."""
    if child.disk_is_full:
        return f"No space left on device: {child.log.parent}"
    lines = [line for line in child.last_lines(50) if line and not _NOT_FOR_PEOPLE.match(line)]
    return f"{lines[-1] if lines else 'it gave no reason'} (log: {child.log})"
