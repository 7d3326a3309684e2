"""A child process: started in a group of its own, its output in a file, ended with its parent, never left behind."""

import errno
import os
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from market_spread.common.errors import UsageError

_FREE_BYTES_MIN = 1024 * 1024


@dataclass(eq=False)
class Child:
    """A running child process, whatever it starts included. log: the file of its output."""

    _process: "subprocess.Popen[bytes]"
    log: Path

    @staticmethod
    def start(
        name: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        log: Path,
        outlives_parent: bool = False,
        folder: Path | None = None,
    ) -> "Child":
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
            with self.log.open(errors="replace") as file:
                return [line.rstrip("\n") for line in deque(file, count)]
        except FileNotFoundError:
            return []

    @property
    def disk_is_full(self) -> bool:
        """Whether the disk of its output has no room left, or had none; that is why anything fails then."""
        is_full_now = shutil.disk_usage(self.log.parent).free < _FREE_BYTES_MIN
        return is_full_now or any(os.strerror(errno.ENOSPC) in line for line in self.last_lines(1000))

    def stop(self, *, within_s: float = 10.0) -> None:
        """Ask it to end; end it, and everything it started, by force after the time."""
        descendants: list[psutil.Process] = []
        with suppress(psutil.Error):
            descendants = psutil.Process(self.pid).children(recursive=True)
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
