"""The life of the tuner: look, mend, tell, again and again; and put the host back when it is removed for good."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from market_spread.common.clock import Clock
from market_spread.common.errors import RunFailedError, UnavailableError, usage_errors
from market_spread.common.logs import log_event
from market_spread.common.telemetry import metrics as metric_names
from market_spread.common.telemetry.families import CONTENT_TYPE, as_text, numbers
from market_spread.common.telemetry.metrics import Metric
from market_spread.host_tuner.cluster import NodePublisher
from market_spread.host_tuner.tree import HostTree, Originals
from market_spread.host_tuner.tuner import Tuner
from market_spread.host_tuner.values import Report

# A tuner that has not looked at the host for so many intervals hangs.
_INTERVALS_MAX = 6

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StatusPage:
    """What is answered."""

    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK


@contextmanager
def serving_pages(host: str, port: int, pages: Mapping[str, Callable[[], StatusPage]]) -> Iterator[int]:
    """Serve pages by path, each made when it is asked for; the port. UsageError if the address cannot be bound."""

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

    with usage_errors(f"{host}:{port} cannot be served", "use another port", (OSError, OverflowError)):
        server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, name="web", daemon=True).start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()


def exposition(report: Report, tuner: Tuner, *, publish_errors: int, unix_ns: int) -> bytes:
    """Figures of a look at the host, at that time, and counts since the tuner started."""
    settings = [outcome.setting for outcome in report.outcomes]
    by_setting: Mapping[Metric, Mapping[str, float]] = {
        metric_names.HOST_SETTING_OK: {outcome.setting: outcome.ok for outcome in report.outcomes},
        metric_names.HOST_DRIFT: tuner.drifts,
        metric_names.HOST_WRITES: tuner.written,
        metric_names.HOST_APPLY_ERRORS: tuner.errors,
    }
    alone = {
        metric_names.HOST_EXCLUSIVE_CPUS: len(frozenset().union(*report.exclusive.values())),
        metric_names.HOST_PUBLISH_ERRORS: publish_errors,
        metric_names.HOST_VERIFIED: unix_ns / 1e9,
    }
    families = [numbers(metric, (), [((), value)]) for metric, value in alone.items()]
    for metric, found in by_setting.items():
        names = dict.fromkeys((*settings, *found))
        families.append(numbers(metric, metric.labels, [((name,), found.get(name, 0)) for name in names]))
    return as_text(families)


_NOT_YET = StatusPage(b"not looked yet\n", status=HTTPStatus.SERVICE_UNAVAILABLE)


class HostWatch:
    """Looks at the host every interval and tells everyone who wants to know. `pages` may be called by any thread."""

    def __init__(
        self, tuner: Tuner, publisher: NodePublisher | None, *, clock: Clock, interval_s: float, dry_run: bool
    ) -> None:
        self._tuner, self._publisher, self._clock = tuner, publisher, clock
        self._interval_s, self._dry_run, self._metrics = interval_s, dry_run, b""
        self._report: Report | None = None
        self._verified_ns = 0

    def until(self, stop: threading.Event) -> None:
        """Look at once and every interval, until the event is set."""
        while not stop.is_set():
            self.look()
            stop.wait(self._interval_s)

    def look(self) -> Report:
        report = self._tuner.cycle()
        self._log_changes(report)
        if self._publisher is not None:
            self._publisher.publish(report)
        errors, unix_ns = self._publisher.errors if self._publisher else 0, self._clock.unix_ns()
        self._metrics = exposition(report, self._tuner, publish_errors=errors, unix_ns=unix_ns)
        self._report, self._verified_ns = report, self._clock.monotonic_ns()
        return report

    def pages(self) -> dict[str, Callable[[], StatusPage]]:
        return {
            "/metrics": lambda: StatusPage(self._metrics, CONTENT_TYPE),
            "/report": lambda: StatusPage(f"{self._report.table()}\n".encode()) if self._report else _NOT_YET,
            "/healthz": self._health_page,
        }

    def _health_page(self) -> StatusPage:
        age_s = (self._clock.monotonic_ns() - self._verified_ns) / 1e9
        if self._report is None:
            return _NOT_YET
        if age_s > _INTERVALS_MAX * self._interval_s:
            return StatusPage(f"no look for {age_s:.0f} s\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)
        return StatusPage(b"ok\n")

    def _log_changes(self, report: Report) -> None:
        before = {outcome.setting: outcome for outcome in self._report.outcomes} if self._report else {}
        for outcome in report.outcomes:
            if before.get(outcome.setting) != outcome:
                event, level = ("setting.right", logging.INFO) if outcome.ok else ("setting.wrong", logging.WARNING)
                told = asdict(outcome)
                del told["ok"]
                log_event(_log, event, level, **told, dry_run=self._dry_run)


def put_host_back(tree: HostTree, originals: Originals, paths: Iterable[str] | None = None) -> None:
    """Have these files (default: all) as they were before the tuner. RunFailedError naming those that could not be."""
    written, problems = originals.put_back(tree, paths)
    log_event(_log, "host.put_back", written=written, problems=problems)
    if problems:
        raise RunFailedError("\n".join(problems))


def leave(
    next_writes: frozenset[str] | None, publisher: NodePublisher | None, tree: HostTree, originals: Originals | None
) -> None:
    """What the end of the pod means: it puts back what the next pod cannot, as that has no mount of it to write to.

    next_writes: as OwnDaemonSet says. After a removal, or before a dry run, that is all of the host; the node is told.
    """
    if next_writes is None or originals is None:
        return
    ours = [path for path in originals.paths if not any(f"{path}/".startswith(f"{each}/") for each in next_writes)]
    put_host_back(tree, originals, ours)
    if publisher is not None and not next_writes:
        try:
            publisher.withdraw()
        except UnavailableError as error:
            log_event(_log, "node.not_withdrawn", logging.WARNING, reason=str(error))
