"""The runs whose logs are on disk: which there are, and the few of them that are open for reading."""

import threading
from collections import OrderedDict
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from market_spread.common.clock import Clock
from market_spread.common.documents import json_object
from market_spread.common.hdr.histogram import CLUSTERS_MIN
from market_spread.metrics_aggregator.http.run_json import View, head_of
from market_spread.metrics_aggregator.model import hlog
from market_spread.metrics_aggregator.model.hlog import Reading
from market_spread.metrics_aggregator.model.push_validation import is_run_id
from market_spread.metrics_aggregator.model.run import RunState
from market_spread.metrics_aggregator.model.run_files import FILE_NAME, RunFiles
from market_spread.metrics_aggregator.model.store import Store
from market_spread.v1.metrics_pb2 import NoteRequest

OPENED_MAX, LISTED_MAX, _SPARKLINE_MAX = 3, 500, 100
# A run's title is among its first entries, its verdict among its last ones.
_LOOK_BYTES = 256 * 1024

# When a log was modified, nanoseconds, and its size: whether it has changed since.
_State = tuple[int, int]


class Archive:
    """Finished runs below a folder, read only. Thread-safe: its methods take their time and are called in threads.

    At most OPENED_MAX runs are held open, those that were asked for last, each with a history of at most
    `history_bytes_max`. A log that has changed is read again.
    """

    def __init__(self, folder: Path, *, clock: Clock, history_bytes_max: int) -> None:
        self._folder, self._clock, self._history_bytes_max = folder, clock, history_bytes_max
        self._opened: OrderedDict[str, tuple[_State, RunState]] = OrderedDict()
        self._lock = threading.Lock()  # of what is held open
        self._reading = threading.Lock()  # one log at a time: some are large, and need memory while they are read

    def heads(self) -> list[View]:
        """What there is, newest first by name, at most LISTED_MAX."""
        folders = list[Path]()
        with suppress(OSError):
            folders = sorted(self._folder.iterdir(), reverse=True)
        logs = ((folder.name, folder / FILE_NAME) for folder in folders if is_run_id(folder.name))
        heads = (
            {**_look(path, run_id, state), "figures": _figures(result, _state(result))}
            for run_id, path in logs
            for result in [path.with_name("result.json")]
            if (state := _state(path)) is not None
        )
        return list(islice(heads, LISTED_MAX))

    def documents(self, run_id: str) -> View:
        """What the run controller left beside the log: result, and what the run was made with; empty if not there."""
        names = ("result", "manifest") if is_run_id(run_id) else ()
        return {name: _document(self._folder / run_id / f"{name}.json") for name in names}

    def open(self, run_id: str) -> RunState | None:
        """The run as its log has it; None if there is none."""
        state = _state(self._folder / run_id / FILE_NAME) if is_run_id(run_id) else None
        if state is None:
            return None
        if (known := self._known(run_id, state)) is not None:
            return known
        with self._reading:
            return self._known(run_id, state) or self._read(run_id, state)

    def has_changed(self, run_id: str) -> bool:
        """Whether the run's log has changed since the run was opened."""
        state = _state(self._folder / run_id / FILE_NAME)
        return state is None or self._known(run_id, state) is None

    def _known(self, run_id: str, state: _State) -> RunState | None:
        """The run as it is held open, unless its log has changed."""
        with self._lock:
            opened_state, run = self._opened.get(run_id, (None, None))
            if opened_state != state:
                return None
            self._opened.move_to_end(run_id)
            return run

    def _read(self, run_id: str, state: _State) -> RunState:
        with self._lock:
            self._opened.pop(run_id, None)
            while len(self._opened) >= OPENED_MAX:
                self._opened.popitem(last=False)
        log = RunFiles(self._folder)
        run = Store(history_bytes_max=self._history_bytes_max, clock=self._clock, log=log).restore(run_id)
        with self._lock:
            self._opened[run_id] = state, run
        return run


def _state(path: Path) -> _State | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    # Who opens a pipe waits for who writes into it. A folder in a file's place is there, and cannot be read.
    waits = not (S_ISREG(status.st_mode) or S_ISDIR(status.st_mode))
    return None if waits else (status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=2 * LISTED_MAX)
def _figures(path: Path, state: _State | None) -> View:
    """What a list shows of the result that is in that state, by its paths."""
    result = _document(path) if state else {}
    shown: dict[str, object] = {name: result.get(name) for name in ("achieved_rate_per_s", "cpu_us_per_message")}
    with suppress(AttributeError, KeyError, TypeError):  # of a run that says nothing of latencies, or of clusters
        shown |= {f"latency_ns.{name}": result["latency_ns"][name] for name in ("p50", "p99")}
        if result["latency_clusters"]["latency_ns"]["p99"] < CLUSTERS_MIN:
            shown["latency_ns.p99"] = None
        parts = result["latency_sparkline_ns"][:_SPARKLINE_MAX]
        shown["latency_sparkline_ns"] = [each if type(each) is int else None for each in parts]
    return shown


def _document(path: Path) -> View:
    with suppress(OSError, ValueError):
        return json_object(path.read_bytes()) if _state(path) else {}
    return {}


@lru_cache(maxsize=2 * LISTED_MAX)  # so that logs that have changed push out none that is listed
def _look(path: Path, run_id: str, state: _State) -> View:
    """The head of a run from the two ends of its log. Who writes it now is another process, if anyone."""
    modified_ns, size = state
    run = RunState(run_id)
    with suppress(OSError), path.open("rb") as file:
        for begin in (0, max(_LOOK_BYTES, size - _LOOK_BYTES)):
            file.seek(begin)
            lines = file.read(_LOOK_BYTES).splitlines(keepends=True)
            for entry in map(hlog.decode, hlog.whole_blocks(lines, Reading())):
                if isinstance(entry, NoteRequest):
                    run.add_note(entry, 0)
                elif entry is not None:
                    run.hear(entry.start_unix_ns, entry.end_unix_ns, 0)
    if not run.begin_unix_ns:
        run.hear(modified_ns, modified_ns, 0)
    return head_of(run, modified_ns)
