"""The timeline of a run: each second of every component, sampled as it comes, and then in long form, as Parquet."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from market_spread.common.clock import Clock
from market_spread.common.errors import MarketSpreadError, usage_errors
from market_spread.controller.host.counters import MachineCounters, ProcessCounters, Rates, Values

SCHEMA = pa.schema([("unix_s", pa.int64()), ("component", pa.string()), ("name", pa.string()), ("value", pa.float64())])
_KEY = "component", "name"
_BATCHES_TOGETHER = 100  # each row group costs some kilobytes
_FLUSH_S, _CLOSE_S = 5, 5.0
_SECOND_NS, _LATE_NS = 1_000_000_000, 500_000_000

Floats = npt.NDArray[np.float64]
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


@dataclass(frozen=True, slots=True)
class Series:
    """A value of a component over the seconds in which it was looked at, ascending."""

    unix_s: npt.NDArray[np.int64]
    values: Floats

    def __len__(self) -> int:
        return len(self.unix_s)

    def within(self, from_s: float, to_s: float) -> "Series":
        """The seconds that begin in the range."""
        chosen = (self.unix_s >= from_s) & (self.unix_s < to_s)
        return Series(self.unix_s[chosen], self.values[chosen])


_NONE = Series(np.empty(0, np.int64), np.empty(0))


class Timeline:
    """All series of a run. It holds 8 bytes twice for each value."""

    def __init__(self, series: Mapping[tuple[str, str], Series]) -> None:
        self._series = series

    @property
    def names(self) -> list[tuple[str, str]]:
        """Component and name of every series, sorted."""
        return sorted(self._series)

    def series(self, component: str, name: str) -> Series:
        """That series; an empty one if there is none."""
        return self._series.get((component, name), _NONE)

    def sum_of(self, name: str, components: Iterable[str]) -> Series:
        """The sum over components, at the seconds of the first of them that has the series."""
        found = [series for component in components if len(series := self.series(component, name))]
        if not found:
            return _NONE
        seconds = found[0].unix_s
        total = np.zeros(len(seconds))
        for series in found:
            at = np.clip(np.searchsorted(series.unix_s, seconds), 0, len(series) - 1)
            total += np.where(series.unix_s[at] == seconds, series.values[at], 0.0)
        return Series(seconds, total)

    @staticmethod
    def read(path: Path) -> "Timeline":
        """What was written. UsageError if it cannot be read."""
        kinds = (OSError, pa.ArrowException)
        with usage_errors(f"the timeline {path} cannot be read", "name the folder of another run", kinds):
            table = pq.read_table(path, read_dictionary=[*_KEY]).unify_dictionaries().combine_chunks()
            by_time = table.sort_by("unix_s").group_by([*_KEY], use_threads=False)
            of_key = by_time.aggregate([("unix_s", "list"), ("value", "list")])
            keys = zip(*(of_key[name].to_pylist() for name in _KEY), strict=True)
            columns = zip(of_key["unix_s_list"], of_key["value_list"], strict=True)
            series = (Series(seconds.values.to_numpy(), values.values.to_numpy()) for seconds, values in columns)
            return Timeline(dict(zip(keys, series, strict=True)))


def write(samples: Path, path: Path, more: Iterable[Row]) -> Path:
    """Make the timeline of what the sampler wrote and of other rows. A stream that was cut counts as far as it goes.

    OSError if it cannot be written. The batches of the sampler are never all in memory.
    """
    unfinished = path.with_name(f"{path.name}.unfinished")
    batches = _batches(samples, more)
    with pq.ParquetWriter(unfinished, SCHEMA, compression="zstd") as writer:
        while some := [*islice(batches, _BATCHES_TOGETHER)]:
            writer.write_table(pa.Table.from_batches(some))
    unfinished.replace(path)
    return path


def _batches(samples: Path, more: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """The batches that are whole; then the other rows."""
    with suppress(OSError, pa.ArrowException), samples.open("rb") as file, pa.ipc.open_stream(file) as stream:
        yield from stream
    if rows := list(more):
        yield batch_of(rows)
