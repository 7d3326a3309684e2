"""The processes of the cluster: started apart from whoever starts them, found again and ended by their ids."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tests.cluster.ground.errors import GroundError

_POLL_S = 0.1


class Processes:
    """The processes whose ids and logs are in a folder. An id counts only while the process it was given to lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self, name: str, command: Sequence[str | Path]) -> int:
        """Start it in a session of its own, with its output in a log; returns its process id."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        process.returncode = 0  # it is ours no longer: it outlives us, and nobody waits for it
        self._note(name).write_text(json.dumps([process.pid, started_at(process.pid)]))
        return process.pid

    def log(self, name: str) -> Path:
        """The file of its output."""
        return self._folder / f"{name}.log"

    def pid(self, name: str) -> int | None:
        """Its process id; None if it does not run."""
        try:
            pid, started = json.loads(self._note(name).read_text())
        except (FileNotFoundError, ValueError):
            return None
        return pid if started is not None and started_at(pid) == started else None

    def running(self) -> dict[str, int]:
        """The ids of all that run, by name."""
        found = {note.stem: self.pid(note.stem) for note in self._folder.glob("*.json")}
        return {name: pid for name, pid in found.items() if pid is not None}

    def stop(self, name: str, *, within_s: float = 5) -> None:
        """Ask it to end, end it by force after the time. Nothing happens if it does not run."""
        pid = self.pid(name)
        if pid is not None:
            end([pid], within_s=within_s)
        self._note(name).unlink(missing_ok=True)

    def last_words(self, name: str) -> str:
        """The end of its log."""
        lines = self.log(name).read_text(errors="replace").splitlines() if self.log(name).exists() else []
        return " ".join(lines[-3:])

    def wait_until(self, name: str, ready: Callable[[], bool], *, within_s: float) -> None:
        """Wait for what the process is to do. GroundError if it ends before, or the time does."""
        deadline = time.monotonic() + within_s
        while not ready():
            if self.pid(name) is None:
                raise GroundError(f"{name} ended: {self.last_words(name)}")
            if time.monotonic() > deadline:
                raise GroundError(f"{name} is not ready after {within_s:g} s: {self.last_words(name)}")
            time.sleep(_POLL_S)

    def _note(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def started_at(pid: int) -> int | None:
    """When a process started, in ticks since boot; None if there is none, or only its exit status is left of it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def end(pids: Iterable[int], *, within_s: float) -> None:
    """End processes: by SIGTERM, and those that are there after the time by SIGKILL."""
    alive = {pid: started for pid in pids if (started := started_at(pid)) is not None}
    for number, patience_s in ((signal.SIGTERM, within_s), (signal.SIGKILL, 5.0)):
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + patience_s
        while alive and time.monotonic() < deadline:
            alive = {pid: started for pid, started in alive.items() if started_at(pid) == started}
            time.sleep(0.02)
