"""The files of a run's folder, by name."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from market_spread.common.errors import UsageError


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where what is kept of a run is. Nothing need exist."""

    path: Path

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.path.name

    @property
    def result(self) -> Path:
        """The result, JSON."""
        return self.path / "result.json"

    @property
    def manifest(self) -> Path:
        """What the run was made of, JSON, hashed."""
        return self.path / "manifest.json"

    @property
    def workload(self) -> Path:
        """The workload exactly as it was run."""
        return self.path / "workload.yaml"

    @property
    def state(self) -> Path:
        """The step that the run is at."""
        return self.path / "state.json"

    @property
    def evidence(self) -> Path:
        """What the processes said, from which the result is made."""
        return self.path / "evidence.json"

    @property
    def ledger(self) -> Path:
        """All alerts as they were received."""
        return self.path / "alerts.ledger"

    @property
    def decisions_ledger(self) -> Path:
        """All decisions as they were received, of a run that sends them."""
        return self.path / "decisions.ledger"

    @property
    def metrics(self) -> Path:
        """Everything that the processes pushed."""
        return self.path / "metrics.hlog"

    @property
    def samples(self) -> Path:
        """The timeline as it grows, an Arrow stream."""
        return self.path / "timeline.arrows"

    @property
    def timeline(self) -> Path:
        """Each second of every component, Parquet."""
        return self.path / "timeline.parquet"

    @property
    def histograms(self) -> Path:
        """Folder of the interval logs."""
        return self.path / "histograms"

    @property
    def logs(self) -> Path:
        """Folder of the processes' logs."""
        return self.path / "logs"

    @property
    def document(self) -> Path:
        """The run document that a person reads, Markdown."""
        return self.path / "run.md"

    @property
    def report(self) -> Path:
        """The report, one HTML file."""
        return self.path / "report.html"

    @property
    def processes(self) -> Path:
        """What the processes write while they run."""
        return self.path / "processes"


def write_whole(path: Path, text: str | bytes) -> Path:
    """Write a file so that a reader sees all of it or what was there before. OSError if that fails."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_bytes(text.encode() if isinstance(text, str) else text)
    unfinished.replace(path)
    return path


@contextmanager
def locked(folder: RunFolder) -> Iterator[None]:
    """Have the run for this process alone. UsageError if another process carries it out."""
    descriptor = os.open(folder.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise UsageError(f"the run {folder.run_id} is going on in another process; wait for its end") from error
    finally:
        os.close(descriptor)


def new_run_folder(runs_folder: Path, name: str) -> tuple[str, Path]:
    """A run id that no run has yet, and its new folder. UsageError if it cannot be made."""
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}"
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        folder = runs_folder / (stem + suffix)
        try:
            folder.mkdir(parents=True)
            return stem + suffix, folder.resolve()
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(f"the run's folder {folder} cannot be made: {error.strerror}") from error
    raise UsageError(f"{runs_folder} has 99 runs of this second; wait a moment")
