"""The metrics page of a run: its address, its copy as one file, and the page of finished runs."""

import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import urllib3
from rich.console import Console

from market_spread.common.clock import Clock
from market_spread.common.documents import write_whole
from market_spread.common.errors import RunFailedError, UnavailableError, UsageError
from market_spread.controller.deploy.local.services import Services
from market_spread.controller.run_folder.folder import RunFolder
from market_spread.controller.views.report import pushed
from market_spread.metrics_aggregator.config import AggregatorConfig
from market_spread.metrics_aggregator.model import hlog
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.page import one_file
from market_spread.v1.metrics_pb2 import NoteRequest

FILE_NAME = "metrics.html"
_EXPORT_S = 60
_CHECK_S = 0.5


def export_page(address: str, run_id: str, folder: Path) -> Path:
    """Write the run's page, its data inside, as one file into the folder. RunFailedError if that cannot be done."""
    page = f"{address}/api/v1/runs/{quote(run_id)}/export"
    try:
        answer = urllib3.request("GET", page, timeout=_EXPORT_S, retries=False)
        if answer.status != HTTPStatus.OK:
            raise RunFailedError(f"the metrics page could not be written: the aggregator answered {answer.status}")
        return write_whole(folder / FILE_NAME, answer.data)
    except (OSError, urllib3.exceptions.HTTPError) as error:
        raise RunFailedError(f"the metrics page could not be written: {error}") from error


def with_notes(folder: RunFolder, notes: Iterable[NoteRequest], *, clock: Clock) -> Path:
    """Add notes to the run's log, which nobody else writes, and write the page from it, as one file into the folder.

    RunFailedError if that cannot be done.
    """
    log = RunFiles(folder.path.parent)
    try:
        for note in notes:
            log.append(folder.run_id, hlog.note_block(note), note.unix_ns)
        data = pushed(folder, clock)
        assert data is not None, "a log that a note was added to is there"
        return write_whole(folder.path / FILE_NAME, one_file(data).encode())
    except (UnavailableError, OSError) as error:
        raise RunFailedError(f"the metrics page could not be written: {error}") from error
    finally:
        log.close()


def show_page(write: Callable[[], Path], console: Console) -> None:
    """Have the page written and say where, or why not: a run is not worse for want of its page."""
    try:
        said = f"[dim]{write()}[/dim]"
    except RunFailedError as error:
        said = str(error)
    console.print(said, soft_wrap=True, highlight=False)


def serve_pages(
    runs_folder: Path,
    *,
    port: int,
    clock: Clock,
    say: Callable[[str], None],
    stop_event: Callable[[], threading.Event],
) -> None:
    """Serve the pages of the runs in the folder until the event is set. UsageError if there is no such folder.

    The aggregator that does it takes no pushes, writes its log beside the runs, and is ended with this.
    """
    if not runs_folder.is_dir():
        raise UsageError(f"{runs_folder} is not a folder; name the one that holds the runs, which `run` makes")
    stop = stop_event()
    services = Services(runs_folder / ".ui", clock=clock, on_started=lambda name, pid: None)
    config = AggregatorConfig(
        http_port=port,
        ports_file=services.ports_file("metrics_aggregator"),
        runs_folder=runs_folder.resolve(),
        takes_pushes=False,
    )
    try:
        services.start("metrics_aggregator", "market_spread.metrics_aggregator", config)
        ports = services.ports("metrics_aggregator")
        say(f"runs of {runs_folder}: http://127.0.0.1:{ports['http']} (until Ctrl-C)")
        while not stop.wait(_CHECK_S):
            services.check_alive()
    finally:
        services.stop(["metrics_aggregator"])
