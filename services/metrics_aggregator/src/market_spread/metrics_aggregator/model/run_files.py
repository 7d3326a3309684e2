"""The logs of runs on disk: `<runs folder>/<run id>/metrics.hlog`, written before anything is acknowledged."""

import errno
import fcntl
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from market_spread.common.documents import write_all
from market_spread.common.errors import UnavailableError
from market_spread.metrics_aggregator.model import hlog
from market_spread.metrics_aggregator.model.hlog import Entry, Reading
from market_spread.metrics_aggregator.model.push_validation import is_run_id

FILE_NAME = "metrics.hlog"
OPEN_MAX, RUNS_MAX = 16, 10_000
_LINE_BYTES_MAX = 64 * 1024 * 1024


class RunFiles:
    """The logs below a folder; at most OPEN_MAX of them are open for writing. Not thread-safe but for `read`.

    What is appended is with the operating system when `append` returns: it outlives the process, not a power cut.
    Only one process writes a run's log: it holds a lock on it.
    """

    def __init__(self, folder: Path) -> None:
        """The folder need not exist."""
        self.folder = folder
        self._open: OrderedDict[str, int] = OrderedDict()  # descriptors
        self.damaged = 0

    def path(self, run_id: str) -> Path:
        """Where the run's log is. The run id must have been checked."""
        return self.folder / run_id / FILE_NAME

    def append(self, run_id: str, block: bytes, begin_unix_ns: int) -> None:
        """Write a push or a note down whole. UnavailableError if it cannot be; then nothing of it stays."""
        try:
            log = self._log(run_id)
            whole_bytes = os.fstat(log).st_size
            try:
                write_all(log, block if whole_bytes else hlog.header(begin_unix_ns) + block)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(log, whole_bytes)
                self._close(run_id)
                raise
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise UnavailableError(
                f"{self.path(run_id)} cannot be written: {reason}; the push is to be kept and sent again"
            ) from error

    def entries(self, run_id: str) -> Iterator[Entry]:
        """All that is written down of a run, oldest first. UnavailableError if it cannot be read.

        A torn tail is left out, and is cut off by `append`.
        """
        reading, path = Reading(), self.path(run_id)
        try:
            yield from read(path, reading)
        except OSError as error:
            raise UnavailableError(f"{path} cannot be read: {error.strerror}; give access to it") from error
        self.damaged += reading.damaged

    def changed_since(self, unix_ns: int) -> list[str]:
        """Ids of the runs whose logs have changed since."""
        found = []
        with suppress(OSError):
            for folder in self.folder.iterdir():
                with suppress(OSError):
                    if is_run_id(folder.name) and (folder / FILE_NAME).stat().st_mtime_ns >= unix_ns:
                        found.append(folder.name)
        return sorted(found)

    def close(self) -> None:
        for run_id in list(self._open):
            self._close(run_id)

    def _log(self, run_id: str) -> int:
        log = self._open.get(run_id)
        if log is None:
            while len(self._open) >= OPEN_MAX:
                self._close(next(iter(self._open)))
            log = self._open[run_id] = _open(self.path(run_id))
        self._open.move_to_end(run_id)
        return log

    def _close(self, run_id: str) -> None:
        with suppress(OSError):
            os.close(self._open.pop(run_id))


def read(path: Path, reading: Reading) -> Iterator[Entry]:
    """All that a log holds; nothing if there is none."""
    return filter(None, map(hlog.decode, _blocks(path, reading)))


def _blocks(path: Path, reading: Reading) -> Iterator[list[bytes]]:
    with suppress(FileNotFoundError, NotADirectoryError), path.open("rb") as file:
        yield from hlog.whole_blocks(iter(lambda: file.readline(_LINE_BYTES_MAX), b""), reading)


def _open(path: Path) -> int:
    """The log, open for appending, locked, its torn tail cut off. OSError if that cannot be."""
    if not path.parent.exists() and path.parents[1].exists() and len(os.listdir(path.parents[1])) >= RUNS_MAX:
        raise OSError(errno.EDQUOT, f"there are {RUNS_MAX} runs already")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        reading = Reading()
        for _ in _blocks(path, reading):
            pass
        os.ftruncate(descriptor, reading.whole)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise BlockingIOError(error.errno, "another metrics-aggregator writes it") from error
        raise
    return descriptor
