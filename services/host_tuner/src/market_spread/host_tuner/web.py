"""The tuner over HTTP: its metrics, its report, and whether it looks at the host at all."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from market_spread.common.errors import usage_errors

_TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class StatusPage:
    """What is answered."""

    body: bytes
    content_type: str = _TEXT
    status: HTTPStatus = HTTPStatus.OK


class WebServer:
    """Serves pages by path, each made when it is asked for."""

    def __init__(self, host: str, port: int, pages: Mapping[str, Callable[[], StatusPage]]) -> None:
        """UsageError if the address cannot be bound."""
        with usage_errors(f"{host}:{port} cannot be served", "use another port", (OSError, OverflowError)):
            self._server = ThreadingHTTPServer((host, port), _handler(pages))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="web", daemon=True)

    @property
    def port(self) -> int:
        """The port that is bound."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Serve from now on, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Serve no longer."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(pages: Mapping[str, Callable[[], StatusPage]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        # Who opens a connection and says nothing holds a thread for so long.
        timeout = 10

        def do_GET(self) -> None:
            make = pages.get(self.path.partition("?")[0])
            page = make() if make else StatusPage(b"not found\n", status=HTTPStatus.NOT_FOUND)
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Requests are not logged."""

    return Handler
