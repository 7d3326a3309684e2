"""The metrics page as one file."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from market_spread.common.errors import RunFailedError, UsageError
from market_spread.controller.session.metrics_page import export_page, serve_pages
from tests.support.clock import ManualClock


@contextmanager
def answering(status: int, body: bytes) -> Iterator[tuple[str, list[str]]]:
    """A server on loopback: where it is, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def test_page_is_written_beside_the_result(tmp_path: Path) -> None:
    with answering(200, b"<html>") as (address, asked):
        path = export_page(address, "20261122-080000-quick", tmp_path)

    assert asked == ["/api/v1/runs/20261122-080000-quick/export"]
    assert (path, path.read_bytes()) == (tmp_path / "metrics.html", b"<html>")
    assert list(tmp_path.iterdir()) == [path]


def test_what_goes_wrong_is_a_sentence_and_leaves_no_file(tmp_path: Path) -> None:
    with answering(404, b"{}") as (address, _), pytest.raises(RunFailedError, match="the aggregator answered 404"):
        export_page(address, "r1", tmp_path)
    with pytest.raises(RunFailedError, match=r"the metrics page could not be written: .*Connection refused"):
        export_page(address, "r1", tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_runs_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none is not a folder; name the one that holds the runs, which `run` makes"):
        serve_pages(tmp_path / "none", port=0, clock=ManualClock(), say=print, stop_event=threading.Event)

    assert list(tmp_path.iterdir()) == []
