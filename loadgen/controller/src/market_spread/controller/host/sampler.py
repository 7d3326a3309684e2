"""Samples the machine and the run's processes once a second, and writes them down as they come."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

import pyarrow as pa

from market_spread.common.clock import Clock
from market_spread.common.errors import MarketSpreadError
from market_spread.controller.host.counters import MachineCounters, ProcessCounters, Rates, Values

SCHEMA = pa.schema([("unix_s", pa.int64()), ("component", pa.string()), ("name", pa.string()), ("value", pa.float64())])
_FLUSH_S = 5
_CLOSE_S = 5.0
_SECOND_NS = 1_000_000_000
_LATE_NS = _SECOND_NS // 2

Row = tuple[int, str, str, float]


@dataclass(eq=False)
class Sampler:
    """A thread that samples: `start`, then `close`. What it finds is an Arrow stream, whole up to its last flush.

    Values of a second are rates over the time since the sample before, or levels at that moment. It samples in the
    middle of each second; what comes more than half of one late leaves its second out, so that gaps are seen.
    processes: process ids by the names of the components, those that there are now.
    """

    path: Path
    _: KW_ONLY
    clock: Clock
    processes: Callable[[], Mapping[str, int]]
    machine: MachineCounters = field(default_factory=MachineCounters)

    def __post_init__(self) -> None:
        self._known: dict[str, ProcessCounters] = {}
        self._rates = Rates()
        self._rows: list[Row] = []
        self._told: dict[str, Values] = {}
        self._last_second = 0
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to sample. OSError if the file cannot be made."""
        self._file = pa.OSFile(str(self.path), "wb")
        self._writer = pa.ipc.new_stream(self._file, SCHEMA)
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._thread.start()

    def tell(self, component: str, values: Values) -> None:
        """Have these be the component's newest levels; they are written down with the next sample."""
        with self._lock:
            self._told[component] = values

    def close(self) -> None:
        """End; everything that was told is with the operating system then. Idempotent; nothing before `start`."""
        if self._thread is None:
            return
        self._ending.set()
        self._thread.join(_CLOSE_S)
        self._thread = None
        # A second has one sample: what was told after the last one goes into the second behind it.
        self._add_told(max(self.clock.unix_ns() // _SECOND_NS, self._last_second + 1))
        with suppress(OSError):
            self._flush()
            self._writer.close()
            self._file.close()

    def sample(self) -> None:
        unix_ns = self.clock.unix_ns()
        monotonic_s = self.clock.monotonic_ns() / 1e9
        second = unix_ns // _SECOND_NS
        self._take(second, monotonic_s, "machine", *self.machine.read())
        for component, pid in {**self.processes(), "controller": self.machine.own_pid}.items():
            counters = self._known.get(component)
            if counters is None or counters.pid != pid:
                counters = self._known[component] = ProcessCounters(pid, descendants=pid != self.machine.own_pid)
            self._take(second, monotonic_s, component, *counters.read())
        self._add_told(second)
        self._last_second = second
        # Steps of the clock show as a change of the distance between the two.
        self._add(second, "controller", [("unix_minus_monotonic_ms", (unix_ns / 1e9 - monotonic_s) * 1000)])

    def _run(self) -> None:
        to_middle_ns = (_LATE_NS - self.clock.unix_ns()) % _SECOND_NS
        due_ns, looks = self.clock.monotonic_ns() + to_middle_ns, 0
        while not self._ending.wait(max(0.0, (due_ns - self.clock.monotonic_ns()) / 1e9)):
            if self.clock.monotonic_ns() - due_ns < _LATE_NS:
                with suppress(OSError, MarketSpreadError):
                    self.sample()
                looks += 1
                if looks % _FLUSH_S == 0:
                    with suppress(OSError):
                        self._flush()
            due_ns += _SECOND_NS

    def _add_told(self, second: int) -> None:
        with self._lock:
            told, self._told = self._told, {}
        for component, values in told.items():
            self._add(second, component, values.items())

    def _take(self, second: int, monotonic_s: float, component: str, cumulative: Values, levels: Values) -> None:
        rates = self._rates.of(component, cumulative, monotonic_s)
        self._add(second, component, [*rates.items(), *levels.items()])

    def _add(self, second: int, component: str, values: Iterable[tuple[str, float]]) -> None:
        self._rows += [(second, component, name, value) for name, value in values]

    def _flush(self) -> None:
        if not self._rows:
            return
        rows, self._rows = self._rows, []
        self._writer.write_batch(batch_of(rows))
        self._file.flush()


def batch_of(rows: Sequence[Row]) -> pa.RecordBatch:
    """The rows (at least one) as Arrow has them."""
    return pa.record_batch(dict(zip(SCHEMA.names, zip(*rows, strict=True), strict=True)), schema=SCHEMA)
