"""Processes that are remembered in a file, and told from others that have their process ids by now."""

import dataclasses
import json
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from market_spread.common.clock import Clock, polls
from market_spread.common.documents import json_object, write_whole
from market_spread.common.errors import UsageError
from market_spread.common.schema import value_of
from market_spread.controller.clients.services import Addresses

_VERSION = 2
_KILL_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Process:
    """A process: its id, and when it was started, in the kernel's ticks since the machine was."""

    name: str
    pid: int
    start_ticks: int

    @staticmethod
    def running_now(name: str, pid: int) -> "Process | None":
        """The process that has this id now; None if there is none, or nothing is left of it but its exit status."""
        ticks = _start_ticks(pid)
        return None if ticks is None else Process(name, pid, ticks)

    @property
    def title(self) -> str:
        """Its name for a person."""
        return self.name.replace("_", "-")

    @property
    def running(self) -> bool:
        """Whether it has not ended; another process with its id does not count."""
        return _start_ticks(self.pid) == self.start_ticks

    def send(self, number: int) -> None:
        """Send it a signal if it runs. UsageError if that is not allowed."""
        try:
            if self.running:
                os.kill(self.pid, number)
        except ProcessLookupError:
            return
        except PermissionError as error:
            raise UsageError(f"the {self.title} (process {self.pid}) is another user's; end it as that user") from error

    def descendants(self) -> "list[Process]":
        """What it has started, and what those have."""
        found: list[psutil.Process] = []
        with suppress(psutil.Error):
            found = psutil.Process(self.pid).children(recursive=True) if self.running else []
        processes = (Process.running_now(self.name, child.pid) for child in found)
        return [process for process in processes if process is not None]


@dataclass(frozen=True, slots=True)
class RegisteredStack:
    """Processes that are up, where they are reached, and the folder of their logs and data.

    addresses: None as long as not all of them have been started.
    """

    folder: Path
    addresses: Addresses | None
    processes: tuple[Process, ...]

    @property
    def running(self) -> list[Process]:
        """Those that have not ended."""
        return [process for process in self.processes if process.running]

    def write(self, path: Path) -> None:
        """Write it, so that a reader sees all of it or what was there before. OSError if that fails."""
        write_whole(path, json.dumps({"version": _VERSION, **dataclasses.asdict(self)}, indent=2, default=str) + "\n")

    @staticmethod
    def read(path: Path) -> "RegisteredStack | None":
        """What was written; None if there is nothing. UsageError if the file is damaged, or of another version."""
        try:
            return value_of(RegisteredStack, json_object(path.read_bytes(), version=_VERSION))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise UsageError(
                f"{path} does not tell which processes are up ({error}); look for them with ps, then delete it"
            ) from error


def end_all(processes: Iterable[Process], *, clock: Clock, within_s: float) -> None:
    """Ask the processes to end, and after the time end them, and whatever they started, by force.

    UsageError if one cannot be ended.
    """
    processes = [process for process in processes if process.running]
    everything = [*processes, *(child for process in processes for child in process.descendants())]
    for process in processes:
        process.send(signal.SIGTERM)
    _wait_for_end(processes, clock, within_s)
    for process in everything:
        process.send(signal.SIGKILL)
    _wait_for_end(everything, clock, _KILL_WITHIN_S)
    left = [process for process in everything if process.running]
    if left:
        raise UsageError(f"the {left[0].title} (process {left[0].pid}) does not end; end it by hand")


def _wait_for_end(processes: Iterable[Process], clock: Clock, within_s: float) -> None:
    for _ in polls(clock, within_s, every_s=0.02):
        if not any(process.running for process in processes):
            return


def _start_ticks(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()  # the name before may hold blanks and brackets
    return None if state in ("Z", "X") else int(fields[18])
